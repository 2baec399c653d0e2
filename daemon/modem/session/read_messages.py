"""Command scheduler of an AT session after the start: reads messages, empties slots, sweeps, asks for health.

One command is under way at a time. `next` chooses it by priority: notices, slots to empty, lists,
health; health waits while there is other work, up to a limit. A slot is emptied by two commands:
it is read again, and only if it still holds the stored message is this one slot deleted. A
message that could not be read stays on the phone and is read by a later sweep.

Periodic questions are in `health`, the state of the storages in `storages`.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from daemon.modem.session import at
from daemon.modem.session.at import CommandAnswer, ModemCommand
from daemon.modem.session.events import Event, Freed, KeptOnPhone, NetworkClock, PartsRead, SessionSettings, StoredPart
from daemon.modem.session.health import STORAGE_FREE_COMMANDS, PeriodicCommands, Purpose
from daemon.modem.session.sim import SimWatch
from daemon.modem.session.start import SessionSetup
from daemon.modem.session.storages import LIST, READ, DeleteRetries, Key, MessageListParser, Slots, Storages

BATCH: Final = 64
"""Parts handed out together while a list is still being received."""
LIST_TIMEOUT_S: Final = 30.0
"""Until the next entry of a list, not for the whole list."""
DELETE_TIMEOUT_S: Final = 10.0
"""A SIM takes 1 to 5 s to delete."""
SWEEP_S_MIN: Final = 1.0
"""Between two sweeps that a phone triggers, so that a phone that triggers without end is not listed without end."""
NOTICES_MAX: Final = 4096
"""Beyond this number notices are dropped and a sweep is made instead."""
TRIES_MAX: Final = 2
UNCLEAN_MAX: Final = 3
"""After so many consecutive lists with unreadable entries only sweeps list the storage, since a list takes long."""
LISTS_MAX: Final = 2
"""After so many lists in a row that fail, or lack what the storage counts, its slots are read one by one."""
SINGLY_EVERY_S: Final = 300.0
"""Between two such readings of a storage: they take a command for each slot."""
SLOTS_MAX: Final = 255
DELETE_FAILS_TOLD: Final = 3
"""Slots in a row that the phone does not empty, before the owner is told."""
_OWN: Final = frozenset({2, 3})
"""`<stat>` of outgoing messages, unsent or sent (27.005 clause 3.1)."""
REPORTS: Final = "SR"
_ACKNOWLEDGE: Final = ModemCommand("AT+CNMA", "+CNMA:")
_DELETE_READ: Final = ModemCommand("AT+CMGD=1,1", "+CMGD:", 60.0)
"""Empties all slots with a read message. Flags 2 to 4 would delete what was never read, or what is not ours."""
_COUNT: Final = ModemCommand("AT+CPMS?", "+CPMS:")
_LIST: Final = ModemCommand("AT+CMGL=4", LIST, LIST_TIMEOUT_S)
_PREFIXED: Final = {kind: ask.prefix for kind, ask in STORAGE_FREE_COMMANDS.items()}


class CommandScheduler:
    """Queues of a session and the command under way."""

    def __init__(self, settings: SessionSettings, events: list[Event]) -> None:
        """Start idle; `events` is the session's list, to which events are appended."""
        self.confused = False
        """The phone answered a different command: answers are out of step. The session
        resynchronises and clears this flag."""
        self.moved = False
        """A list entry arrived: the phone is slow, not gone."""
        self._settings = settings
        self._events = events
        self._slots = Slots(delete=settings.delete)
        self._refusals = DeleteRetries()
        self._deletes_siblings = False
        self._storages = Storages()
        self._periodic = PeriodicCommands(settings)
        self._sim = SimWatch()
        self._notices: dict[Key, int] = {}
        """Slots to read at once and their tries so far, in the order of announcement."""
        self._damaged: dict[Key, str] = {}
        """PDU of a slot that did not fit its header; the same PDU twice is taken as the slot's content."""
        self._acknowledges = False
        self._unacknowledged = 0
        """Number of durable messages in no slot that the network waits to have acknowledged."""
        self._failed_lists: dict[str, int] = {}
        """Lists in a row that failed, or lacked what the storage counts."""
        self._singly_at: dict[str, float] = {}
        self._single: dict[str, set[int]] = {}
        """Slots of a storage that are read one by one because its list does not show them."""
        self._refused_slots: dict[str, dict[int, str]] = {}
        """Those that could not be read, and why."""
        self._delete_fails = 0
        """Slots in a row that the phone did not empty."""
        self._bulk: list[StoredPart] = []
        """What the last list showed, if all of it is durable and the phone does not empty single slots."""
        self._verified: StoredPart | None = None
        self._now = 0.0
        self._swept_at = float("-inf")
        self._full_again = False
        """The phone reported a full storage again, too soon after the last sweep."""
        # The command under way and its answer so far.
        self._kind: Purpose | None = None
        self._where = ""
        self._what: StoredPart | Key | None = None
        self._entries = MessageListParser()
        self._found: tuple[at.Header, str] | None = None
        self._lines: list[str] = []
        self._seen: set[int] = set()
        self._own_seen = 0
        self._batch: list[StoredPart] = []

    def begin(self, setup: SessionSetup, now: float) -> None:
        """Start on a phone that was just set up: sweep all storages, ask for health."""
        self._deletes_siblings = setup.family.deletes_siblings
        self._acknowledges = setup.acknowledges
        self._storages.begin(setup.storages, setup.fill)
        self._sim.begin(setup.sim)
        notify = ModemCommand(f"AT+CNMI={setup.notify}") if setup.notify else None
        self._periodic.begin(setup.notices, notify, now, clock=setup.network_clock)
        self._count(setup.storages[0], setup.fill)
        self.confused = False
        self._forget_command()

    @property
    def rebooted(self) -> bool:
        """Return whether the phone has lost its settings or has another SIM."""
        return self._periodic.rebooted

    def notice(self, key: Key) -> None:
        """Queue an announced slot for reading."""
        if len(self._notices) < NOTICES_MAX:
            self._notices.setdefault(key, 0)
        else:
            self._storages.sweep()

    @property
    def has_notices(self) -> bool:
        """Return whether announced slots are still unread."""
        return bool(self._notices)

    def sweep(self, now: float) -> bool:
        """List every storage soon: a notice was unusable or may be missing.

        Some phones trigger this with each answer to a list, so sweeps are at least `SWEEP_S_MIN`
        apart. Return False when this sweep is postponed for that.
        """
        again = self._swept_at + SWEEP_S_MIN
        if now < again:
            self._periodic.list_at(again)
            return False
        self._swept_at = now
        self._storages.sweep()
        return True

    def full(self, storage: str, now: float) -> None:
        """Empty that storage first (all storages if none is named), then enable notices again."""
        self._storages.full(storage)
        self._full_again = not self.sweep(now)
        if not self._full_again:
            self._notify(now)

    def _notify(self, now: float) -> None:
        if self._periodic.notify is not None:
            self._periodic.add(Purpose.NOTIFY, now)

    def list_reports(self) -> None:
        """List the storage of status reports: the storage or slot in `+CDSI` is often wrong (babca#106)."""
        self._storages.to_list[REPORTS] = None

    def check(self, now: float) -> None:
        """Check soon whether the phone rebooted."""
        self._periodic.add(Purpose.CHECK, now)

    def inspect(self, now: float) -> None:
        """Queue all health questions: the next `Health` is fresh."""
        for storage in self._storages.usable:
            self._periodic.add(Purpose.COUNT, now, storage)
        for kind in (Purpose.OPERATOR, Purpose.SIGNAL, Purpose.REGISTRATION):
            # Moved to the end of the queue: `Health` is emitted with the last one.
            self._periodic.drop(kind)
            self._periodic.add(kind, now)

    def stored(self, parts: Sequence[StoredPart]) -> None:
        """Mark parts as durable."""
        for part in parts:
            if part.storage:
                self._slots.stored(part)
            elif self._acknowledges:
                self._unacknowledged += 1

    def deadline(self) -> float:
        """Return when something is due by the clock."""
        return min(self._periodic.deadline(), self._refusals.deadline())

    def tick(self, now: float) -> None:
        """Queue the work that is due."""
        self._now = now
        for part in self._refusals.due(now):
            self._slots.again(part)
        self._sim.tick(now)
        due = self._periodic.tick(now)
        if Purpose.LIST in due:
            self._storages.retry()
            self._swept_at = now
            self._storages.sweep()
            if self._full_again:
                self._full_again = False
                self._notify(now)
        if Purpose.COUNT in due:
            self._count_all()
        if Purpose.CHECK in due and self._sim.question is not None:
            self._periodic.add(Purpose.SIM, now)

    def _count_all(self) -> None:
        for storage in self._storages.usable:
            self._periodic.add(Purpose.COUNT, self._now, storage)

    def next(self, now: float) -> ModemCommand | None:  # noqa: C901, PLR0911, PLR0912 - the order is the point
        """Choose the next command, None when there is nothing to do now."""
        self._now = now
        if self._bulk:  # straight after the list: what came since is unread, and stays
            return self._command(_DELETE_READ, Purpose.DELETE_READ, self._bulk[0].storage)
        if self._periodic.overdue(now):
            return self._next_periodic()
        if self._unacknowledged:
            # Once: if it is lost, the network delivers the message again, and it is recognised as stored.
            self._unacknowledged -= 1
            return self._command(_ACKNOWLEDGE, Purpose.ACKNOWLEDGE)
        if self._notices:
            key = next(iter(self._notices))
            return self._ask_sim() or self._on(key[0]) or self._read(Purpose.READ, key)
        if self._siblings_first():
            if self._lists_now():
                return self._next_list()
            return self._next_periodic() if self._periodic else None
        if (part := self._verified) is not None:
            return self._on(part.storage) or self._command(
                ModemCommand(f"AT+CMGD={part.index}", "+CMGD:", DELETE_TIMEOUT_S), Purpose.DELETE, part.storage, part
            )
        while (part := self._slots.next_to_free(self._storages.next_to_empty())) is not None:
            if self._storages.is_refused(part.storage):
                self._slots.keep(part)
                self._kept(part, f"the phone refuses to select its storage {part.storage}")
                continue
            if (select := self._on(part.storage)) is not None:
                self._slots.again(part)
                return select
            return self._read(Purpose.VERIFY, (part.storage, part.index), part)
        if self._lists_now():
            return self._next_list()
        if self._periodic:
            return self._next_periodic()
        if self._settings.delete and self._slots.unstored(self._storages.selected):
            return None  # a slot of it will be emptied in a moment: keep it selected
        return self._on(self._storages.first)

    def _lists_now(self) -> bool:
        """Return whether to list a storage next; queued counts come first, to find the fullest."""
        return bool(self._storages.to_list) and not self._periodic.counts

    def _siblings_first(self) -> bool:
        """Return whether deleting must wait: it would also delete parts that are not durable yet."""
        if not self._deletes_siblings:
            return False
        return bool(self._storages.to_list) or any(self._slots.unstored(name) for name in self._storages.all)

    def _next_list(self) -> ModemCommand:
        storage = self._storages.next_to_list()
        return self._ask_sim() or self._on(storage) or self._list(storage)

    def _next_periodic(self) -> ModemCommand:
        kind, storage = self._periodic.first()
        if kind is Purpose.SIM and self._sim.question is not None:
            return self._command(self._sim.question.ask, kind)
        if kind is Purpose.NOTIFY and self._periodic.notify is not None:
            return self._command(self._periodic.notify, kind)
        if kind is not Purpose.COUNT:
            return self._command(STORAGE_FREE_COMMANDS[kind], kind)
        return self._on(storage, Purpose.COUNT) or self._command(_COUNT, Purpose.COUNT, storage)

    def _ask_sim(self) -> ModemCommand | None:
        """Return the command that identifies the SIM if it is due before messages are read; else None."""
        ask = self._sim.to_ask(self._now)
        return None if ask is None else self._command(ask, Purpose.SIM)

    def _on(self, storage: str, kind: Purpose = Purpose.SELECT) -> ModemCommand | None:
        """Return the command that selects and counts the storage; None when it is already selected."""
        if storage == self._storages.selected:
            return None
        # With one name the storage for received messages stays as it is.
        return self._command(ModemCommand(f'AT+CPMS="{storage}"', "+CPMS:"), kind, storage)

    def _read(self, kind: Purpose, key: Key, part: StoredPart | None = None) -> ModemCommand:
        self._entries.begin(READ)
        self._found = None
        return self._command(ModemCommand(f"AT+CMGR={key[1]}", READ), kind, key[0], part or key)

    def _list(self, storage: str) -> ModemCommand:
        self._entries.begin(LIST)
        self._seen.clear()
        self._own_seen = 0
        return self._command(_LIST, Purpose.LIST, storage)

    def _command(
        self, ask: ModemCommand, kind: Purpose, where: str = "", what: StoredPart | Key | None = None
    ) -> ModemCommand:
        self._kind, self._where, self._what = kind, where, what
        self._lines.clear()
        return ask

    def line(self, line: str) -> bool:
        """Process a line while a command is under way; False when it is not part of the answer."""
        if self._entries.is_part(line):
            if (found := self._entries.take(line)) is not None:
                if self._kind is Purpose.LIST:
                    self._take_entry(*found)
                else:
                    self._found = found
            return True
        if line.startswith("+CPMS:"):
            self.confused |= self._kind not in {Purpose.SELECT, Purpose.COUNT}
        elif self._kind is Purpose.SIM:
            if not self._sim.is_fact(line):
                return False
        elif self._kind not in _PREFIXED or not line.startswith(_PREFIXED[self._kind]):
            return False
        self._lines.append(line)
        return True

    def _take_entry(self, header: at.Header, pdu: str) -> None:
        self.moved = True
        self._seen.add(header.index)
        if header.status in _OWN:
            self._own_seen += 1
            return
        key = (self._where, header.index)
        if not at.fits(header.length, pdu):
            # Perhaps a truncated line, or a record that is not a message: read it once more.
            self._damaged[key] = pdu
            self.notice(key)
            return
        self._hand_out(StoredPart(*key, header.status, header.length, pdu))
        if len(self._batch) >= BATCH:
            self._flush()

    def _hand_out(self, part: StoredPart) -> None:
        if self._refusals.came_back(part):
            self._kept(part, "the phone reports the message as deleted, but keeps it")
        new, gone = self._slots.hand_out(part)
        if gone is not None:
            self._kept(gone, "the slot holds another message now")
        if new:
            self._batch.append(part)

    def _kept(self, part: StoredPart, why: str, *, tell: bool = False) -> None:
        if self._refusals.is_news(part, why):
            self._events.append(KeptOnPhone(part, why, tell))

    def _freed(self, part: StoredPart) -> None:
        self._delete_fails = 0
        self._slots.strike(part)
        self._refusals.emptied(part)
        self._events.append(Freed(part))
        if self._storages.is_high(part.storage):
            self._periodic.count_soon(self._now)

    def _not_freed(self, part: StoredPart, what: str, answer: CommandAnswer) -> None:
        """Retry soon if the error is transient, else leave the slot to the next sweep."""
        if not self._refusals.postpone(part, answer.error, self._now):
            self._slots.keep(part)
            self._delete_fails += 1
            # The SIM fills up, and then no payment message comes.
            tell = self._delete_fails >= DELETE_FAILS_TOLD
            if self._delete_fails == DELETE_FAILS_TOLD:
                self._storages.to_list[part.storage] = None
            self._kept(part, f"{what}: {answer.why}", tell=tell)

    def _flush(self) -> None:
        if self._batch:
            self._events.append(PartsRead(tuple(self._batch)))
            self._batch.clear()

    def done(self, answer: CommandAnswer) -> None:
        """Process the end of the answer to the command under way."""
        kind, self._kind = self._kind, None
        assert kind is not None, "an answer without a command"
        self._entries.end()
        if self._entries.confused or self.confused:
            self.confused = True
            self._put_back(kind)
        elif kind is Purpose.READ:
            self._done_read(answer)
        elif kind is Purpose.VERIFY:
            self._done_verify(answer)
        elif kind is Purpose.DELETE:
            self._done_delete(answer)
        elif kind is Purpose.DELETE_READ:
            bulk, self._bulk = self._bulk, []
            for part in bulk if answer.ok else ():
                self._freed(part)
        elif kind is Purpose.LIST:
            self._done_list(answer)
        elif kind in {Purpose.SELECT, Purpose.COUNT}:
            self._done_count(kind, answer)
        else:
            self._done_chore(kind, answer)
        self._entries.begin("")

    def lost(self) -> None:
        """Handle a missing or unreliable answer to the command under way."""
        kind, self._kind = self._kind, None
        self._entries.begin("")
        if kind is not None:
            self._put_back(kind)

    def _put_back(self, kind: Purpose) -> None:
        part = self._what
        self._flush()
        self._bulk.clear()
        self._verified = None
        if isinstance(part, StoredPart):
            self._slots.again(part)
        self._periodic.drop(kind, self._where if kind is Purpose.COUNT else "")
        if kind in {Purpose.SELECT, Purpose.COUNT}:
            self._storages.selected = ""

    def _done_read(self, answer: CommandAnswer) -> None:
        key = self._what
        assert isinstance(key, tuple)
        tries = self._notices.pop(key) + 1
        single = key[1] in self._single.get(key[0], ())
        if self._found is None:
            empty = answer.ok and not self._entries.headers and self._entries.clean
            failed = not empty and answer.code != at.EMPTY_SLOT
            if failed and not single:
                self._periodic.count_soon(self._now)
            if single:
                self._done_single(key, answer.why if failed else "")
            return
        if single:
            self._done_single(key, "")
        header, pdu = self._found
        if header.status in _OWN:
            return
        whole = at.fits(header.length, pdu)
        if not whole and self._damaged.get(key) != pdu:
            self._damaged[key] = pdu
            if tries < TRIES_MAX:
                self._notices[key] = tries
            else:
                self._periodic.count_soon(self._now)
            return
        self._damaged.pop(key, None)
        self._hand_out(StoredPart(*key, header.status, header.length, pdu))
        self._flush()

    def _done_verify(self, answer: CommandAnswer) -> None:
        part = self._what
        assert isinstance(part, StoredPart)
        if self._found is not None:
            if self._found[1] == part.pdu:
                self._verified = part
            else:
                self._slots.strike(part)
                self._kept(part, "the slot holds another message now")
                self._periodic.count_soon(self._now)
        elif answer.code == at.EMPTY_SLOT or (answer.ok and not self._entries.headers and self._entries.clean):
            self._freed(part)
        else:
            self._not_freed(part, "the slot could not be read again", answer)
            self._periodic.count_soon(self._now)

    def _done_delete(self, answer: CommandAnswer) -> None:
        part, self._verified = self._verified, None
        assert part is not None
        if answer.ok:
            self._freed(part)
        else:
            self._not_freed(part, "the phone refused to delete it", answer)

    def _done_list(self, answer: CommandAnswer) -> None:
        self._storages.to_list.pop(self._where, None)
        self._flush()
        if not answer.ok:
            # In text mode the answer is ERROR: the phone may have lost its settings.
            self._periodic.add(Purpose.MODE, self._now)
            self._periodic.add(Purpose.CHECK, self._now)
            self._periodic.count_soon(self._now)
            self._list_failed(self._where)
            return
        if self._entries.clean and len(self._seen) < self._storages.used(self._where):
            self._list_failed(self._where)
        else:
            self._failed_lists.pop(self._where, None)
        self._storages.own[self._where] = self._own_seen
        if self._entries.clean:
            self._slots.settle(self._where, self._seen)
            fails = self._settings.delete and self._delete_fails >= DELETE_FAILS_TOLD
            # A slot that the list does not show may hold a message that was read and is not stored.
            if fails and len(self._seen) >= self._storages.used(self._where):
                self._bulk = self._slots.all_durable(self._where, self._seen)
            if self._storages.clean(self._where):
                self._periodic.count_late(self._now)
        else:
            self._unreadable(self._where, self._entries.headers - len(self._seen))

    def _list_failed(self, storage: str) -> None:
        """Read the slots of a storage one by one, when its list fails again or lacks messages again."""
        times = self._failed_lists[storage] = self._failed_lists.get(storage, 0) + 1
        due = self._singly_at.get(storage, float("-inf")) + SINGLY_EVERY_S
        if times < LISTS_MAX or self._now < due or self._single.get(storage):
            return
        self._singly_at[storage] = self._now
        # Most makes count from 1, some from 0.
        total = min(self._storages.total(storage) or SLOTS_MAX, SLOTS_MAX)
        slots = [n for n in range(total + 1) if not self._slots.holds((storage, n))]
        self._single[storage], self._refused_slots[storage] = set(slots), {}
        for slot in slots:
            self.notice((storage, slot))

    def _done_single(self, key: Key, why: str) -> None:
        """Note the end of one of these readings, and after the last one tell what cannot be read."""
        storage, slot = key
        self._single[storage].discard(slot)
        if why:
            self._refused_slots[storage][slot] = why
        if self._single[storage]:
            return
        refused = self._refused_slots.pop(storage)
        lacking = self._storages.used(storage) - self._slots.count(storage)
        lacking -= self._storages.own.get(storage, 0)
        if lacking <= 0:
            return
        text = f"{lacking} of its messages cannot be read"
        # Some makes refuse empty slots too, so only as many as lack are named.
        if refused and len(refused) <= lacking:
            text = "; ".join(f"slot {n} cannot be read: {why}" for n, why in refused.items())
        self._kept(StoredPart(storage, -1, 0, 0, ""), text, tell=True)

    def _unreadable(self, storage: str, count: int) -> None:
        """Retry a storage after its list had unreadable entries, at growing intervals."""
        times = self._storages.unclean(storage)
        if times == 1:
            self._periodic.count_soon(self._now)
        elif times >= UNCLEAN_MAX:
            # Counted as known, because the difference would trigger a list at each poll; the sweep is enough.
            self._storages.own[storage] += max(0, count)
            if times == UNCLEAN_MAX:
                nameless = StoredPart(storage, -1, 0, 0, "")
                self._kept(nameless, f"{max(1, count)} of its messages cannot be read", tell=True)

    def _done_count(self, kind: Purpose, answer: CommandAnswer) -> None:
        storage = self._where
        polled = kind is Purpose.COUNT
        if polled:
            self._periodic.drop(kind, storage)
        if not answer.ok:
            self._unusable(storage)
            return
        fill = next(iter(at.cpms_fills(self._lines[0])), None) if self._lines else None
        self._storages.selected = fill.storage if fill is not None and fill.storage else storage
        if self._storages.selected != storage:
            self._periodic.add(Purpose.CHECK, self._now)
            return
        self._count(storage, fill)
        own = self._storages.own.get(storage, 0)
        known = self._slots.count(storage) + own + len(self._notices)
        if polled and (fill is None or fill.used > known):
            self._storages.to_list[storage] = None

    def _count(self, storage: str, fill: at.Fill | None) -> None:
        if (mark := self._storages.count(storage, fill)) is not None:
            self._events.append(mark)

    def _unusable(self, storage: str) -> None:
        """Continue without a storage that the phone refuses; if it is the first, start over."""
        if storage == self._storages.first:
            self._periodic.rebooted = True
            return
        self._storages.refuse(storage)
        if self._verified is not None and self._verified.storage == storage:
            self._slots.again(self._verified)
            self._verified = None
        self._notices = {k: tries for k, tries in self._notices.items() if k[0] != storage}

    def _done_chore(self, kind: Purpose, answer: CommandAnswer) -> None:
        line = self._lines[0] if self._lines else ""
        if kind is Purpose.SIM:
            self._periodic.drop(kind)
            self._periodic.rebooted |= self._sim.changed(answer, line)
            return
        if kind is Purpose.CLOCK and answer.ok and (at_us := at.clock_us(line)) is not None:
            self._events.append(NetworkClock(at_us))
        health = self._periodic.done(kind, answer, line, self._storages.fill)
        if health is not None:
            self._events.append(replace(health, storages=self._storages.counted))
        elif kind is Purpose.NOTIFY:
            self._count_all()  # messages that arrived meanwhile were not announced

    def _forget_command(self) -> None:
        self._kind = self._what = self._verified = None
        self._bulk.clear()
        self._entries.begin("")
        self._batch.clear()
