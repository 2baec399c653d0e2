"""The start of an AT session as a script: what is asked, in which order, and what else is tried.

The script is a generator: it yields a question and is sent the answer, so that it reads from top
to bottom without knowing of bytes, time or late answers; the session sees to those. Only PDU mode
and a storage are needed; all else may fail.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Final

from daemon.modem import at
from daemon.modem.session_ask import Answer, Ask
from daemon.modem.session_values import Identified, PinNeeded, SimAbsent

SIM_RETRY_S: Final = 5.0
BUSY_RETRY_S: Final = 2.0
BUSY_TRIES_MAX: Final = 30
"""So a minute: SIM800 and Qualcomm firmware say ERROR or busy for so long after power-on."""
FACT_TRIES_MAX: Final = 5

_STORAGES: Final = ("SM", "ME")
_NOTICES: Final = ("2,1,0,1,0", "2,1,0,2,0", "2,1,0,0,0", "1,1,0,0,0", "3,1,0,0,0", "2,1")
"""Firmware refuses one or the other, whatever its `=?` says; ds=1 brings reports inline."""
_ICCID: Final = (
    "AT+CCID", "AT+ICCID", "AT^ICCID?", "AT+QCCID", "AT+CICCID", "AT+ZGETICCID",
    "AT+CRSM=176,12258,0,0,10",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to ask for so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Setup:
    """What the start found out for the work that follows.

    Attributes:
        storages: Those to read; the first is selected and receives. Also one that was not
            offered, since the offer may have come garbled: a refusal at work costs nothing.
        offered: Those of them that the phone says it has.
        notices: What `AT+CNMI?` said after it was set; empty when the phone cannot say.
        announces: It took a form of `AT+CNMI`; if not, only polling finds messages.
        fill: Used and total slots of the first storage, None when it did not say.
    """

    identity: Identified
    storages: tuple[str, ...]
    offered: tuple[str, ...]
    notices: str
    announces: bool
    fill: at.Fill | None


Script = Generator[Ask | Wait | PinNeeded | SimAbsent, Answer, Setup | str]
"""Ends with a `Setup`, or with a sentence that says why this phone cannot be used."""
_Questions = Generator[Ask | Wait | PinNeeded | SimAbsent, Answer, Answer]
_Fact = Generator[Ask | Wait | PinNeeded | SimAbsent, Answer, str | None]


def start() -> Script:
    """Set the phone up and find out who it is."""
    yield Ask("ATE0")
    yield Ask("AT+CMEE=1")
    manufacturer = yield from _text("AT+CGMI", "AT+GMI")
    model = yield from _text("AT+CGMM", "AT+GMM")
    firmware = yield from _text("AT+CGMR", "AT+GMR")
    imei = yield from _first_fact(("AT+CGSN", "AT+CGSN=1", "AT+GSN"), at.imei_of)
    yield from _unlocked()
    radio = yield Ask("AT+CFUN?", "+CFUN:")
    if radio.ok and at.bare(radio.first) in {"0", "4"}:
        yield Ask("AT+CFUN=1", timeout_s=15.0)
    mode = yield from _patiently(Ask("AT+CMGF=0", needed=True))
    if not mode.ok:
        return f"the phone refuses PDU mode: {mode.why}"
    yield Ask("AT+CSMS=0")
    storages, offered, fill = yield from _storages()
    for _ in range(BUSY_TRIES_MAX):
        if storages:
            break
        yield Wait(BUSY_RETRY_S)
        storages, offered, fill = yield from _storages()
    if not storages:
        return "the phone offers no storage for messages"
    notices, announces = yield from _ask_for_notices()
    imsi = yield from _first_fact(("AT+CIMI",), at.imsi_of)
    iccid = yield from _first_fact(_ICCID, at.iccid_of)
    own = yield Ask("AT+CNUM", "+CNUM:")
    centre = yield Ask("AT+CSCA?", "+CSCA:")
    yield Ask("AT+COPS=3,0")
    identity = Identified(
        imei=imei,
        iccid=iccid,
        imsi=imsi,
        manufacturer=manufacturer,
        model=model,
        firmware=firmware,
        smsc=_field(centre.first, 0),
        own_number=_field(own.first, 1),
    )
    return Setup(identity, storages, offered, notices, announces, fill)


def _text(*commands: str) -> _Fact:
    for command in commands:
        answer = yield Ask(command)
        if answer.ok and (text := next(filter(None, map(at.bare, answer.lines)), "")):
            return text
    return None


def _first_fact(commands: tuple[str, ...], reader: Callable[[str], str | None]) -> _Fact:
    """Return what the first command gives that gives it twice running.

    Messages are known by SIM and phone. A digit that the line lost, or a SIM that was busy for a
    moment, must not make them those of another SIM.
    """
    for command in commands:
        said: str | None = None
        for _ in range(FACT_TRIES_MAX):
            answer = yield Ask(command)
            if answer.error is not None and at.is_busy(answer.error):
                yield Wait(BUSY_RETRY_S)
                continue
            facts = (reader(line) for line in answer.lines) if answer.ok else iter(())
            fact = next((fact for fact in facts if fact is not None), None)
            if fact == said:
                break
            said = fact
        else:
            continue
        if said is not None:
            return said
    return None


def _unlocked() -> Generator[Ask | Wait | PinNeeded | SimAbsent, Answer, None]:
    """Wait until the SIM is there and open. No PIN is tried: three wrong ones lock the SIM."""
    told: PinNeeded | SimAbsent | None = None
    while True:
        answer = yield Ask("AT+CPIN?", "+CPIN:", timeout_s=10.0)
        state, error = at.bare(answer.first), answer.error
        wanted: PinNeeded | SimAbsent | None = None
        if state.upper() not in {"", "READY"}:
            wanted = PinNeeded(state)
        elif error is not None and (pin := at.pin_wanted(error)) is not None:
            wanted = PinNeeded(pin)
        elif error is not None and at.sim_absent(error):
            wanted = SimAbsent(str(error))
        elif error is None or not at.is_busy(error):
            return  # open; or the phone does not know the question
        if wanted is not None and wanted != told:
            yield wanted
            told = wanted
        yield Wait(BUSY_RETRY_S if wanted is None else SIM_RETRY_S)


def _field(line: str, position: int) -> str | None:
    given = at.fields(line)
    return given[position] or None if len(given) > position else None


def _patiently(ask: Ask) -> _Questions:
    answer = yield ask
    for _ in range(BUSY_TRIES_MAX):
        if answer.ok:
            break
        yield Wait(BUSY_RETRY_S)
        answer = yield ask
    return answer


def _storages() -> Generator[
    Ask | Wait | PinNeeded | SimAbsent,
    Answer,
    tuple[tuple[str, ...], tuple[str, ...], at.Fill | None],
]:
    """Select the SIM's storage if there is one; return all to read, the selected one first."""
    answer = yield Ask("AT+CPMS=?", "+CPMS:")
    offered = at.cpms_choices(answer.first)[:3]
    readable = offered[0] if offered and offered[0] else _STORAGES
    wanted = [name for name in readable if name in _STORAGES] or [*readable[:1]]
    wanted.sort(key="SM".__ne__)
    for name in wanted:
        # All three places in one command: some firmware takes nothing less. Not where it is not
        # offered: some makes refuse the whole command then.
        places = [name if name in group else "" for group in offered] or [name] * 3
        for arguments in dict.fromkeys((_quoted(places), _quoted([name]))):
            chosen = yield Ask(f"AT+CPMS={arguments}", "+CPMS:", needed=True)
            if chosen.ok:
                fill = next(iter(at.cpms_fills(chosen.first)), None)
                return tuple(dict.fromkeys((name, *wanted, *_STORAGES))), tuple(wanted), fill
    return (), (), None


def _quoted(places: list[str]) -> str:
    named = places[: places.index("")] if "" in places else places
    return ",".join(f'"{name}"' for name in named or places[:1])


def _ask_for_notices() -> Generator[Ask | Wait | PinNeeded | SimAbsent, Answer, tuple[str, bool]]:
    announces = False
    for mode in _NOTICES:
        answer = yield Ask(f"AT+CNMI={mode}")
        if announces := answer.ok:
            break
    # Compared later with itself, since some firmware does not give back what it was told.
    check = yield Ask("AT+CNMI?", "+CNMI:")
    return (check.first if check.ok else ""), announces
