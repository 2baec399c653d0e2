"""The start of an AT session as a script: what is asked, in which order, and what else is tried.

The script is a generator: it yields a question and is sent the answer, so that it reads from top
to bottom without knowing of bytes, time or late answers; the session sees to those. Only PDU mode
and a storage are needed; all else may fail.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Final

from daemon.modem import at
from daemon.modem.families import (
    DIRECT,
    GENERIC,
    Family,
    PortRole,
    family_of,
    hilink_by_name,
    may_be_hilink,
)
from daemon.modem.session_ask import Answer, Ask
from daemon.modem.session_pin import BUSY_RETRY_S, TakePin, Wait, unlocked
from daemon.modem.session_sim import SimQuestion
from daemon.modem.session_values import (
    HiLink,
    Identified,
    Note,
    Noted,
    PinNeeded,
    PinRefused,
    SimAbsent,
)

BUSY_TRIES_MAX: Final = 30
"""So a minute: SIM800 and Qualcomm firmware say ERROR or busy for so long after power-on."""
FACT_TRIES_MAX: Final = 5

_STORAGES: Final = GENERIC.storages


@dataclass(frozen=True, slots=True)
class Setup:
    """What the start found out for the work that follows.

    Attributes:
        storages: Those to read; the first is selected and receives. Also one that was not
            offered, since the offer may have come garbled: a refusal at work costs nothing.
        offered: Those of them that the phone says it has.
        notices: What `AT+CNMI?` said after it was set; empty when the phone cannot say.
        notify: The form of `AT+CNMI` that it took, empty if none: then only polling finds messages.
        acknowledges: It passes messages on without storing them, and waits for `AT+CNMA`.
        sim: How to ask whether it is still the same SIM; None when the phone tells nothing of it.
        fill: Used and total slots of the first storage, None when it did not say.
        family: The row of its make.
    """

    identity: Identified
    storages: tuple[str, ...]
    offered: tuple[str, ...]
    notices: str
    notify: str
    fill: at.Fill | None
    family: Family = GENERIC
    acknowledges: bool = False
    sim: SimQuestion | None = None


_Step = Ask | Wait | TakePin | PinNeeded | PinRefused | SimAbsent | HiLink | Noted
Script = Generator[_Step, Answer, Setup | str]
"""Ends with a `Setup`, or with a sentence that says why this phone cannot be used."""
_Questions = Generator[_Step, Answer, Answer]
_Fact = Generator[Ask | Wait, Answer, str | None]
_Storages = Generator[_Step, Answer, tuple[tuple[str, ...], tuple[str, ...], at.Fill | None]]


def start(role: PortRole = PortRole.UNKNOWN) -> Script:
    """Set the phone up and find out who it is; `role` is what its port is for."""
    yield Ask("ATE0")
    yield Ask("AT+CMEE=1")
    manufacturer = yield from _text("AT+CGMI", "AT+GMI")
    model = yield from _text("AT+CGMM", "AT+GMM")
    firmware = yield from _text("AT+CGMR", "AT+GMR")
    family = family_of(manufacturer, model, firmware)
    if family.cannot:
        return family.cannot
    imei = yield from _first_fact(("AT+CGSN", "AT+CGSN=1", "AT+GSN"), at.imei_of)
    locked = PinNeeded("", imei=imei, manufacturer=manufacturer, model=model)
    yield from unlocked(family, locked, _first_fact)
    radio = yield Ask("AT+CFUN?", "+CFUN:")
    if radio.ok and at.bare(radio.first) in {"0", "4"}:
        yield Ask("AT+CFUN=1", timeout_s=15.0)
    mode = yield from _patiently(Ask("AT+CMGF=0", needed=True))
    if not mode.ok:
        return f"the phone refuses PDU mode: {mode.why}"
    yield Ask("AT+CSMS=0")
    for command in (*family.init, *family.notices_to(role)):
        yield Ask(command)
    storages, offered, fill = yield from _storages_in_time(family)
    if not storages:
        return "the phone offers no storage for messages"
    if why := (yield from _hilink(family, manufacturer, model, firmware, fill)):
        yield HiLink(why)
    notices, notify, acknowledges = yield from _ask_for_notices(family)
    by_imsi = yield from _asked(("AT+CIMI",), at.imsi_of)
    by_iccid = yield from _asked(family.iccid_commands, at.iccid_of)
    slot = yield from _slot(family)
    own = yield Ask("AT+CNUM", "+CNUM:")
    centre = yield Ask("AT+CSCA?", "+CSCA:")
    yield Ask("AT+COPS=3,0")
    if family is GENERIC:
        yield Noted(" ".join(filter(None, (manufacturer, model, firmware))), Note.MODEM)
    identity = Identified(
        imei=imei,
        iccid=None if by_iccid is None else by_iccid.fact,
        imsi=None if by_imsi is None else by_imsi.fact,
        manufacturer=manufacturer,
        model=model,
        firmware=firmware,
        smsc=_field(centre.first, 0),
        own_number=_field(own.first, 1),
        slot=slot,
    )
    return Setup(
        identity,
        storages,
        offered,
        notices,
        notify,
        fill,
        family,
        acknowledges,
        by_iccid or by_imsi,
    )


def _text(*commands: str) -> _Fact:
    for command in commands:
        answer = yield Ask(command)
        if answer.ok and (text := next(filter(None, map(at.bare, answer.lines)), "")):
            return text
    return None


def _first_fact(commands: tuple[str, ...], reader: Callable[[str], str | None]) -> _Fact:
    asked = yield from _asked(commands, reader)
    return None if asked is None else asked.fact


def _asked(
    commands: tuple[str, ...], reader: Callable[[str], str | None]
) -> Generator[Ask | Wait, Answer, SimQuestion | None]:
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
            return SimQuestion(Ask(command), reader, said)
    return None


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


def _storages_in_time(family: Family) -> _Storages:
    """Select a storage as soon as the SIM is ready for it."""
    for _ in range(BUSY_TRIES_MAX):
        found = yield from _storages(family)
        if found[0]:
            return found
        yield Wait(BUSY_RETRY_S)
    return (yield from _storages(family))


def _storages(family: Family) -> _Storages:
    """Select the SIM's storage if there is one; return all to read, the selected one first."""
    answer = yield Ask("AT+CPMS=?", "+CPMS:")
    offered = at.cpms_choices(answer.first)[:3]
    readable = offered[0] if offered and offered[0] else _STORAGES
    wanted = [name for name in family.storages if name in readable] or [*readable[:1]]
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


def _hilink(
    family: Family,
    manufacturer: str | None,
    model: str | None,
    firmware: str | None,
    fill: at.Fill | None,
) -> Generator[_Step, Answer, str]:
    """Find out whether messages go where no command sees them; return how it shows, else empty.

    Such a stick says that it has room for 20, lists nothing, and knows no storage but SM.
    """
    if not family.hilink:
        return ""
    if said := hilink_by_name(manufacturer, model):
        return f"it calls itself {said}"
    version = yield Ask("AT^VERSION?", "^VERSION:")
    if any(hilink_by_name(None, line) for line in version.lines):
        return "its firmware says HiLink"
    asked = fill is not None and may_be_hilink(family, firmware, fill.used, fill.total)
    if not asked or (yield from _holds_messages()):
        return ""
    for name in ("ME", "MT"):
        answer = yield Ask(f'AT+CPMS="{name}"', "+CPMS:")
        if answer.error is None:
            yield Ask('AT+CPMS="SM"', "+CPMS:")
            return ""
    return "its storage of 20 is empty and the only one it has"


def _holds_messages() -> Generator[_Step, Answer, bool]:
    listed = yield Ask("AT+CMGL=4", "+CMGL:", timeout_s=30.0)
    return not listed.ok or bool(listed.lines)


def _ask_for_notices(family: Family) -> Generator[_Step, Answer, tuple[str, str, bool]]:
    notify = yield from _first_taken(family.notices)
    # Only where there is nothing else, and never without acknowledgement.
    acknowledges = not notify and (yield Ask("AT+CSMS=1", "+CSMS:")).ok
    if acknowledges:
        notify = yield from _first_taken(DIRECT)
        if not notify:
            yield Ask("AT+CSMS=0", "+CSMS:")
    # Compared later with itself, since some firmware does not give back what it was told.
    check = yield Ask("AT+CNMI?", "+CNMI:")
    return (check.first if check.ok else ""), notify, acknowledges and bool(notify)


def _slot(family: Family) -> Generator[_Step, Answer, int]:
    """Return which SIM is in use; 0 where there is one, or the device does not tell."""
    if not family.slot:
        return 0
    answer = yield Ask(family.slot, at.prefix_of(family.slot))
    return at.whole_number(at.bare(answer.first)) or 0


def _first_taken(modes: tuple[str, ...]) -> Generator[_Step, Answer, str]:
    """Return the first form of `AT+CNMI` that the phone takes, empty when it takes none."""
    for mode in modes:
        answer = yield Ask(f"AT+CNMI={mode}")
        if answer.ok:
            return mode
    return ""
