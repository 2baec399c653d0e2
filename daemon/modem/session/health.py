"""Periodic questions of an AT session (counts, lists, health) and the last answers to them.

Sends nothing: `PeriodicCommands` decides which question is due, in which order, and keeps the answers.
"""

from enum import StrEnum
from typing import Final

from daemon.modem.session import at
from daemon.modem.session.at import CommandAnswer, ModemCommand
from daemon.modem.session.events import Health, Registration, SessionSettings

CHECK_S: Final = 60.0
"""Between two checks for an unannounced reboot of the phone."""
RETRY_S: Final = 5.0
"""A storage that could not be read is counted again after so long."""
_REGISTRATIONS: Final = {  # 27.007 clause 7.2; 6, 7 are SMS only, 9, 10 are CSFB not preferred
    0: Registration.NONE,
    1: Registration.HOME,
    2: Registration.SEARCHING,
    3: Registration.DENIED,
    5: Registration.ROAMING,
    6: Registration.HOME,
    7: Registration.ROAMING,
    8: Registration.EMERGENCY_ONLY,
    9: Registration.HOME,
    10: Registration.ROAMING,
    11: Registration.EMERGENCY_ONLY,
}


class Purpose(StrEnum):
    """Purpose of a command."""

    READ = "read"
    VERIFY = "verify"
    DELETE = "delete"
    DELETE_READ = "delete_read"
    SELECT = "select"
    LIST = "list"
    COUNT = "count"
    SIGNAL = "signal"
    REGISTRATION = "registration"
    REGISTRATION_PACKET = "registration_packet"
    REGISTRATION_LTE = "registration_lte"
    OPERATOR = "operator"
    CHECK = "check"
    MODE = "mode"
    NOTIFY = "notify"
    ACKNOWLEDGE = "acknowledge"
    SIM = "sim"
    CLOCK = "clock"


STORAGE_FREE_COMMANDS: Final = {
    Purpose.SIGNAL: ModemCommand("AT+CSQ", "+CSQ:"),
    Purpose.REGISTRATION: ModemCommand("AT+CREG?", "+CREG:"),
    Purpose.REGISTRATION_PACKET: ModemCommand("AT+CGREG?", "+CGREG:"),
    Purpose.REGISTRATION_LTE: ModemCommand("AT+CEREG?", "+CEREG:"),
    Purpose.OPERATOR: ModemCommand("AT+COPS?", "+COPS:"),
    Purpose.CHECK: ModemCommand("AT+CNMI?", "+CNMI:"),
    Purpose.MODE: ModemCommand("AT+CMGF=0", "+CMGF:"),
    Purpose.CLOCK: ModemCommand("AT+CCLK?", "+CCLK:"),
}
"""Commands that do not depend on the selected storage."""
_ELSEWHERE: Final = {
    Purpose.REGISTRATION: Purpose.REGISTRATION_LTE,
    Purpose.REGISTRATION_LTE: Purpose.REGISTRATION_PACKET,
}
"""Next register to ask while no network is found: on LTE alone `+CREG` is 0 (27.007 clause 10.1.22)."""
_REGISTERS: Final = frozenset({*_ELSEWHERE, *_ELSEWHERE.values()})


class PeriodicCommands:
    """A queue of questions that wait behind messages, up to a limit."""

    def __init__(self, settings: SessionSettings) -> None:
        self.rebooted = False
        """The phone has lost its settings."""
        self.notify: ModemCommand | None = None
        """Enables notices again: some phones send none after a storage was full."""
        self._settings = settings
        self._baseline = ""
        self._queue: dict[tuple[Purpose, str], None] = {}
        self._since = 0.0
        self._due = {Purpose.COUNT: 0.0, Purpose.LIST: 0.0, Purpose.SIGNAL: 0.0, Purpose.CHECK: 0.0}
        self._signal: int | None = None
        self._registration = Registration.UNKNOWN
        self._found = Registration.UNKNOWN
        """Interim result while the registers are being asked."""
        self._operator: str | None = None
        self._clock = False
        """The phone's clock is asked for the time."""

    def begin(self, notices: str, notify: ModemCommand | None, now: float, *, clock: bool) -> None:
        """Start over on a phone that was just set up.

        Later answers to `AT+CNMI?` are compared with `notices`. `notify` is the command that enabled notices, None when
        the phone accepted none. With `clock` the phone's clock is asked for the time at each health check.
        """
        self._clock = clock
        self._baseline = notices
        self.notify = notify
        self.rebooted = False
        self._due = {
            Purpose.COUNT: now + self._settings.poll_s,
            Purpose.LIST: now + self._settings.sweep_s,
            Purpose.SIGNAL: now,
            Purpose.CHECK: now + CHECK_S,
        }
        self._queue.clear()
        self.add(Purpose.OPERATOR, now)

    def __bool__(self) -> bool:
        return bool(self._queue)

    def add(self, kind: Purpose, now: float, storage: str = "") -> None:
        """Append a question, unless it is already queued."""
        if not self._queue:
            self._since = now
        self._queue[kind, storage] = None

    def first(self) -> tuple[Purpose, str]:
        """Return the oldest question and its storage."""
        return next(iter(self._queue))

    def drop(self, kind: Purpose, storage: str = "") -> None:
        """Remove a question from the queue, if present."""
        self._queue.pop((kind, storage), None)

    @property
    def counts(self) -> bool:
        """Return whether a count is still queued: the fullest storage is then not known yet."""
        return any(kind is Purpose.COUNT for kind, _ in self._queue)

    def overdue(self, now: float) -> bool:
        """Return whether the questions have waited behind messages up to the limit."""
        return bool(self._queue) and now >= self._since + self._settings.heartbeat_s

    def deadline(self) -> float:
        """Return the time at which the next question is due."""
        return min(self._due.values())

    def tick(self, now: float) -> frozenset[Purpose]:
        """Queue the questions that are due; return the kinds that are due, lists and counts included."""
        due, settings = self._due, self._settings
        if now < min(due.values()):
            return frozenset()
        reached = frozenset(kind for kind, at_s in due.items() if now >= at_s)
        if Purpose.LIST in reached:
            due[Purpose.LIST] = now + settings.sweep_s
            self.add(Purpose.OPERATOR, now)
        if Purpose.COUNT in reached:
            due[Purpose.COUNT] = now + settings.poll_s
        if Purpose.SIGNAL in reached:
            due[Purpose.SIGNAL] = now + settings.heartbeat_s
            self.add(Purpose.SIGNAL, now)
            self.add(Purpose.REGISTRATION, now)
            if self._clock:
                self.add(Purpose.CLOCK, now)
        if Purpose.CHECK in reached:
            due[Purpose.CHECK] = now + CHECK_S
            if self._baseline:
                self.add(Purpose.CHECK, now)
        return reached

    def count_soon(self, now: float) -> None:
        """Count the storages soon: a message on the phone was not read."""
        self._due[Purpose.COUNT] = min(self._due[Purpose.COUNT], now + RETRY_S)

    def list_at(self, at_s: float) -> None:
        """Schedule the listing of every storage for that time at the latest."""
        self._due[Purpose.LIST] = min(self._due[Purpose.LIST], at_s)

    def count_late(self, now: float) -> None:
        """Postpone the counts: everything was just listed."""
        self._due[Purpose.COUNT] = max(self._due[Purpose.COUNT], now + self._settings.poll_s)

    def done(self, kind: Purpose, answer: CommandAnswer, line: str, fill: at.Fill | None) -> Health | None:
        """Process an answer; return the `Health` when this was the last health question."""
        self.drop(kind)
        if kind is Purpose.SIGNAL:
            self._signal = at.csq_signal(line)
        elif kind is Purpose.OPERATOR:
            self._operator = at.operator_name(line)
        elif kind is Purpose.CHECK:
            self.rebooted = answer.ok and line != self._baseline and bool(self._baseline)
        elif kind in _REGISTERS:
            return self._registered(kind, line, fill)
        return None

    def _registered(self, kind: Purpose, line: str, fill: at.Fill | None) -> Health | None:
        """Process one registration answer; queue the next register while none reports service."""
        stat = at.registration_stat(line)
        found = _REGISTRATIONS.get(-1 if stat is None else stat, Registration.UNKNOWN)
        if kind is Purpose.REGISTRATION or found.receives:
            self._found = found
        elsewhere = _ELSEWHERE.get(kind)
        if elsewhere is not None and not found.receives:
            self._queue[elsewhere, ""] = None
            return None
        self._registration = self._found
        return self._health(fill)

    def _health(self, fill: at.Fill | None) -> Health:
        used, total = (None, None) if fill is None else (fill.used, fill.total)
        return Health(self._signal, self._registration, self._operator, used, total)
