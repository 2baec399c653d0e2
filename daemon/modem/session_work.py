"""What an AT session does once the phone is set up: read, empty slots, sweep, ask for health.

One command is under way at a time. `next` chooses it: notices first, then slots to empty, then
lists, then health; health waits while there is other work, but not for ever. A slot is emptied in
two commands: it is read again, and only if it still holds the message that was stored is it
deleted, alone. What could not be read stays on the phone and is read by a later sweep.

Longer than other files, since each step hands its outcome to the next by the same few queues. What the
clock asks for is in `session_chores`, what is known of the storages in `session_storages`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from daemon.modem import at
from daemon.modem.session_ask import Answer, Ask
from daemon.modem.session_chores import PLAIN, Chores, Kind
from daemon.modem.session_entries import LIST, READ, Entries
from daemon.modem.session_refusals import Refusals
from daemon.modem.session_sim import SimWatch
from daemon.modem.session_slots import Key, Slots
from daemon.modem.session_start import Setup
from daemon.modem.session_storages import Storages
from daemon.modem.session_values import (
    Event,
    Freed,
    KeptOnPhone,
    PartsRead,
    SessionSettings,
    StoredPart,
)

BATCH: Final = 64
"""Parts handed out together while a list is still coming."""
LIST_TIMEOUT_S: Final = 30.0
"""Until the next entry of a list, not for the whole of it."""
DELETE_TIMEOUT_S: Final = 10.0
"""A SIM takes 1 to 5 s to delete."""
SWEEP_S_MIN: Final = 1.0
"""Between two sweeps that a phone asks for, so that one that never stops is not listed without end."""
NOTICES_MAX: Final = 4096
"""More notices than that are read by a sweep."""
TRIES_MAX: Final = 2
UNCLEAN_MAX: Final = 3
"""So many lists in a row with something unreadable: it will stay so, and lists are dear."""
_OWN: Final = frozenset({2, 3})
"""`<stat>` of messages that were written here, to be sent or sent (27.005 clause 3.1)."""
REPORTS: Final = "SR"
_ACKNOWLEDGE: Final = Ask("AT+CNMA", "+CNMA:")
_COUNT: Final = Ask("AT+CPMS?", "+CPMS:")
_LIST: Final = Ask("AT+CMGL=4", LIST, LIST_TIMEOUT_S)
_PREFIXED: Final = {kind: ask.prefix for kind, ask in PLAIN.items()}


class Work:
    """The queues of a session and the command under way."""

    def __init__(self, settings: SessionSettings, events: list[Event]) -> None:
        """Start with nothing to do; `events` is the session's list, which this adds to."""
        self.confused = False
        """The phone answered another command than the one asked: answers are out of step. It is
        for the session to get in step again and put this back."""
        self.moved = False
        """An entry of a list came: the phone is slow, not gone."""
        self._settings = settings
        self._events = events
        self._slots = Slots(delete=settings.delete)
        self._refusals = Refusals()
        self._deletes_siblings = False
        self._storages = Storages()
        self._chores = Chores(settings)
        self._sim = SimWatch()
        self._notices: dict[Key, int] = {}
        """Slots to read at once, with the tries so far; in the order they were announced."""
        self._damaged: dict[Key, str] = {}
        """What a slot gave when it did not fit its header: twice the same is what it holds."""
        self._acknowledges = False
        self._unacknowledged = 0
        """Durable messages that lie in no slot, whose sender waits to be told."""
        self._verified: StoredPart | None = None
        self._now = 0.0
        self._swept_at = float("-inf")
        self._full_again = False
        """The phone said so since the last sweep, which was too short ago."""
        # The command under way, and what came of it so far.
        self._kind: Kind | None = None
        self._where = ""
        self._what: StoredPart | Key | None = None
        self._entries = Entries()
        self._found: tuple[at.Header, str] | None = None
        self._lines: list[str] = []
        self._seen: set[int] = set()
        self._own_seen = 0
        self._batch: list[StoredPart] = []

    # --- what the session tells ------------------------------------------------------------

    def begin(self, setup: Setup, now: float) -> None:
        """Go to work on a phone that was just set up: sweep all, ask for health."""
        self._deletes_siblings = setup.family.deletes_siblings
        self._acknowledges = setup.acknowledges
        self._storages.begin(setup.storages, setup.fill)
        self._sim.begin(setup.sim)
        notify = Ask(f"AT+CNMI={setup.notify}") if setup.notify else None
        self._chores.begin(setup.notices, notify, now)
        self._count(setup.storages[0], setup.fill)
        self.confused = False
        self._forget_command()

    @property
    def rebooted(self) -> bool:
        """Say whether the phone has forgotten its settings, or has another SIM."""
        return self._chores.rebooted

    def notice(self, key: Key) -> None:
        """Read that slot next."""
        if len(self._notices) < NOTICES_MAX:
            self._notices.setdefault(key, 0)
        else:
            self._storages.sweep()

    @property
    def has_notices(self) -> bool:
        """Say whether slots wait to be read because they were announced."""
        return bool(self._notices)

    def sweep(self, now: float) -> bool:
        """List every storage soon: something says that notices are not to be trusted.

        Some phones say so with each answer to a list, so the next is `SWEEP_S_MIN` later; False
        when this one has to wait for that.
        """
        again = self._swept_at + SWEEP_S_MIN
        if now < again:
            self._chores.list_at(again)
            return False
        self._swept_at = now
        self._storages.sweep()
        return True

    def full(self, storage: str, now: float) -> None:
        """Empty that storage first, all if none is named; then ask for notices once more."""
        self._storages.full(storage)
        self._full_again = not self.sweep(now)
        if not self._full_again:
            self._notify(now)

    def _notify(self, now: float) -> None:
        if self._chores.notify is not None:
            self._chores.add(Kind.NOTIFY, now)

    def list_reports(self) -> None:
        """List where status reports lie; the phone names another place, or a wrong slot (babca#106)."""
        self._storages.to_list[REPORTS] = None

    def check(self, now: float) -> None:
        """Look soon whether the phone rebooted."""
        self._chores.add(Kind.CHECK, now)

    def inspect(self, now: float) -> None:
        """Ask soon how the phone fares, all of it: the next `Health` is fresh."""
        for storage in self._storages.usable:
            self._chores.add(Kind.COUNT, now, storage)
        for kind in (Kind.OPERATOR, Kind.SIGNAL, Kind.REGISTRATION):
            # At the end of the queue: `Health` comes with the last one.
            self._chores.drop(kind)
            self._chores.add(kind, now)

    def stored(self, parts: Sequence[StoredPart]) -> None:
        """Take parts that are durable."""
        for part in parts:
            if part.storage:
                self._slots.stored(part)
            elif self._acknowledges:
                self._unacknowledged += 1

    # --- what to do ------------------------------------------------------------------------

    def deadline(self) -> float:
        """Return when something is due by the clock."""
        return min(self._chores.deadline(), self._refusals.deadline())

    def tick(self, now: float) -> None:
        """Note what has become due."""
        self._now = now
        for part in self._refusals.due(now):
            self._slots.again(part)
        self._sim.tick(now)
        due = self._chores.tick(now)
        if Kind.LIST in due:
            self._storages.retry()
            self._swept_at = now
            self._storages.sweep()
            if self._full_again:
                self._full_again = False
                self._notify(now)
        if Kind.COUNT in due:
            self._count_all()
        if Kind.CHECK in due and self._sim.question is not None:
            self._chores.add(Kind.SIM, now)

    def _count_all(self) -> None:
        for storage in self._storages.usable:
            self._chores.add(Kind.COUNT, self._now, storage)

    def next(self, now: float) -> Ask | None:  # noqa: C901, PLR0911 - the order is the point
        """Choose the next command, None when there is nothing to do now."""
        self._now = now
        if self._chores.overdue(now):
            return self._next_chore()
        if self._unacknowledged:
            # Once: if it is lost, the network delivers the message again, which is known by then.
            self._unacknowledged -= 1
            return self._command(_ACKNOWLEDGE, Kind.ACKNOWLEDGE)
        if self._notices:
            key = next(iter(self._notices))
            return self._ask_sim() or self._on(key[0]) or self._read(Kind.READ, key)
        if self._siblings_first():
            if self._lists_now():
                return self._next_list()
            return self._next_chore() if self._chores else None
        if (part := self._verified) is not None:
            return self._on(part.storage) or self._command(
                Ask(f"AT+CMGD={part.index}", "+CMGD:", DELETE_TIMEOUT_S),
                Kind.DELETE,
                part.storage,
                part,
            )
        while (part := self._slots.next_to_free(self._storages.next_to_empty())) is not None:
            if self._storages.is_refused(part.storage):
                self._slots.keep(part)
                self._kept(part, f"the phone refuses to select its storage {part.storage}")
                continue
            if (select := self._on(part.storage)) is not None:
                self._slots.again(part)
                return select
            return self._read(Kind.VERIFY, (part.storage, part.index), part)
        if self._lists_now():
            return self._next_list()
        if self._chores:
            return self._next_chore()
        if self._settings.delete and self._slots.unstored(self._storages.selected):
            return None  # it will be emptied in a moment, so stay
        return self._on(self._storages.first)

    def _lists_now(self) -> bool:
        """Say whether to list a storage next; counts under way come first, to find the fullest."""
        return bool(self._storages.to_list) and not self._chores.counts

    def _siblings_first(self) -> bool:
        """Say whether deleting has to wait: it would take parts along that are not durable yet."""
        if not self._deletes_siblings:
            return False
        return bool(self._storages.to_list) or any(
            self._slots.unstored(name) for name in self._storages.all
        )

    def _next_list(self) -> Ask:
        storage = self._storages.next_to_list()
        return self._ask_sim() or self._on(storage) or self._list(storage)

    def _next_chore(self) -> Ask:
        kind, storage = self._chores.first()
        if kind is Kind.SIM and self._sim.question is not None:
            return self._command(self._sim.question.ask, kind)
        if kind is Kind.NOTIFY and self._chores.notify is not None:
            return self._command(self._chores.notify, kind)
        if kind is not Kind.COUNT:
            return self._command(PLAIN[kind], kind)
        return self._on(storage, Kind.COUNT) or self._command(_COUNT, Kind.COUNT, storage)

    def _ask_sim(self) -> Ask | None:
        """Return the question who the SIM is, if it is to be asked before messages are read from it."""
        ask = self._sim.to_ask(self._now)
        return None if ask is None else self._command(ask, Kind.SIM)

    def _on(self, storage: str, kind: Kind = Kind.SELECT) -> Ask | None:
        """Return the command that selects the storage (and counts it), None when it is selected."""
        if storage == self._storages.selected:
            return None
        # One name sets where to read and delete, and leaves where received ones go.
        return self._command(Ask(f'AT+CPMS="{storage}"', "+CPMS:"), kind, storage)

    def _read(self, kind: Kind, key: Key, part: StoredPart | None = None) -> Ask:
        self._entries.begin(READ)
        self._found = None
        return self._command(Ask(f"AT+CMGR={key[1]}", READ), kind, key[0], part or key)

    def _list(self, storage: str) -> Ask:
        self._entries.begin(LIST)
        self._seen.clear()
        self._own_seen = 0
        return self._command(_LIST, Kind.LIST, storage)

    def _command(
        self, ask: Ask, kind: Kind, where: str = "", what: StoredPart | Key | None = None
    ) -> Ask:
        self._kind, self._where, self._what = kind, where, what
        self._lines.clear()
        return ask

    # --- what the phone answers ------------------------------------------------------------

    def line(self, line: str) -> bool:
        """Take a line while a command is under way; False when it is no part of its answer."""
        if self._entries.is_part(line):
            if (found := self._entries.take(line)) is not None:
                if self._kind is Kind.LIST:
                    self._take_entry(*found)
                else:
                    self._found = found
            return True
        if line.startswith("+CPMS:"):
            self.confused |= self._kind not in {Kind.SELECT, Kind.COUNT}
        elif self._kind is Kind.SIM:
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
            # Half a line perhaps, or a record that never was a message: read it once more.
            self._damaged[key] = pdu
            self.notice(key)
            return
        self._hand_out(StoredPart(*key, header.status, header.length, pdu))
        if len(self._batch) >= BATCH:
            self._flush()

    def _hand_out(self, part: StoredPart) -> None:
        if self._refusals.came_back(part):
            self._kept(part, "the phone says that it deletes it, and keeps it")
        new, gone = self._slots.hand_out(part)
        if gone is not None:
            self._kept(gone, "the slot holds another message now")
        if new:
            self._batch.append(part)

    def _kept(self, part: StoredPart, why: str) -> None:
        if self._refusals.is_news(part, why):
            self._events.append(KeptOnPhone(part, why))

    def _freed(self, part: StoredPart) -> None:
        self._slots.strike(part)
        self._refusals.emptied(part)
        self._events.append(Freed(part))
        if self._storages.is_high(part.storage):
            self._chores.count_soon(self._now)

    def _not_freed(self, part: StoredPart, what: str, answer: Answer) -> None:
        """Try again soon if the error may pass, else leave the slot to the next sweep."""
        if not self._refusals.postpone(part, answer.error, self._now):
            self._slots.keep(part)
            self._kept(part, f"{what}: {answer.why}")

    def _flush(self) -> None:
        if self._batch:
            self._events.append(PartsRead(tuple(self._batch)))
            self._batch.clear()

    def done(self, answer: Answer) -> None:
        """Take the end of the answer to the command under way."""
        kind, self._kind = self._kind, None
        assert kind is not None, "an answer without a command"
        self._entries.end()
        if self._entries.confused or self.confused:
            self.confused = True
            self._put_back(kind)
        elif kind is Kind.READ:
            self._done_read(answer)
        elif kind is Kind.VERIFY:
            self._done_verify(answer)
        elif kind is Kind.DELETE:
            self._done_delete(answer)
        elif kind is Kind.LIST:
            self._done_list(answer)
        elif kind in {Kind.SELECT, Kind.COUNT}:
            self._done_count(kind, answer)
        else:
            self._done_chore(kind, answer)
        self._entries.begin("")

    def lost(self) -> None:
        """Take it that the answer to the command under way never came, or cannot be trusted."""
        kind, self._kind = self._kind, None
        self._entries.begin("")
        if kind is not None:
            self._put_back(kind)

    def _put_back(self, kind: Kind) -> None:
        part = self._what
        self._flush()
        self._verified = None
        if isinstance(part, StoredPart):
            self._slots.again(part)
        self._chores.drop(kind, self._where if kind is Kind.COUNT else "")
        if kind in {Kind.SELECT, Kind.COUNT}:
            self._storages.selected = ""

    def _done_read(self, answer: Answer) -> None:
        key = self._what
        assert isinstance(key, tuple)
        tries = self._notices.pop(key) + 1
        if self._found is None:
            empty = answer.ok and not self._entries.headers and self._entries.clean
            if not empty and answer.code != at.EMPTY_SLOT:
                self._chores.count_soon(self._now)
            return
        header, pdu = self._found
        if header.status in _OWN:
            return
        whole = at.fits(header.length, pdu)
        if not whole and self._damaged.get(key) != pdu:
            self._damaged[key] = pdu
            if tries < TRIES_MAX:
                self._notices[key] = tries
            else:
                self._chores.count_soon(self._now)
            return
        self._damaged.pop(key, None)
        self._hand_out(StoredPart(*key, header.status, header.length, pdu))
        self._flush()

    def _done_verify(self, answer: Answer) -> None:
        part = self._what
        assert isinstance(part, StoredPart)
        if self._found is not None:
            if self._found[1] == part.pdu:
                self._verified = part
            else:
                self._slots.strike(part)
                self._kept(part, "the slot holds another message now")
                self._chores.count_soon(self._now)
        elif answer.code == at.EMPTY_SLOT or (
            answer.ok and not self._entries.headers and self._entries.clean
        ):
            self._freed(part)
        else:
            self._not_freed(part, "the slot could not be read again", answer)
            self._chores.count_soon(self._now)

    def _done_delete(self, answer: Answer) -> None:
        part, self._verified = self._verified, None
        assert part is not None
        if answer.ok:
            self._freed(part)
        else:
            self._not_freed(part, "the phone refused to delete it", answer)

    def _done_list(self, answer: Answer) -> None:
        self._storages.to_list.pop(self._where, None)
        self._flush()
        if not answer.ok:
            # In text mode it says ERROR: the phone may have forgotten what it was told.
            self._chores.add(Kind.MODE, self._now)
            self._chores.add(Kind.CHECK, self._now)
            self._chores.count_soon(self._now)
            return
        self._storages.own[self._where] = self._own_seen
        if self._entries.clean:
            self._slots.settle(self._where, self._seen)
            if self._storages.clean(self._where):
                self._chores.count_late(self._now)
        else:
            self._unreadable(self._where, self._entries.headers - len(self._seen))

    def _unreadable(self, storage: str, count: int) -> None:
        """Look again at what a list did not show well, more and more patiently."""
        times = self._storages.unclean(storage)
        if times == 1:
            self._chores.count_soon(self._now)
        elif times >= UNCLEAN_MAX:
            # The counts would ask for a list at each poll; the slow sweep is enough now.
            self._storages.own[storage] += max(0, count)
            if times == UNCLEAN_MAX:
                nameless = StoredPart(storage, -1, 0, 0, "")
                self._kept(nameless, f"{max(1, count)} of its messages cannot be read")

    def _done_count(self, kind: Kind, answer: Answer) -> None:
        storage = self._where
        polled = kind is Kind.COUNT
        if polled:
            self._chores.drop(kind, storage)
        if not answer.ok:
            self._unusable(storage)
            return
        fill = next(iter(at.cpms_fills(self._lines[0])), None) if self._lines else None
        self._storages.selected = fill.storage if fill is not None and fill.storage else storage
        if self._storages.selected != storage:
            self._chores.add(Kind.CHECK, self._now)
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
        """Go on without a storage that the phone refuses; without the first, start over."""
        if storage == self._storages.first:
            self._chores.rebooted = True
            return
        self._storages.refuse(storage)
        if self._verified is not None and self._verified.storage == storage:
            self._slots.again(self._verified)
            self._verified = None
        self._notices = {k: tries for k, tries in self._notices.items() if k[0] != storage}

    def _done_chore(self, kind: Kind, answer: Answer) -> None:
        line = self._lines[0] if self._lines else ""
        if kind is Kind.SIM:
            self._chores.drop(kind)
            self._chores.rebooted |= self._sim.changed(answer, line)
            return
        health = self._chores.done(kind, answer, line, self._storages.fill)
        if health is not None:
            self._events.append(replace(health, storages=self._storages.counted))
        elif kind is Kind.NOTIFY:
            self._count_all()  # what came meanwhile was not announced

    def _forget_command(self) -> None:
        self._kind = self._what = self._verified = None
        self._entries.begin("")
        self._batch.clear()
