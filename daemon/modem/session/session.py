"""Sans-I/O AT session with a phone: bytes in, bytes and events out; no port, no clock, no thread.

One command is under way at a time, and an answer is never attributed to another command. When a
command times out the session is out of step: it sends `AT` until the phone answers, waits until
the line is quiet, drops the received bytes, and then repeats the interrupted command.

    WAKING -> SETTLING -> STARTING -> READY     set up by `start`, commands chosen by
       ^                     |  ^      |  ^     `read_messages`; WAITING is a pause of the start
       |                   WAITING     v  |
       +--- rebooted      RECOVERING -> RESETTLING            any -> HUNG

Time is an argument: seconds of a monotonic clock. No input from a phone raises an exception.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from daemon.core.lines.ussd import UssdEnd, UssdMenu
from daemon.modem.session import at
from daemon.modem.session.at import DONE, NO_ANSWER, CommandAnswer, ModemCommand
from daemon.modem.session.events import (
    Event,
    Hung,
    Identified,
    MessageLost,
    Note,
    Noted,
    PartsRead,
    Ready,
    SessionSettings,
    StoredPart,
)
from daemon.modem.session.read_messages import CommandScheduler
from daemon.modem.session.send import PROMPT, SEND_S, Outgoing, Sending
from daemon.modem.session.sim import TakePin, Wait
from daemon.modem.session.start import Script, SessionSetup, start
from daemon.modem.session.ussd import Ussd

MISSES_MAX: Final = 3
"""Consecutive timeouts, over all commands or of one command alone, after which the phone counts as hung."""
WAKE_TRIES_MAX: Final = 5
WAKE_TRIES_AFTER_RESTART: Final = 40
"""A restart takes 10 to 40 s."""
WAKE_TIMEOUT_S: Final = 1.0
RECOVER_TIMEOUT_S: Final = 10.0
"""Independent of command timeouts: a hung phone must be noticed within 90 s."""
QUIET_S: Final = 0.1
"""Silence after which the line counts as quiet; late answers were seen after 0.1 to 0.2 s."""
SETTLE_S_MAX: Final = 2.0
"""Some phones send unsolicited lines without a pause."""
NOTED_MAX: Final = 100
LINES_MAX: Final = 64
"""Lines kept of one answer; message lists are not limited, they are passed on at once."""


class State(StrEnum):
    """State of a session."""

    WAKING = "waking"
    SETTLING = "settling"
    STARTING = "starting"
    WAITING = "waiting"
    READY = "ready"
    RECOVERING = "recovering"
    RESETTLING = "resettling"
    HUNG = "hung"


class Cause(StrEnum):
    """Trigger of a state transition."""

    ANSWERED = "answered"
    SILENT = "silent"
    QUIET = "quiet"
    PAUSED = "paused"
    RESUMED = "resumed"
    SET_UP = "set_up"
    CONFUSED = "confused"
    REBOOTED = "rebooted"
    GIVEN_UP = "given_up"


TRANSITIONS: Final[dict[State, dict[Cause, State]]] = {
    State.WAKING: {Cause.ANSWERED: State.SETTLING, Cause.SILENT: State.WAKING, Cause.GIVEN_UP: State.HUNG},
    State.SETTLING: {Cause.QUIET: State.STARTING},
    State.STARTING: {
        Cause.PAUSED: State.WAITING,
        Cause.SET_UP: State.READY,
        Cause.SILENT: State.WAKING,
        Cause.GIVEN_UP: State.HUNG,
    },
    State.WAITING: {Cause.RESUMED: State.STARTING},
    State.READY: {
        Cause.SILENT: State.RECOVERING,
        Cause.CONFUSED: State.RECOVERING,
        Cause.REBOOTED: State.WAKING,
        Cause.GIVEN_UP: State.HUNG,
    },
    State.RECOVERING: {Cause.ANSWERED: State.RESETTLING, Cause.SILENT: State.RECOVERING, Cause.GIVEN_UP: State.HUNG},
    State.RESETTLING: {Cause.QUIET: State.READY},
    State.HUNG: {},
}
"""A missing pair is a bug: it raises KeyError and changes nothing."""

_NUMERIC: Final = frozenset({"0", "4"})
"""OK and ERROR as numbers (V.250, clause 5.7.1)."""
_WAKE: Final = ModemCommand("AT", timeout_s=WAKE_TIMEOUT_S)
_TAKEN: Final = frozenset(
    {
        at.UnsolicitedKind.KNOWN,
        at.UnsolicitedKind.REBOOTED,
        at.UnsolicitedKind.FULL,
        at.UnsolicitedKind.STORED_REPORT,
        at.UnsolicitedKind.SIM_OUT,
    }
)
_SETTLING: Final = frozenset({State.SETTLING, State.RESETTLING})


class Session:
    """One session; it is over after the event `Hung`."""

    def __init__(self, settings: SessionSettings, now: float) -> None:
        """Start the session; the first bytes to send are available at once.

        `now` is in seconds of the caller's clock, as in all calls.
        """
        self.state = State.WAKING
        self._settings = settings
        self._codec = at.Codec()
        self._out = bytearray()
        self._events: list[Event] = []
        self._work = CommandScheduler(settings, self._events)
        self._sending = Sending(self._events)
        self._ussd = Ussd(self._events)
        self._script: Script = start(settings.role)
        self._setup: SessionSetup | None = None
        self._mute: set[str] = set()
        """Start commands that never got an answer; they are not repeated."""
        self._ask: ModemCommand | None = None
        self._deadline = now
        self._lines: list[str] = []
        self._misses = 0
        self._misses_of: dict[str, int] = {}
        self._wakes = 0
        self._settled_by = now
        self._unasked: at.Header | None = None
        """Header of a message that is in no slot, until its PDU arrives."""
        self._text_follows = False
        """The next line is the text of a message that the phone passed on as text."""
        self._early: list[StoredPart] = []
        """Messages of that kind received before the phone was identified."""
        self._pin: tuple[str, str] | None = None
        """ICCID or IMEI that the offered PIN is for, and the PIN."""
        self._noted: set[str] = set()
        self._sim_out = False
        """The SIM was removed since the start identified it: identify it again before reading on."""
        self._echoed = False
        self._answered = False
        if settings.restart:
            # ESC first: if a prompt is open, the command would be sent as a message.
            self._out += b"\x1b\rAT+CFUN=1,1\r"
        self._wake(now)

    def receive_data(self, data: bytes, now: float) -> None:
        """Process bytes received from the phone, in chunks of any size."""
        if self._over() or not data:
            return
        for line in self._codec.receive_data(data):
            self._take(line, now)
            if self._over():
                return
        if self.state in _SETTLING:
            self._deadline = min(now + QUIET_S, self._settled_by)
        elif self._codec.prompt and self._type(now):
            self._codec.clear()
        elif self._codec.prompt and self.state is State.READY:
            # We did not open this prompt. Text typed into it would be sent as a message.
            self._codec.clear()
            self._out_of_step(Cause.CONFUSED, now)
        if self._work.moved:
            self._work.moved = False
            if self._ask is not None:
                self._deadline = now + self._timeout(self._ask)
        self._advance(now)

    def data_to_send(self) -> bytes:
        """Return the bytes to send to the phone, and clear them."""
        data = bytes(self._out)
        self._out.clear()
        return data

    def events(self) -> list[Event]:
        """Return the events since the last call, in order."""
        events = self._events[:]
        self._events.clear()
        return events

    def tick(self, now: float) -> None:
        """Handle deadlines, and continue with the work that `stored` has made possible."""
        if self.state is State.HUNG:
            return
        if now >= self._deadline:
            if self._ask is not None:
                self._miss(now)
            elif self.state in _SETTLING:
                self._settle(now)
            elif self.state is State.WAITING:
                self._move(Cause.RESUMED)
                self._run(NO_ANSWER, now)
        self._ussd.tick(now)
        self._advance(now)

    def next_deadline(self) -> float | None:
        """Return the time of the next `tick`; None when the session is over."""
        if self.state is State.HUNG:
            return None
        if self._ask is not None or self.state is not State.READY:
            return min(self._deadline, self._ussd.deadline())
        return min(self._work.deadline(), self._ussd.deadline())

    @property
    def expects_parts(self) -> bool:
        """Return whether an announced slot is still unread; announced slots are read first."""
        return self.state is State.READY and self._work.has_notices

    def stored(self, parts: Sequence[StoredPart]) -> None:
        """Mark these parts as durable: the next `tick` begins to empty their slots."""
        self._work.stored(parts)

    @property
    def sending(self) -> bool:
        """Return whether a message passed to `send` has not yet ended with `SmsEnded`."""
        return self._sending.busy

    def send(self, outgoing: Outgoing) -> None:
        """Send a message once all received messages are handled; the next `tick` may begin it."""
        self._sending.begin(outgoing)

    def send_ussd(self, text: str, *, opens: bool) -> None:
        """Send a USSD code that opens a session, or a reply, once all received messages are handled."""
        if self.state is State.READY:
            self._ussd.send(text, opens=opens)
        else:
            self._events.append(UssdMenu("", UssdEnd.LOST))

    def cancel_ussd(self) -> None:
        """End the USSD session at the network."""
        self._ussd.cancel()

    def abandon(self) -> None:
        """Handle the loss of the port: end the message being sent with the result known so far."""
        self._sending.abandon()

    def inspect(self, now: float) -> None:
        """Queue the health questions; a `Health` event follows if the phone is set up."""
        if self.state is State.READY:
            self._work.inspect(now)

    def offer_pin(self, owner: str, pin: str, now: float) -> None:
        """Offer a PIN for the SIM with this ICCID, or for the SIM in the phone with this IMEI.

        It is entered once, and only while that SIM asks for it.
        """
        self._pin = (owner, pin)
        if self.state is State.WAITING:
            self._deadline = now

    def _over(self) -> bool:
        return self.state is State.HUNG

    def _move(self, cause: Cause) -> None:
        self.state = TRANSITIONS[self.state][cause]

    def _advance(self, now: float) -> None:
        if self.state is not State.READY or self._ask is not None:
            return
        if self._work.rebooted or self._sim_out:
            self._restart(now)
            return
        self._work.tick(now)
        if (ask := self._work.next(now) or self._sending.next() or self._ussd.next()) is not None:
            self._send(ask, now)

    def _type(self, now: float) -> bool:
        """Write the message into the prompt that we requested; False if we requested none."""
        if (typed := self._sending.prompted()) is None:
            return False
        self._out += typed
        self._deadline = now + SEND_S
        return True

    def _send(self, ask: ModemCommand, now: float) -> None:
        assert self._ask is None, "one command at a time"
        self._ask = ask
        self._lines = []
        self._deadline = now + self._timeout(ask)
        self._out += ask.text.encode("ascii") + b"\r"

    def _timeout(self, ask: ModemCommand) -> float:
        usual = self._settings.command_timeout_s
        if ask is self._sending.ask:
            return ask.timeout_s or usual  # received messages must not wait longer
        return usual if ask.timeout_s is None else max(usual, ask.timeout_s)

    def _wake(self, now: float) -> None:
        """Send AT; the leading ESC closes a prompt that a crashed predecessor may have left open."""
        self._out += b"\x1b\r"
        if self._wakes or self._misses:
            # A saved profile may have switched the answers off, or to numbers.
            self._out += b"ATQ0\rATV1\r"
        self._send(_WAKE, now)
        usual = self._settings.command_timeout_s
        limit = WAKE_TIMEOUT_S if self.state is State.WAKING else RECOVER_TIMEOUT_S
        self._deadline = now + min(limit, usual)

    def _restart(self, now: float) -> None:
        self._move(Cause.REBOOTED)
        self._sim_out = False
        self._work.lost()
        self._ussd.lost()
        self._ask = None
        self._wakes = 0
        self._wake(now)

    def _settle(self, now: float) -> None:
        self._move(Cause.QUIET)
        self._codec.clear()
        self._unasked = None
        if self.state is State.STARTING:
            self._script = start(self._settings.role)
            self._run(None, now)

    def _run(self, answer: CommandAnswer | None, now: float) -> None:
        try:
            step = next(self._script) if answer is None else self._script.send(answer)
            while True:
                if isinstance(step, ModemCommand):
                    if step.text not in self._mute:
                        self._send(step, now)
                        return
                elif isinstance(step, Wait):
                    self._move(Cause.PAUSED)
                    self._deadline = now + step.seconds
                    return
                elif isinstance(step, TakePin):
                    step = self._script.send(self._take_pin(step))
                    continue
                elif isinstance(step, Noted):
                    self._note(step.line, step.what)
                else:
                    self._events.append(step)
                step = self._script.send(NO_ANSWER)
        except StopIteration as end:
            self._started(end.value, now)

    def _take_pin(self, asked: TakePin) -> CommandAnswer:
        """Return the offered PIN and forget it, so that it can never be entered twice."""
        offered, self._pin = self._pin, None
        if offered is None or offered[0] != (asked.iccid or asked.imei):
            return NO_ANSWER
        return CommandAnswer(ok=True, lines=(offered[1],))

    def _started(self, outcome: SessionSetup | str, now: float) -> None:
        if isinstance(outcome, str):
            self._give_up(outcome, silent=False, unusable=True)
            return
        if self._setup is not None and _differ(self._setup.identity, outcome.identity):
            # Parts read before and not stored yet belong to the other SIM, so the caller must
            # drop them; they are still on that SIM, and are read again when the SIM is back.
            self._give_up("there is another SIM in the phone now", silent=False)
            return
        self._move(Cause.SET_UP)
        self._work.begin(outcome, now)
        self._setup = outcome
        self._echoed = False
        self._events += (outcome.identity, Ready(bool(outcome.notify), outcome.offered))
        self._hand_out_direct()

    def _miss(self, now: float) -> None:
        ask, self._ask = self._ask, None
        assert ask is not None, "a miss without a command"
        if self.state is State.WAKING:
            self._wakes += 1
            restarted = self._settings.restart and self._setup is None
            if self._wakes >= (WAKE_TRIES_AFTER_RESTART if restarted else WAKE_TRIES_MAX):
                self._give_up("the phone does not answer AT")
                return
            self._move(Cause.SILENT)
            self._wake(now)
            return
        self._misses += 1
        often = self._missed_often(ask)
        if self.state is State.STARTING and not ask.needed and self._misses_of[ask.name] > 1:
            self._mute.add(ask.text)
            often = False
        if self._misses >= MISSES_MAX or often:
            times = max(self._misses, self._misses_of[ask.name])
            self._give_up(f"no answer to {ask.name} {times} times")
            return
        self._wakes = 0
        self._out_of_step(Cause.SILENT, now)

    def _missed_often(self, ask: ModemCommand) -> bool:
        """Count the timeouts of one command: until a reset, some phones answer everything but a list."""
        self._misses_of[ask.name] = self._misses_of.get(ask.name, 0) + 1
        hangs = self._setup is not None and self._setup.family.restart_on_silence
        most = MISSES_MAX - 1 if hangs and ask.name == "AT+CMGL" else MISSES_MAX
        return self._misses_of[ask.name] >= most

    def _out_of_step(self, cause: Cause, now: float) -> None:
        self._ask = None
        if self.state is State.READY:
            self._work.lost()
        self._sending.lost()
        self._ussd.lost()
        self._move(cause)
        self._wake(now)

    def _give_up(self, why: str, *, silent: bool = True, unusable: bool = False) -> None:
        self._move(Cause.GIVEN_UP)
        self._ask = None
        self._out.clear()
        self._sending.abandon()
        self._ussd.lost()
        self._events.append(Hung(why, silent, self._answered, unusable))

    def _take(self, line: str, now: float) -> None:  # noqa: C901 - a case each
        ask = self._ask
        if self._ussd.line(line, now):
            pass
        elif line == "OK":
            if ask is not None:
                self._end(DONE, now)
        elif line in _NUMERIC and ask is _WAKE:
            # The answers are numbers: a saved profile has ATV0. The next answer is in words.
            self._out += b"ATV1\r"
        elif ask is not None and (error := at.error_of(line)) is not None:
            if at.error_class(error) is at.ErrorClass.UNKNOWN:
                self._note(str(error), Note.ERROR)
            self._end(CommandAnswer(ok=False, error=error), now)
        elif self._is_direct(line, now) or self._is_part(ask, line, now):
            pass
        elif self.state is State.STARTING and ask is not None and self._answers(ask, line):
            if len(self._lines) < LINES_MAX:
                self._lines.append(line)
            if ask.last and line.startswith(ask.last):
                self._end(DONE, now)
        elif self.state not in _SETTLING or line.startswith("+CMTI"):
            self._take_unasked(line, now)

    def _is_part(self, ask: ModemCommand | None, line: str, now: float) -> bool:
        """Process an answer line of a command from `read_messages`, or of `AT+CMGS`."""
        if ask is None or self.state is not State.READY:
            return False
        if ask is self._ussd.ask:
            return False
        if ask is not self._sending.ask:
            return self._work.line(line)
        # Some phones send a line end after the prompt.
        return (line == PROMPT and self._type(now)) or self._sending.line(line)

    def _answers(self, ask: ModemCommand, line: str) -> bool:
        if line == ask.text:
            return False  # its echo
        if ask.prefix:
            return line.startswith(ask.prefix)
        own = ask.text[2:].partition("=")[0].rstrip("?") + ":"
        kind = at.unsolicited_kind(line)
        return line.startswith(own) or kind is at.UnsolicitedKind.UNKNOWN

    def _end(self, answer: CommandAnswer, now: float) -> None:
        ask, self._ask = self._ask, None
        assert ask is not None, "an answer without a command"
        if self.state in {State.WAKING, State.RECOVERING}:
            self._answered = True
            self._move(Cause.ANSWERED)
            self._settled_by = now + SETTLE_S_MAX
            self._deadline = now + QUIET_S
            self._misses = 0
            self._misses_of.pop(ask.name, None)
            return
        self._misses = 0
        if self.state is State.STARTING:
            self._misses_of.pop(ask.name, None)
            self._run(CommandAnswer(answer.ok, answer.error, tuple(self._lines)), now)
            return
        if ask is self._sending.ask:
            self._sending.done(answer)
        elif ask is self._ussd.ask:
            self._ussd.done(answer)
        else:
            self._work.done(answer)
        if not self._work.confused:
            if self._misses_of:
                self._misses_of.pop(ask.name, None)
            self._advance(now)
            return
        self._work.confused = False
        if self._missed_often(ask):
            self._give_up("the phone's answers do not match the commands")
        else:
            self._out_of_step(Cause.CONFUSED, now)

    def _is_direct(self, line: str, now: float) -> bool:
        """Process a message that the phone forwards without storing it: a flash SMS, a status report."""
        if line.startswith(("+CMT:", "+CDS:")):
            self._unasked = at.unsolicited_header(line)
            if self._unasked is None:
                self._in_text_mode(now)
            return True
        if self._text_follows:
            # The words of a message: nobody may log them.
            self._text_follows = False
            return True
        header = self._unasked
        if header is None or not at.is_hex(line) or not at.may_fit(header.length, line):
            return False
        self._unasked = None
        self._early.append(StoredPart("", -1, 0, header.length, line.upper()))
        if self._setup is not None:
            self._hand_out_direct()
        return True

    def _in_text_mode(self, now: float) -> None:
        """Handle a message that the phone forwards as text: it has restarted, and lost its settings."""
        self._text_follows = True
        self._events.append(MessageLost("the phone passed it on as text, because it had lost its settings"))
        if self.state is State.READY:
            self._work.check(now)
            self._work.sweep(now)

    def _hand_out_direct(self) -> None:
        if self._early:
            self._events.append(PartsRead(tuple(self._early)))
            self._early.clear()

    def _take_unasked(self, line: str, now: float) -> None:  # noqa: C901 - a case each
        kind = at.unsolicited_kind(line)
        if kind is at.UnsolicitedKind.NOTICE:
            if (key := at.cmti(line)) is not None:
                self._work.notice(key)
                return
            self._work.sweep(now)  # it names no slot
        elif kind is at.UnsolicitedKind.FULL:
            self._work.full(at.full_storage(line), now)
        elif kind is at.UnsolicitedKind.STORED_REPORT:
            self._work.list_reports()
        elif kind is at.UnsolicitedKind.REBOOTED:
            self._work.check(now)
        elif kind is at.UnsolicitedKind.SIM_OUT:
            self._sim_out = True
        if kind in _TAKEN:
            return
        if self.state is State.READY and line.upper().startswith("AT"):
            # An echo although it was switched off: the phone lost its settings or ignored ATE0.
            if not self._echoed:
                self._echoed = True
                self._work.check(now)
            return
        if self.state is State.READY:
            self._note(line, Note.LINE)

    def _note(self, said: str, what: Note) -> None:
        name = said.partition(":")[0][:40] if what is Note.LINE else said[:80]
        if name not in self._noted and len(self._noted) < NOTED_MAX:
            self._noted.add(name)
            self._events.append(Noted(said, what))


def _differ(before: Identified, after: Identified) -> bool:
    """Return whether these are different phones or SIMs; a missing value is not a difference."""
    pairs = ((before.imei, after.imei), (before.iccid, after.iccid), (before.imsi, after.imsi))
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)
