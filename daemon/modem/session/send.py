"""Sending of SMS within a session: one part at a time, written into the prompt of `AT+CMGS` (27.005 clause 4.3).

The session calls `next` only when no received message is left to read, store or delete, so receiving waits for one
command at most. No message is sent twice: if the answer does not show whether the message left the phone, it ends
as UNKNOWN, and the caller must not send it again.
"""

from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from daemon.modem.codec.pdu_encode import SubmitPdu
from daemon.modem.session import at
from daemon.modem.session.at import CommandAnswer, ModemCommand

PROMPT_S: Final = 10.0
"""Until `> `. Phones send it at once; if it comes after our ESC, an empty message is ended."""
SEND_S: Final = 60.0
"""From the last byte of a message to `+CMGS:`; networks give up after 28 to 42 s."""
PROMPT: Final = ">"
_END: Final = b"\x1a"
_NETWORK_TIMEOUT: Final = 332
"""`+CMS ERROR`: the network may have accepted the message although its answer was lost."""
_VAGUE: Final = 500
"""`+CMS ERROR` codes from here on are unknown errors or vendor codes."""


class SmsResult(StrEnum):
    """Result of sending a message."""

    SENT = "sent"
    """The network accepted every part."""
    RETRY = "retry"
    """The next part did not leave the phone; a retry may succeed."""
    FAILED = "failed"
    """The message did not leave the phone; a retry is useless."""
    UNKNOWN = "unknown"
    """A part may have left the phone."""


class Outgoing(Struct, frozen=True):
    """One message to send, as PDUs and as text; `first` is the index of the first unsent part, from 0."""

    id: str
    pdus: tuple[SubmitPdu, ...]
    first: int = 0
    number: str = ""
    body: str = ""


class SmsPartSent(Struct, frozen=True):
    """The network accepted one part; `reference` (TP-MR) is the number that a status report will use, if known."""

    id: str
    part: int
    reference: int | None


class SmsEnded(Struct, frozen=True):
    """Sending of a message has ended; `why` is a short readable reason, empty when it was sent."""

    id: str
    result: SmsResult
    why: str = ""


def result_of_error(error: at.Error, *, typed: bool) -> SmsResult:
    """Return the result of a message from the error that ended its command.

    `typed` says that the message had been written; before that it cannot have left the phone.
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
    """State of the message being sent."""

    def __init__(self, events: list[Any]) -> None:
        """Start idle; `events` is the session's list, to which events are appended."""
        self.ask: ModemCommand | None = None
        """The command under way, if it belongs to sending."""
        self._events = events
        self._outgoing: Outgoing | None = None
        self._part = 0
        self._typed = False
        self._reference: int | None = None

    @property
    def busy(self) -> bool:
        """Return whether a message is being sent."""
        return self._outgoing is not None

    def begin(self, outgoing: Outgoing) -> None:
        """Start sending a message; the previous one must have ended."""
        assert self._outgoing is None, "one message at a time"
        assert outgoing.first < len(outgoing.pdus), "nothing of it is left to send"
        self._outgoing, self._part = outgoing, outgoing.first

    def next(self) -> ModemCommand | None:
        """Return the command that opens the prompt for the next part, None when idle."""
        if self._outgoing is None:
            return None
        self._typed, self._reference = False, None
        length = self._outgoing.pdus[self._part].tpdu_length
        self.ask = ModemCommand(f"AT+CMGS={length}", "+CMGS:", PROMPT_S)
        return self.ask

    def prompted(self) -> bytes | None:
        """Return the bytes to write into the prompt; None when no prompt was requested or they are written already."""
        if self.ask is None or self._typed:
            return None
        assert self._outgoing is not None, "a prompt for no message"
        self._typed = True
        return self._outgoing.pdus[self._part].hex.encode("ascii") + _END

    def line(self, line: str) -> bool:
        """Process a line while `ask` is under way; False when it is not part of the answer."""
        assert self._outgoing is not None, "an answer for no message"
        if line.startswith("+CMGS:"):
            self._reference = at.whole_number(at.fields(line)[0])
            return True
        echo = line.lstrip("> ").rstrip("\x1a").upper()
        return not echo or echo == self._outgoing.pdus[self._part].hex

    def done(self, answer: CommandAnswer) -> None:
        """Process the end of the answer."""
        assert self._outgoing is not None, "an answer for no message"
        self.ask = None
        if answer.error is not None:
            self._end(result_of_error(answer.error, typed=self._typed), answer.why)
        elif not self._typed:
            self._end(SmsResult.RETRY, "the phone did not ask for the message")
        else:
            self._events.append(SmsPartSent(self._outgoing.id, self._part, self._reference))
            self._part += 1
            if self._part == len(self._outgoing.pdus):
                self._end(SmsResult.SENT)

    def lost(self) -> None:
        """Handle a missing answer to the command under way, if it belongs to sending."""
        if self.ask is None:
            return
        self.ask = None
        if self._typed:
            self._end(SmsResult.UNKNOWN, "the phone did not say whether it was sent")
        else:
            self._end(SmsResult.RETRY, "the phone did not ask for the message")

    def abandon(self) -> None:
        """End the message being sent, because the session is over."""
        self.lost()
        if self._outgoing is not None:
            self._end(SmsResult.RETRY, "the phone went away")

    def _end(self, result: SmsResult, why: str = "") -> None:
        assert self._outgoing is not None, "nothing to end"
        self._events.append(SmsEnded(self._outgoing.id, result, why))
        self._outgoing = None
