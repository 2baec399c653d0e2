"""The SIM in a session: unlock it with a PIN at the start, and check later that it is still the same one.

Three wrong PINs block a SIM. So a PIN is entered only when the caller offers one for this SIM, which the caller does once
(its record is durable, the session's is not), and never when the phone reports fewer than two tries. The SIM is identified
again between the offer and the entry.

Some phones do not announce a change of the SIM. So the SIM is identified each minute, and before messages are read from it
unless that was done in the last seconds: changing a SIM takes longer.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Final

from msgspec import Struct

from daemon.modem.quirks import Family
from daemon.modem.session import at
from daemon.modem.session.at import CommandAnswer, ModemCommand
from daemon.modem.session.events import PinNeeded, PinRefused, SimAbsent

SIM_RETRY_S: Final = 5.0
BUSY_RETRY_S: Final = 2.0
PIN_TIMEOUT_S: Final = 15.0
"""A SIM checks a PIN within a second; some firmware answers only when the network is found."""
PIN_TRIES_MIN: Final = 2
"""With one try left no PIN is entered: a wrong one would block the SIM."""
ANSWER_VALID_S: Final = 2.0
"""Validity of an answer: removing and starting another SIM takes longer than this."""
UNANSWERED_MAX: Final = 3
"""After so many failed answers in a row messages are read anyway: a doubt must not hold them up."""
SIM_PIN: Final = "SIM PIN"
_OPEN: Final = ("", "READY")


class Wait(Struct, frozen=True):
    """Pause of the start script."""

    seconds: float


class TakePin(Struct, frozen=True):
    """Request for the PIN that was offered for this SIM or phone; answered once."""

    iccid: str | None
    imei: str | None


_Step = ModemCommand | Wait | TakePin | PinNeeded | PinRefused | SimAbsent
_Fact = Callable[
    [tuple[str, ...], Callable[[str], str | None]], Generator[ModemCommand | Wait, CommandAnswer, str | None]
]


def wait_until_unlocked(family: Family, who: PinNeeded, fact: _Fact) -> Generator[_Step, CommandAnswer, None]:
    """Wait until a SIM is present and unlocked.

    `who` has the identity of the phone; `fact` queries a value until it is confirmed.
    """
    reported: PinNeeded | SimAbsent | None = None
    while True:
        last = family.ends_with("AT+CPIN?")
        answer = yield ModemCommand("AT+CPIN?", "+CPIN:", timeout_s=10.0, last=last)
        state, error = at.answer_value(answer.first).upper(), answer.error
        wanted: PinNeeded | SimAbsent | None = None
        if state in _OPEN and error is not None:
            state = at.pin_wanted(error) or ""
            if not state and at.sim_absent(error):
                wanted = SimAbsent(str(error))
            elif not state and not at.is_busy(error):
                return  # the phone does not support the command
        elif state in _OPEN:
            return
        if state not in _OPEN:
            iccid = yield from fact(family.iccid_commands, at.iccid_of)
            tries = (yield from _tries_left(family)) if state == SIM_PIN else None
            wanted = replace(who, state=state, iccid=iccid, tries=tries)
            if state == SIM_PIN and (tries is None or tries >= PIN_TRIES_MIN):
                tried = yield from _try_once(iccid, who.imei)
                if tried is not None:
                    yield from _report_result(tried)
                    reported = None
                    continue
        if wanted is not None and wanted != reported:
            yield wanted
            reported = wanted
        yield Wait(BUSY_RETRY_S if wanted is None else SIM_RETRY_S)


def _try_once(iccid: str | None, imei: str | None) -> Generator[_Step, CommandAnswer, CommandAnswer | None]:
    """Enter the offered PIN; None when there is none for this SIM."""
    offered = yield TakePin(iccid, imei)
    if not offered.ok:
        return None
    return (yield ModemCommand(f'AT+CPIN="{offered.first}"', "+CPIN:", timeout_s=PIN_TIMEOUT_S))


def _report_result(tried: CommandAnswer) -> Generator[_Step, CommandAnswer, None]:
    if not tried.ok:
        yield PinRefused(tried.why)
        yield Wait(BUSY_RETRY_S)


def _tries_left(family: Family) -> Generator[_Step, CommandAnswer, int | None]:
    for command in family.pin_counters:
        answer = yield ModemCommand(command, at.prefix_of(command))
        if answer.ok:
            for line in answer.lines:
                if (tries := at.pin_tries(line)) is not None:
                    return tries
    return None


class SimQuery(Struct, frozen=True):
    """Command that identifies the SIM of this phone, and the answer at the start: the ICCID, else the IMSI."""

    ask: ModemCommand
    reader: Callable[[str], str | None]
    fact: str


class SimWatch:
    """Current knowledge about the SIM."""

    def __init__(self) -> None:
        self.question: SimQuery | None = None
        self._valid_until = 0.0
        self._answered = False
        self._unanswered = 0

    def begin(self, question: SimQuery | None) -> None:
        """Start over: the SIM was just identified."""
        self.question = question
        self._answered = True
        self._unanswered = 0

    def tick(self, now: float) -> None:
        """Update the time; called right after an answer too, to set its validity."""
        if self._answered:
            self._answered = False
            self._valid_until = now + ANSWER_VALID_S

    def to_ask(self, now: float) -> ModemCommand | None:
        """Return the command if it is due before reading on, None while the last answer is valid."""
        return self.question.ask if self.question is not None and now >= self._valid_until else None

    def is_fact(self, line: str) -> bool:
        """Return whether a line can be an answer."""
        return self.question is not None and self.question.reader(line) is not None

    def changed(self, answer: CommandAnswer, line: str) -> bool:
        """Process an answer; return whether the SIM seems to be removed or another.

        A lost digit looks the same, so the start that follows repeats the command until it is confirmed.
        """
        assert self.question is not None, "an answer without a question"
        if answer.error is not None and at.sim_absent(answer.error):
            return True
        fact = self.question.reader(line) if answer.ok else None
        if fact is None:
            self._unanswered += 1
            self._answered = self._unanswered >= UNANSWERED_MAX
        else:
            self._answered, self._unanswered = True, 0
        return fact is not None and fact != self.question.fact
