"""What an AT session asks by the clock: counts, lists, signs of health; and what was answered last.

Nothing here sends: `Chores` says what is due and in which order, and keeps what the phone said.
"""

from enum import StrEnum
from typing import Final

from daemon.modem import at
from daemon.modem.session_ask import Answer, Ask
from daemon.modem.session_values import Health, Registration, SessionSettings

CHECK_S: Final = 60.0
"""Between two looks whether the phone rebooted without a word."""
RETRY_S: Final = 5.0
"""A storage that could not be read is looked at again so soon."""
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


class Kind(StrEnum):
    """What a command is for."""

    READ = "read"
    VERIFY = "verify"
    DELETE = "delete"
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


PLAIN: Final = {
    Kind.SIGNAL: Ask("AT+CSQ", "+CSQ:"),
    Kind.REGISTRATION: Ask("AT+CREG?", "+CREG:"),
    Kind.REGISTRATION_PACKET: Ask("AT+CGREG?", "+CGREG:"),
    Kind.REGISTRATION_LTE: Ask("AT+CEREG?", "+CEREG:"),
    Kind.OPERATOR: Ask("AT+COPS?", "+COPS:"),
    Kind.CHECK: Ask("AT+CNMI?", "+CNMI:"),
    Kind.MODE: Ask("AT+CMGF=0", "+CMGF:"),
}
"""Those that need no storage to be selected."""
_ELSEWHERE: Final = {
    Kind.REGISTRATION: Kind.REGISTRATION_LTE,
    Kind.REGISTRATION_LTE: Kind.REGISTRATION_PACKET,
}
"""Where to ask next while no network is found: on LTE alone `+CREG` says 0 (27.007 clause 10.1.22)."""
_REGISTERS: Final = frozenset({*_ELSEWHERE, *_ELSEWHERE.values()})


class Chores:
    """A queue of questions that wait behind messages, though not for ever."""

    def __init__(self, settings: SessionSettings) -> None:
        """Start with nothing due."""
        self.rebooted = False
        """The phone has forgotten its settings."""
        self.notify: Ask | None = None
        """Asks for notices once more: some phones give none after they were full."""
        self._settings = settings
        self._baseline = ""
        self._queue: dict[tuple[Kind, str], None] = {}
        self._since = 0.0
        self._due = {Kind.COUNT: 0.0, Kind.LIST: 0.0, Kind.SIGNAL: 0.0, Kind.CHECK: 0.0}
        self._signal: int | None = None
        self._registration = Registration.UNKNOWN
        self._found = Registration.UNKNOWN
        """The same, while it is being asked for."""
        self._operator: str | None = None

    def begin(self, notices: str, notify: Ask | None, now: float) -> None:
        """Start over on a phone that was just set up.

        Args:
            notices: What `AT+CNMI?` said then; what it says later is compared with it.
            notify: The command that made it announce messages, None when it took none.
            now: Seconds of the caller's clock.
        """
        self._baseline = notices
        self.notify = notify
        self.rebooted = False
        self._due = {
            Kind.COUNT: now + self._settings.poll_s,
            Kind.LIST: now + self._settings.sweep_s,
            Kind.SIGNAL: now,
            Kind.CHECK: now + CHECK_S,
        }
        self._queue.clear()
        self.add(Kind.OPERATOR, now)

    def __bool__(self) -> bool:
        """Say whether anything waits."""
        return bool(self._queue)

    def add(self, kind: Kind, now: float, storage: str = "") -> None:
        """Put a question at the end, unless it waits already."""
        if not self._queue:
            self._since = now
        self._queue[kind, storage] = None

    def first(self) -> tuple[Kind, str]:
        """Return the question that waits longest and the storage it is about."""
        return next(iter(self._queue))

    def drop(self, kind: Kind, storage: str = "") -> None:
        """Take a question off the queue, if it is there."""
        self._queue.pop((kind, storage), None)

    @property
    def counts(self) -> bool:
        """Say whether a storage is still to be counted: then the fullest is not known yet."""
        return any(kind is Kind.COUNT for kind, _ in self._queue)

    def overdue(self, now: float) -> bool:
        """Say whether the questions have waited behind messages for long enough."""
        return bool(self._queue) and now >= self._since + self._settings.heartbeat_s

    # --- the clock -------------------------------------------------------------------------

    def deadline(self) -> float:
        """Return when something is due by the clock."""
        return min(self._due.values())

    def tick(self, now: float) -> frozenset[Kind]:
        """Queue what has become due; return whether lists and counts are among it."""
        due, settings = self._due, self._settings
        if now < min(due.values()):
            return frozenset()
        reached = frozenset(kind for kind, at_s in due.items() if now >= at_s)
        if Kind.LIST in reached:
            due[Kind.LIST] = now + settings.sweep_s
            self.add(Kind.OPERATOR, now)
        if Kind.COUNT in reached:
            due[Kind.COUNT] = now + settings.poll_s
        if Kind.SIGNAL in reached:
            due[Kind.SIGNAL] = now + settings.heartbeat_s
            self.add(Kind.SIGNAL, now)
            self.add(Kind.REGISTRATION, now)
        if Kind.CHECK in reached:
            due[Kind.CHECK] = now + CHECK_S
            if self._baseline:
                self.add(Kind.CHECK, now)
        return reached

    def count_soon(self, now: float) -> None:
        """Look at the counts soon: something is on the phone that was not read."""
        self._due[Kind.COUNT] = min(self._due[Kind.COUNT], now + RETRY_S)

    def list_at(self, at_s: float) -> None:
        """List every storage by then, on the clock's own account."""
        self._due[Kind.LIST] = min(self._due[Kind.LIST], at_s)

    def count_late(self, now: float) -> None:
        """Put the counts off: everything was just listed."""
        self._due[Kind.COUNT] = max(self._due[Kind.COUNT], now + self._settings.poll_s)

    # --- what the phone answers ------------------------------------------------------------

    def done(self, kind: Kind, answer: Answer, line: str, fill: at.Fill | None) -> Health | None:
        """Take an answer; return how the phone fares when that was the last question about it."""
        self.drop(kind)
        if kind is Kind.SIGNAL:
            self._signal = at.csq_signal(line)
        elif kind is Kind.OPERATOR:
            self._operator = at.operator_name(line)
        elif kind is Kind.CHECK:
            self.rebooted = answer.ok and line != self._baseline and bool(self._baseline)
        elif kind in _REGISTERS:
            return self._registered(kind, line, fill)
        return None

    def _registered(self, kind: Kind, line: str, fill: at.Fill | None) -> Health | None:
        """Take what one register says; ask the next one while none says that messages can come."""
        stat = at.registration_stat(line)
        found = _REGISTRATIONS.get(-1 if stat is None else stat, Registration.UNKNOWN)
        if kind is Kind.REGISTRATION or found.receives:
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
