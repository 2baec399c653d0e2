"""`GET /dash/events`: changes in the shop, for every open tab. One reader of the journal serves all tabs.

Each event names its kind (`now`, `review`, `line`, `delivery`) and carries a version and one sentence for screen readers;
the page that is shown then fetches itself again. The rows of the journal that are read at once make one event of each kind.
A stream ends with its session. A part of a page that many tabs then fetch is made once, for all users of a role in a language.
"""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Final

from msgspec import Struct
from starlette.types import Receive, Send

from daemon.core.access import sessions
from daemon.core.errors import Unavailable
from daemon.core.json_values import dump
from daemon.core.limits import SECOND_US
from daemon.core.model import Event, Payment
from daemon.dash.web.sending import HEADERS
from daemon.dash.web.visit import LivePart, Machine, Visit
from daemon.env import Env
from daemon.runtime import sse
from daemon.runtime.page_response import PageResponse
from daemon.store import journal
from daemon.store.access import users
from daemon.store.engine import Reader
from daemon.store.payments import payments
from daemon.wire import Mode

STREAMS_MAX: Final = 60
SESSION_STREAMS_MAX: Final = 4
"""A browser opens at most six connections to a host; with a stream in each the next page would never come."""
KEPT_MAX: Final = 200
REST_S: Final = 0.1
"""A busy shop commits often; a tab is told at most ten times a second."""
AFTER_COMMIT_S: Final = 0.04
"""Tabs are told this long after a commit: their pages take processor time, and the webhook of the payment goes first."""
BEAT_S: Final = 2.0
"""A page that hears nothing for five seconds says that the daemon cannot be reached."""
_BEAT: Final = b"event: beat\ndata: {}\n\n"
LINES_EVERY_S: Final = 5.0
"""The modems are looked at this often while a tab is open: their state is not in the journal."""
_KINDS: Final = (
    ("review.", ("review", "now")), ("delivery.", ("delivery", "now")), ("endpoint.", ("delivery", "now")),
    ("sim.", ("line", "now")), ("modem.", ("line", "now")), ("payment_method.", ("line", "now")),
    ("payment.", ("now",)), ("transaction.", ("now",)), ("message.", ("now",)), ("notice.", ("now",)),
    ("balance.", ("now",)),
)  # fmt: skip
_MONEY: Final = frozenset({"transaction.verified", "payment.walk_in", "review.opened"})


class News(Struct, frozen=True):
    """One event for tabs: its number, the kind and the mode of pages that it changes, the words' key and the payment of its sentence."""

    number: int
    kind: str
    mode: Mode
    key: str = ""
    payment: Payment | None = None


class TabStream:
    """Reads the journal for all open tabs."""

    def __init__(self, env: Env, machine: Machine, stopping: asyncio.Event) -> None:
        self._env = env
        self._machine = machine
        self._stopping = stopping
        self._news: deque[News] = deque(maxlen=KEPT_MAX)
        self._number = 0
        self._tabs: dict[asyncio.Event, str] = {}
        """The wake of each tab, and its session."""
        self._reading: asyncio.Task[None] | None = None
        self._lines = ""

    async def run(self, visit: Visit, receive: Receive, send: Send) -> None:
        """Send until the visitor leaves, the session ends or the daemon stops.

        If there are too many streams, and to users of one branch, nothing is sent: the script asks every few seconds instead.
        """
        assert visit.who is not None
        session = visit.who.session.id
        mine = sum(one == session for one in self._tabs.values())
        of_branch = visit.caller.branch_id is not None  # the stream tells of every branch
        if of_branch or len(self._tabs) >= STREAMS_MAX or mine >= SESSION_STREAMS_MAX:
            await PageResponse(HTTPStatus.NO_CONTENT, b"", base=HEADERS).send(visit.scope, send)
            return
        wake = asyncio.Event()
        self._tabs[wake] = session
        stops = self._env.store.subscribe(users.TOPIC, wake.set)
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read(), name="dashboard events")
        told = self._number
        try:
            async with sse.opened(receive, send, self._stopping, HEADERS) as stream:
                await stream.send(b"retry: 2000\n\n: open\n\n")
                while not stream.over:
                    wake.clear()
                    if not await _is_open(visit):
                        await stream.send(sse.event(b"0", b"over", b"{}"))
                        break
                    for news in [one for one in self._news if one.number > told]:
                        told = news.number
                        if news.mode is visit.mode:
                            await stream.send(_told(visit, news))
                    await stream.rest(REST_S)
                    await stream.wait(wake, BEAT_S, _BEAT)
        finally:
            stops()
            del self._tabs[wake]
            if not self._tabs and self._reading is not None:
                self._reading.cancel()
                self._reading = None

    async def _read(self) -> None:
        """Read the journal after each commit, and the state of the modems now and again."""
        store, changed = self._env.store, asyncio.Event()
        unsubscribe = store.subscribe(journal.TOPIC, changed.set)
        self._lines = self._line_states()
        try:
            seq = await store.read(journal.last_seq)
            while True:
                try:
                    async with asyncio.timeout(LINES_EVERY_S):
                        await changed.wait()
                except TimeoutError:
                    self._look_at_lines()
                    continue
                await asyncio.sleep(AFTER_COMMIT_S)
                changed.clear()
                try:
                    seq = await self._tell_after(seq)
                except Unavailable:
                    await asyncio.sleep(LINES_EVERY_S)
        finally:
            unsubscribe()

    async def _tell_after(self, seq: int) -> int:
        def read(reader: Reader) -> list[tuple[Event, Payment | None]]:
            return [
                (event, payments.get(reader, event.payment_id or "") if event.type in _MONEY else None)
                for event in journal.after(reader, seq)
            ]

        found = await self._env.store.read(read)
        news: dict[tuple[str, Mode], tuple[str, Payment | None]] = {}
        for event, payment in found:
            key = f"news_{event.type.replace('.', '_')}"
            for kind in next((kinds for head, kinds in _KINDS if event.type.startswith(head)), ()):
                # The last sentence stays; a row without one does not remove it.
                if payment is not None or (kind, event.mode) not in news:
                    news[kind, event.mode] = key, payment
        self._add(news)
        return found[-1][0].seq if found else seq

    def _line_states(self) -> str:
        states = [(phone.port, str(phone.state)) for phone in self._machine.phone_states()]
        return json.dumps(sorted(states))

    def _look_at_lines(self) -> None:
        before, self._lines = self._lines, self._line_states()
        if before != self._lines:
            self._add({(kind, Mode.LIVE): ("", None) for kind in ("line", "now")})

    def _add(self, news: Mapping[tuple[str, Mode], tuple[str, Payment | None]]) -> None:
        for (kind, mode), (key, payment) in news.items():
            self._number += 1
            self._news.append(News(self._number, kind, mode, key, payment))
        for wake in self._tabs:
            wake.set()


async def _is_open(visit: Visit) -> bool:
    """Return whether the session still stands: it was not ended, its user not disabled, and it was not switched to the sandbox."""
    assert visit.who is not None
    sha256, now = visit.who.session.sha256, visit.env.clock.now_us()
    try:
        found = await visit.env.store.look(lambda reader: users.session_with(reader, sha256))
    except Unavailable:
        return True
    if found is None:
        return False
    session, user = found
    same = session.mode is visit.who.session.mode
    return same and user.disabled_at is None and not sessions.is_over(session, now)


def _told(visit: Visit, news: News) -> bytes:
    """Return one event for a tab, in its language and for its role."""
    say = ""
    if news.payment is not None and news.key and visit.words.has(news.key):
        payment = news.payment
        amount = visit.money(payment.amount_minor, payment.currency)
        say = visit.words(news.key, amount=amount, payer=payment.payer_name or "")
    data = dump({"version": news.number, "say": say})
    return sse.event(b"%d" % news.number, news.kind.encode(), data)


FRESH_US: Final = 10 * SECOND_US
"""A part is made again after this long without a commit: it has times such as `3 min ago`."""
_Key = tuple[str, str, str, Mode, str | None]


class PartCache:
    """Keeps each part until a commit, another state of a modem, or the end of its time."""

    def __init__(self) -> None:
        self._made: dict[_Key, LivePart] = {}
        self._made_for: object = None
        self._making = asyncio.Lock()

    async def get(self, visit: Visit, make: Callable[[], Awaitable[LivePart]]) -> LivePart:
        """Return the part for this visitor, made now if it is not kept. Tabs that ask meanwhile wait for it."""
        key = visit.path, str(visit.role), visit.words.language, visit.mode, visit.caller.branch_id
        async with self._making:
            # Before the part is made: a commit meanwhile has the next version.
            current = (visit.env.store.version, visit.now // FRESH_US, tuple(visit.machine.phone_states()))
            if current != self._made_for:
                self._made, self._made_for = {}, current
            found = self._made.get(key)
            if found is None:
                found = self._made[key] = await make()
            return found
