"""Gather what the owner has to be told from the journal, and keep what goes out about it."""

import functools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any
from zoneinfo import ZoneInfo

from daemon.core.model import Event, NoticeRow, Shop
from daemon.core.notice_rules import RULES, Told, retry_at, tell
from daemon.env import Env
from daemon.store import events, notice_facts, notice_outbox, shop
from daemon.store.engine import Reader, Tx
from daemon.store.notice_outbox import Send
from parsers.when import from_us

BATCH = 500
"""Lines of the journal read at a time."""
SENDS = 10
"""Messages sent at a time."""
SUBJECT_CHARACTERS_MAX = 120
MAIL = "email"
"""The channel whose messages are kept and read elsewhere, perhaps those of several shops in one place."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What one look at the journal found.

    Attributes:
        cursor: How far it was read.
        more: There is more to read at once.
        news: How many messages were queued.
    """

    cursor: int
    more: bool
    news: int


async def gather(env: Env, after: int, channels: Sequence[str]) -> Gathered:
    """Read the journal after a line, note what the owner must be told, and queue it for each channel.

    Nothing is written where nothing is to be told, so that a busy shop's payments do not wait for it; the cursor on the
    disk then stays behind, which costs one longer look after a restart.

    Raises:
        Unavailable: Nothing was written; the next look finds the same.
    """
    found = await env.store.read(lambda reader: _read(reader, after))
    cursor = found[-1].seq if found else after
    more = len(found) == BATCH
    if not any(event.type in RULES for event in found):
        return Gathered(cursor, more, 0)

    def job(tx: Tx) -> int:
        of_endpoint = functools.cache(lambda each: notice_facts.of_endpoint(tx, each))
        news = sum(_note(tx, env, event, channels, of_endpoint) for event in found)
        notice_outbox.move_cursor(tx, cursor)
        return news

    return Gathered(cursor, more, await env.store.write(job))


async def digest(env: Env, channels: Sequence[str]) -> int:
    """Queue one message about everything that came up again since it was told; returns how many causes.

    Nothing is written where there is nothing of it, so that no payment waits for that.
    """
    now = env.clock.now_us()
    if not await env.store.read(lambda reader: notice_outbox.has_digest(reader, now)):
        return 0

    def job(tx: Tx) -> int:
        rows = notice_outbox.take_digest(tx, now)
        if rows:
            owner = shop.get(tx)
            body = "\n\n".join(_again(row, owner) for row in rows)
            count = sum(row.count - 1 for row in rows)
            line = f"{count} more notice{'s' if count > 1 else ''}"
            _queue(tx, env, channels, _Message(line, body, now))
        return len(rows)

    return await env.store.write(job)


async def queue_test(env: Env, channels: Sequence[str]) -> list[str]:
    """Queue a message that says nothing but that it arrived; returns the channels."""
    body = "This arrived, so notices from your shop will too."
    message = _Message("a test", body, env.clock.now_us())
    await env.store.write(lambda tx: _queue(tx, env, channels, message))
    return list(channels)


async def due(env: Env) -> list[Send]:
    """Return the messages that are due now."""
    now = env.clock.now_us()
    return await env.store.read(lambda reader: notice_outbox.due(reader, now, SENDS))


async def tried(env: Env, send: Send, error: str | None) -> None:
    """Write down what came of a try; `error` is None when it is out."""
    now = env.clock.now_us()
    again = None if error is None else retry_at(send.tries + 1, now)
    await env.store.write(
        lambda tx: notice_outbox.tried(tx, send.id, due_at=again, error=error, now=now)
    )


def _read(reader: Reader, after: int) -> list[Event]:
    return events.after(reader, after, limit=BATCH)


def _note(
    tx: Tx,
    env: Env,
    event: Event,
    channels: Sequence[str],
    of_endpoint: Callable[[str], dict[str, Any]],
) -> int:
    facts = json.loads(event.data)
    if event.endpoint_id is not None and event.type in RULES:
        facts |= of_endpoint(event.endpoint_id)
    told = tell(event, facts)
    if told is None:
        return 0
    for cause in told.closes:
        notice_outbox.recover(tx, cause, event.at)
    if told.quiet:
        return 0
    if told.ends:
        fresh = notice_outbox.recover(tx, told.cause, event.at)
    else:
        fresh = notice_outbox.happened(tx, env.new_id(), told, event.at)
    if fresh:
        _queue(tx, env, channels, _Message(_line(told.text), _first(told), event.at))
    return int(fresh)


@dataclass(frozen=True, slots=True)
class _Message:
    """What the owner is told: in one line, whole, and when it came up."""

    line: str
    body: str
    at: int


def _queue(tx: Tx, env: Env, channels: Sequence[str], message: _Message) -> None:
    now, owner = env.clock.now_us(), shop.get(tx)
    for channel in channels:
        subject, body = f"momo: {message.line}", message.body
        if channel == MAIL and owner is not None:
            subject = f"momo, {owner.name}: {message.line}"
            body = f"{_local(message.at, owner, '%a %d %b %Y %H:%M')} · {owner.name}\n\n{body}"
        notice_outbox.queue(tx, env.new_id(), channel=channel, subject=subject, body=body, now=now)


def _local(at: int, owner: Shop | None, form: str) -> str:
    """Return a time as the shop's own clock shows it."""
    return f"{from_us(at).astimezone(UTC if owner is None else ZoneInfo(owner.timezone)):{form}}"


def _line(text: str) -> str:
    """Return as many whole sentences as one line may hold. The cut is plain letters: an SMS with a "…" holds 70, not 160."""
    first, *others = re.split(r"(?<=\.) ", text)
    line = first
    if len(first) > SUBJECT_CHARACTERS_MAX:
        line = f"{first[: SUBJECT_CHARACTERS_MAX - 3].rsplit(' ', 1)[0]}..."
    for sentence in others:
        if len(line) + 1 + len(sentence) > SUBJECT_CHARACTERS_MAX:
            break
        line = f"{line} {sentence}"
    return line


def _first(told: Told) -> str:
    return f"{told.text}\n\n{told.next}" if told.next else told.text


def _again(row: NoticeRow, owner: Shop | None) -> str:
    times, since = row.count - 1, _local(row.first_at, owner, "%H:%M")
    said = f"{row.text} ({times} more time{'s' if times > 1 else ''} since {since})"
    return f"{said}\n{row.next}" if row.next else said
