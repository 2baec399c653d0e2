"""Start script of an AT session: the commands, their order and their alternatives.

The script is a generator that yields a command and is sent the answer, so it reads from top to
bottom; bytes, time and late answers are handled by the session. Only PDU mode and a storage are
required; every other command may fail.
"""

import re
from collections.abc import Callable, Generator
from typing import Final

from msgspec import Struct

from daemon.modem.quirks import DIRECT, GENERIC, Family, PortRole, family_of, hilink_by_name, may_be_hilink
from daemon.modem.session import at
from daemon.modem.session.at import CommandAnswer, ModemCommand
from daemon.modem.session.events import HiLink, Identified, Note, Noted, PinNeeded, PinRefused, SimAbsent
from daemon.modem.session.sim import BUSY_RETRY_S, SimQuery, TakePin, Wait, wait_until_unlocked

_NUMBER: Final = re.compile(r"\+?[0-9]{3,15}", re.ASCII)
"""E.164 allows 15 digits."""
BUSY_TRIES_MAX: Final = 30
"""One minute in total: SIM800 and Qualcomm firmware answer ERROR or busy for so long after power-on."""
FACT_TRIES_MAX: Final = 5

_IMEI: Final = ("AT+CGSN", "AT+CGSN=1", "AT+GSN")
_STORAGES: Final = GENERIC.storages


class SessionSetup(Struct, frozen=True):
    """Result of the start script.

    Attributes:
        storages: Storages to read; the first is selected and receives. Includes storages that the
            phone did not offer, since the offer may have been garbled; a later refusal does no harm.
        offered: The storages among them that the phone offered.
        notices: Answer to `AT+CNMI?` after it was set; empty when the phone gave none.
        notify: The accepted form of `AT+CNMI`; empty if none: then only polling finds messages.
        acknowledges: The phone forwards messages without storing them, and waits for `AT+CNMA`.
        sim: The command that identifies the SIM; None when the phone answers none.
        fill: Used and total slots of the first storage, None when unknown.
        family: The row of the phone's make.
        network_clock: The network sets the phone's clock, so it can be asked for the time.
    """

    identity: Identified
    storages: tuple[str, ...]
    offered: tuple[str, ...]
    notices: str
    notify: str
    fill: at.Fill | None
    family: Family = GENERIC
    acknowledges: bool = False
    sim: SimQuery | None = None
    network_clock: bool = False


_Step = ModemCommand | Wait | TakePin | PinNeeded | PinRefused | SimAbsent | HiLink | Noted
Script = Generator[_Step, CommandAnswer, SessionSetup | str]
"""Returns a `SessionSetup`, or a sentence with the reason why this phone cannot be used."""
_Questions = Generator[_Step, CommandAnswer, CommandAnswer]
_Fact = Generator[ModemCommand | Wait, CommandAnswer, str | None]
_Storages = Generator[_Step, CommandAnswer, tuple[tuple[str, ...], tuple[str, ...], at.Fill | None]]


def start(role: PortRole = PortRole.UNKNOWN) -> Script:
    """Set up and identify the phone; `role` is the role of its port."""
    yield ModemCommand("ATE0")
    yield ModemCommand("AT+CMEE=1")
    # Another program may have saved UCS2, in which names and numbers are answered in hex.
    if not (yield ModemCommand('AT+CSCS="GSM"')).ok:
        yield ModemCommand('AT+CSCS="IRA"')
    manufacturer = yield from _text("AT+CGMI", "AT+GMI")
    model = yield from _text("AT+CGMM", "AT+GMM")
    firmware = yield from _text("AT+CGMR", "AT+GMR")
    family = family_of(manufacturer, model, firmware)
    if family.unusable_reason:
        return family.unusable_reason
    imei = yield from _first_fact(_IMEI, at.imei_of)
    locked = PinNeeded("", imei=imei, manufacturer=manufacturer, model=model)
    yield from wait_until_unlocked(family, locked, _first_fact)
    if imei is None:  # some makes report it only when the SIM is unlocked
        imei = yield from _first_fact(_IMEI, at.imei_of)
    radio = yield ModemCommand("AT+CFUN?", "+CFUN:")
    if radio.ok and at.answer_value(radio.first) in {"0", "4"}:
        yield ModemCommand("AT+CFUN=1", timeout_s=15.0)
    mode = yield from _patiently(ModemCommand("AT+CMGF=0", needed=True))
    if not mode.ok:
        return f"the phone refuses PDU mode: {mode.why}"
    yield ModemCommand("AT+CSMS=0")
    for command in (*family.init, *family.notices_to(role)):
        yield ModemCommand(command)
    network_clock = bool(family.clock) and (yield ModemCommand(family.clock)).ok
    storages, offered, fill = yield from _storages_in_time(family)
    if not storages:
        return "the phone offers no storage for messages"
    if why := (yield from _hilink(family, manufacturer, model, firmware, fill)):
        yield HiLink(why)
    notices, notify, acknowledges = yield from _ask_for_notices(family)
    identity, sim_query = yield from _identify(family, imei, (manufacturer, model, firmware))
    return SessionSetup(
        identity, storages, offered, notices, notify, fill, family, acknowledges, sim_query, network_clock
    )


def _text(*commands: str) -> _Fact:
    for command in commands:
        answer = yield ModemCommand(command)
        if answer.ok and (text := next(filter(None, map(at.answer_value, answer.lines)), "")):
            return text
    return None


def _first_fact(commands: tuple[str, ...], reader: Callable[[str], str | None]) -> _Fact:
    asked = yield from _asked(commands, reader)
    return None if asked is None else asked.fact


def _identify(
    family: Family, imei: str | None, names: tuple[str | None, str | None, str | None]
) -> Generator[_Step, CommandAnswer, tuple[Identified, SimQuery | None]]:
    """Ask for the SIM, its number and its SMSC; `names` are manufacturer, model and firmware."""
    by_imsi = yield from _asked(("AT+CIMI",), at.imsi_of)
    by_iccid = yield from _asked(family.iccid_commands, at.iccid_of)
    slot = yield from _slot(family)
    own = yield ModemCommand("AT+CNUM", "+CNUM:")
    centre = yield ModemCommand("AT+CSCA?", "+CSCA:")
    yield ModemCommand("AT+COPS=3,0")
    if family is GENERIC:
        yield Noted(" ".join(filter(None, names)), Note.MODEM)
    manufacturer, model, firmware = names
    identity = Identified(
        imei=imei,
        iccid=None if by_iccid is None else by_iccid.fact,
        imsi=None if by_imsi is None else by_imsi.fact,
        manufacturer=manufacturer,
        model=model,
        firmware=firmware,
        smsc=_number(centre.first, 0),
        own_number=_number(own.first, 1),
        slot=slot,
    )
    return identity, by_iccid or by_imsi


def _asked(
    commands: tuple[str, ...], reader: Callable[[str], str | None]
) -> Generator[ModemCommand | Wait, CommandAnswer, SimQuery | None]:
    """Return the first value that one of the commands gives twice in a row.

    Messages are stored by SIM and phone. A lost digit or a SIM that was busy for a moment must
    not assign them to another SIM.
    """
    for command in commands:
        said: str | None = None
        for _ in range(FACT_TRIES_MAX):
            answer = yield ModemCommand(command)
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
            return SimQuery(ModemCommand(command), reader, said)
    return None


def _field(line: str, position: int) -> str | None:
    given = at.fields(line)
    return given[position] or None if len(given) > position else None


def _number(line: str, position: int) -> str | None:
    """Return a phone number of an answer; None if it has not the form of one."""
    text = at.from_ucs2(_field(line, position) or "")
    return text if _NUMBER.fullmatch(text) else None


def _patiently(ask: ModemCommand) -> _Questions:
    answer = yield ask
    for _ in range(BUSY_TRIES_MAX):
        if answer.ok:
            break
        yield Wait(BUSY_RETRY_S)
        answer = yield ask
    return answer


def _storages_in_time(family: Family) -> _Storages:
    """Select a storage, retrying until the SIM is ready."""
    for _ in range(BUSY_TRIES_MAX):
        found = yield from _storages(family)
        if found[0]:
            return found
        yield Wait(BUSY_RETRY_S)
    return (yield from _storages(family))


def _storages(family: Family) -> _Storages:
    """Select the SIM's storage if there is one; return all storages to read, the selected one first."""
    answer = yield ModemCommand("AT+CPMS=?", "+CPMS:")
    offered = at.cpms_choices(answer.first)[:3]
    readable = offered[0] if offered and offered[0] else _STORAGES
    wanted = [name for name in family.storages if name in readable] or [*readable[:1]]
    for name in wanted:
        # All three positions in one command: some firmware accepts nothing else. A storage that is
        # not offered for a position is left out: some makes refuse the whole command then.
        places = [name if name in group else "" for group in offered] or [name] * 3
        for arguments in dict.fromkeys((_quoted(places), _quoted([name]))):
            chosen = yield ModemCommand(f"AT+CPMS={arguments}", "+CPMS:", needed=True)
            if chosen.ok:
                fill = next(iter(at.cpms_fills(chosen.first)), None)
                return tuple(dict.fromkeys((name, *wanted, *_STORAGES))), tuple(wanted), fill
    return (), (), None


def _quoted(places: list[str]) -> str:
    named = places[: places.index("")] if "" in places else places
    return ",".join(f'"{name}"' for name in named or places[:1])


def _hilink(
    family: Family, manufacturer: str | None, model: str | None, firmware: str | None, fill: at.Fill | None
) -> Generator[_Step, CommandAnswer, str]:
    """Detect HiLink firmware, which keeps messages out of reach of AT commands; return the evidence, else "".

    Such a stick reports 20 slots, lists no messages, and has no storage but SM.
    """
    if not family.hilink:
        return ""
    if said := hilink_by_name(manufacturer, model):
        return f"it calls itself {said}"
    version = yield ModemCommand("AT^VERSION?", "^VERSION:")
    if any(hilink_by_name(None, line) for line in version.lines):
        return "its firmware says HiLink"
    asked = fill is not None and may_be_hilink(family, firmware, fill.used, fill.total)
    if not asked or (yield from _holds_messages()):
        return ""
    for name in ("ME", "MT"):
        answer = yield ModemCommand(f'AT+CPMS="{name}"', "+CPMS:")
        if answer.error is None:
            yield ModemCommand('AT+CPMS="SM"', "+CPMS:")
            return ""
    return "its storage of 20 is empty and the only one it has"


def _holds_messages() -> Generator[_Step, CommandAnswer, bool]:
    listed = yield ModemCommand("AT+CMGL=4", "+CMGL:", timeout_s=30.0)
    return not listed.ok or bool(listed.lines)


def _ask_for_notices(family: Family) -> Generator[_Step, CommandAnswer, tuple[str, str, bool]]:
    notify = yield from _first_taken(family.notices)
    # Direct forwarding only when no other mode works, and never without acknowledgement.
    acknowledges = not notify and (yield ModemCommand("AT+CSMS=1", "+CSMS:")).ok
    if acknowledges:
        notify = yield from _first_taken(DIRECT)
        if not notify:
            yield ModemCommand("AT+CSMS=0", "+CSMS:")
    # Later answers are compared with this one, since some firmware does not return the values that were set.
    check = yield ModemCommand("AT+CNMI?", "+CNMI:")
    return (check.first if check.ok else ""), notify, acknowledges and bool(notify)


def _slot(family: Family) -> Generator[_Step, CommandAnswer, int]:
    """Return the number of the SIM slot in use; 0 with one slot or when unknown."""
    if not family.slot:
        return 0
    answer = yield ModemCommand(family.slot, at.prefix_of(family.slot))
    return at.whole_number(at.answer_value(answer.first)) or 0


def _first_taken(modes: tuple[str, ...]) -> Generator[_Step, CommandAnswer, str]:
    """Return the first form of `AT+CNMI` that the phone accepts, empty when it accepts none."""
    for mode in modes:
        answer = yield ModemCommand(f"AT+CNMI={mode}")
        if answer.ok:
            return mode
    return ""
