"""Sending SMS within a session: one part at a time, typed into the prompt of `AT+CMGS` (27.005 clause 4.3).

The session asks `next` only when nothing received is left to read, store or delete, so receiving waits for one
command at most. Nothing is sent twice from here: an answer that does not say whether the message left the phone
ends it as UNKNOWN, and whoever handed it over must not hand it over again.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from daemon.modem import at
from daemon.modem.pdu_encode import SubmitPdu
from daemon.modem.session_ask import Answer, Ask

PROMPT_S: Final = 10.0
"""Until `> `. Phones say it at once; one that says it after our ESC has a message of nothing to end."""
SEND_S: Final = 60.0
"""From the last byte of a message to `+CMGS:`; networks give up after 28 to 42 s."""
PROMPT: Final = ">"
_END: Final = b"\x1a"
_NETWORK_TIMEOUT: Final = 332
"""`+CMS ERROR`: the network may have taken the message and its answer be lost."""
_VAGUE: Final = 500
"""`+CMS ERROR` from here on: unknown to the phone, or the maker's own."""


class SmsResult(StrEnum):
    """What became of a message that was handed over."""

    SENT = "sent"
    """The network took every part."""
    RETRY = "retry"
    """The part that was next did not leave the phone, and may later."""
    FAILED = "failed"
    """It did not leave the phone and never will."""
    UNKNOWN = "unknown"
    """A part may have left the phone."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message to send; `first` is the place of the first part that was not sent yet, from 0."""

    id: str
    pdus: tuple[SubmitPdu, ...]
    first: int = 0


@dataclass(frozen=True, slots=True)
class SmsPartSent:
    """The network took one part; `reference` (TP-MR) is what a status report will name, if the phone told it."""

    id: str
    part: int
    reference: int | None


@dataclass(frozen=True, slots=True)
class SmsEnded:
    """The session is done with a message; `why` is a few words for people, empty when it was sent."""

    id: str
    result: SmsResult
    why: str = ""


def judge(error: at.Error, *, typed: bool) -> SmsResult:
    """Say what an error means for a message.

    Args:
        error: What ended `AT+CMGS`.
        typed: The message had been typed; before that nothing can have left the phone.
    """
    kind = at.error_class(error)
    if not typed:
        final = kind is at.ErrorClass.FINAL and error.kind is not at.ErrorKind.PLAIN
        return SmsResult.FAILED if final else SmsResult.RETRY
    code = error.code
    if code is None or code == _NETWORK_TIMEOUT or kind is at.ErrorClass.UNKNOWN:
        return SmsResult.UNKNOWN
    if error.kind is at.ErrorKind.CMS and code >= _VAGUE:
        return SmsResult.UNKNOWN
    return SmsResult.FAILED if kind is at.ErrorClass.FINAL else SmsResult.RETRY


class Sending:
    """The message that is being sent, and how far it is."""

    def __init__(self, events: list[Any]) -> None:
        """Start with nothing to send; `events` is the session's list, which this adds to."""
        self.ask: Ask | None = None
        """The command under way, if it is ours."""
        self._events = events
        self._outgoing: Outgoing | None = None
        self._part = 0
        self._typed = False
        self._reference: int | None = None

    @property
    def busy(self) -> bool:
        """Say whether a message was handed over and has not ended."""
        return self._outgoing is not None

    def begin(self, outgoing: Outgoing) -> None:
        """Take a message to send; the one before must have ended."""
        assert self._outgoing is None, "one message at a time"
        assert outgoing.first < len(outgoing.pdus), "nothing of it is left to send"
        self._outgoing, self._part = outgoing, outgoing.first

    def next(self) -> Ask | None:
        """Return the command that opens the prompt for the next part, None when there is nothing to send."""
        if self._outgoing is None:
            return None
        self._typed, self._reference = False, None
        length = self._outgoing.pdus[self._part].tpdu_length
        self.ask = Ask(f"AT+CMGS={length}", "+CMGS:", PROMPT_S)
        return self.ask

    def prompted(self) -> bytes | None:
        """Return what to type into the prompt; None when none was asked for, or it is typed already."""
        if self.ask is None or self._typed:
            return None
        assert self._outgoing is not None, "a prompt for no message"
        self._typed = True
        return self._outgoing.pdus[self._part].hex.encode("ascii") + _END

    def line(self, line: str) -> bool:
        """Take a line while `ask` is under way; False when it is no part of its answer."""
        assert self._outgoing is not None, "an answer for no message"
        if line.startswith("+CMGS:"):
            self._reference = at.whole_number(at.fields(line)[0])
            return True
        echo = line.lstrip("> ").rstrip("\x1a").upper()
        return not echo or echo == self._outgoing.pdus[self._part].hex

    def done(self, answer: Answer) -> None:
        """Take the end of the answer."""
        assert self._outgoing is not None, "an answer for no message"
        self.ask = None
        if answer.error is not None:
            self._end(judge(answer.error, typed=self._typed), answer.why)
        elif not self._typed:
            self._end(SmsResult.RETRY, "the phone did not ask for the message")
        else:
            self._events.append(SmsPartSent(self._outgoing.id, self._part, self._reference))
            self._part += 1
            if self._part == len(self._outgoing.pdus):
                self._end(SmsResult.SENT)

    def lost(self) -> None:
        """Take it that the command under way, if any is ours, will get no answer."""
        if self.ask is None:
            return
        self.ask = None
        if self._typed:
            self._end(SmsResult.UNKNOWN, "the phone did not say whether it was sent")
        else:
            self._end(SmsResult.RETRY, "the phone did not ask for the message")

    def abandon(self) -> None:
        """End what is not ended: the session is over."""
        self.lost()
        if self._outgoing is not None:
            self._end(SmsResult.RETRY, "the phone went away")

    def _end(self, result: SmsResult, why: str = "") -> None:
        assert self._outgoing is not None, "nothing to end"
        self._events.append(SmsEnded(self._outgoing.id, result, why))
        self._outgoing = None
