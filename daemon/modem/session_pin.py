"""Opening a locked SIM, as a part of the start's script: who it is, how many tries are left, one PIN.

Three wrong PINs block a SIM. So a PIN is typed only when the caller hands one over for this very SIM,
which he does once (his book is durable, this is not); and never when the phone says that fewer
than two tries are left. Between the hand-over and the typing the SIM is asked again who it is.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Final

from daemon.modem import at
from daemon.modem.families import Family
from daemon.modem.session_ask import Answer, Ask
from daemon.modem.session_values import PinNeeded, PinRefused, SimAbsent

SIM_RETRY_S: Final = 5.0
BUSY_RETRY_S: Final = 2.0
PIN_TIMEOUT_S: Final = 15.0
"""A SIM checks a PIN within a second; some firmware answers when the network is found."""
PIN_TRIES_MIN: Final = 2
"""With one try left nothing is typed: a wrong PIN would block the SIM."""
SIM_PIN: Final = "SIM PIN"
_OPEN: Final = ("", "READY")


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to ask for so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class TakePin:
    """Hand over the PIN that was offered for this SIM or this phone, if one was; once."""

    iccid: str | None
    imei: str | None


_Step = Ask | Wait | TakePin | PinNeeded | PinRefused | SimAbsent
_Fact = Callable[
    [tuple[str, ...], Callable[[str], str | None]], Generator[Ask | Wait, Answer, str | None]
]


def unlocked(family: Family, who: PinNeeded, fact: _Fact) -> Generator[_Step, Answer, None]:
    """Wait until the SIM is there and open.

    `who` names the phone, and `fact` asks for a fact until it is sure of it.
    """
    told: PinNeeded | SimAbsent | None = None
    while True:
        last = family.ends_with("AT+CPIN?")
        answer = yield Ask("AT+CPIN?", "+CPIN:", timeout_s=10.0, last=last)
        state, error = at.bare(answer.first).upper(), answer.error
        wanted: PinNeeded | SimAbsent | None = None
        if state in _OPEN and error is not None:
            state = at.pin_wanted(error) or ""
            if not state and at.sim_absent(error):
                wanted = SimAbsent(str(error))
            elif not state and not at.is_busy(error):
                return  # the phone does not know the question
        elif state in _OPEN:
            return
        if state not in _OPEN:
            iccid = yield from fact(family.iccid_commands, at.iccid_of)
            tries = (yield from _tries_left(family)) if state == SIM_PIN else None
            wanted = replace(who, state=state, iccid=iccid, tries=tries)
            if state == SIM_PIN and (tries is None or tries >= PIN_TRIES_MIN):
                tried = yield from _try_once(iccid, who.imei)
                if tried is not None:
                    yield from _told(tried)
                    told = None
                    continue
        if wanted is not None and wanted != told:
            yield wanted
            told = wanted
        yield Wait(BUSY_RETRY_S if wanted is None else SIM_RETRY_S)


def _try_once(iccid: str | None, imei: str | None) -> Generator[_Step, Answer, Answer | None]:
    """Type the PIN that was handed over; None when there is none for this SIM."""
    offered = yield TakePin(iccid, imei)
    if not offered.ok:
        return None
    return (yield Ask(f'AT+CPIN="{offered.first}"', "+CPIN:", timeout_s=PIN_TIMEOUT_S))


def _told(tried: Answer) -> Generator[_Step, Answer, None]:
    if not tried.ok:
        yield PinRefused(tried.why)
        yield Wait(BUSY_RETRY_S)


def _tries_left(family: Family) -> Generator[_Step, Answer, int | None]:
    for command in family.pin_counters:
        answer = yield Ask(command, at.prefix_of(command))
        if answer.ok:
            for line in answer.lines:
                if (tries := at.pin_tries(line)) is not None:
                    return tries
    return None
