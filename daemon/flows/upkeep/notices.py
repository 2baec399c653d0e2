"""Create notices to the owner from the journal, and queue them for e-mail and for SMS from the shop's own line.

E-mail is retried while there is no connection; SMS work without the internet. The password of the mail account is stored
sealed and unsealed for each sending.
"""

import asyncio
import functools
import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC
from typing import Any, Final
from zoneinfo import ZoneInfo

from msgspec import Struct

from daemon.core.access.callers import Caller, Operation, require
from daemon.core.errors import Unavailable
from daemon.core.model import Event, NoticeRow, Shop
from daemon.core.text import Catalogue, Text
from daemon.core.upkeep.notice_rules import OUTAGE_CAUSE, RULES, EventNotice, notice_for, retry_at
from daemon.env import Env
from daemon.runtime.words import sentences
from daemon.sender.owner_notices import NotSent
from daemon.store import journal, shop
from daemon.store.access import passwords
from daemon.store.engine import Reader, Tx
from daemon.store.lines import devices
from daemon.store.payments import texts
from daemon.store.upkeep import notices
from daemon.store.upkeep.notices import Send
from parsers.times import from_us

NOTICE_SMS_CHARACTERS_MAX: Final = 300
"""Two SMS; the CLI shows the rest."""
BATCH = 500
"""Journal events read at a time."""
SENDS = 10
"""Messages sent at a time."""
SUBJECT_CHARACTERS_MAX = 120
MAIL = "email"
"""The channel with messages that are read elsewhere, perhaps with those of other shops, so they name shop and time."""
SMTP_PURPOSE = "smtp-password"


class Gathered(Struct, frozen=True):
    """Result of reading a part of the journal.

    `cursor` is the last event read; with `more` others can be read at once. `news` messages were queued. `failed` has the
    events whose notice failed by a bug; they are left out.
    """

    cursor: int
    more: bool
    news: int
    failed: tuple[tuple[Event, Exception], ...] = ()


async def gather(env: Env, after: int, channels: Sequence[str]) -> Gathered:
    """Read the journal after an event, record the notices and queue them for each channel.

    Without a notice nothing is written, so that a busy shop's payments do not wait for it; the stored cursor then stays
    behind, which only means a longer read after a restart.
    """
    cursor, more, found = await env.store.read(lambda reader: _read(reader, after))
    if not found:
        return Gathered(cursor, more, 0)

    def job(tx: Tx) -> Gathered:
        of_endpoint = functools.cache(lambda each: notices.endpoint_facts(tx, each))
        news, failed = 0, []
        for event in found:
            try:
                news += _note(tx, env, event, channels, of_endpoint)
            except Unavailable:
                raise
            except Exception as error:  # noqa: BLE001 -- told by the caller; the later notices must go out
                failed.append((event, error))
        notices.move_cursor(tx, cursor)
        return Gathered(cursor, more, news, tuple(failed))

    return await env.store.write(job)


def _read(reader: Reader, after: int) -> tuple[int, bool, list[Event]]:
    """Return the last entry of the next ones, whether there are more, and those of them that may be notices."""
    types = journal.types_after(reader, after, limit=BATCH)
    cursor = types[-1][0] if types else after
    # Nearly all are of payments; these are not loaded.
    wanted = [seq for seq, kind in types if kind in RULES]
    found = journal.after(reader, wanted[0] - 1, limit=BATCH) if wanted else []
    events = [event for event in found if event.seq <= cursor and event.type in RULES]
    return cursor, len(types) == BATCH, events


def _note(tx: Tx, env: Env, event: Event, channels: Sequence[str], of_endpoint: Callable[[str], dict[str, Any]]) -> int:
    facts = json.loads(event.data)
    if event.endpoint_id is not None and event.type in RULES:
        facts |= of_endpoint(event.endpoint_id)
    if facts.get("device_id") and not facts.get("name"):  # people know a phone by its name
        device = devices.get(tx, facts["device_id"])
        facts["name"] = None if device is None else device.name
    notice = notice_for(event, facts)
    if notice is None:
        return 0
    for cause in notice.closes:
        notices.recover(tx, cause, event.at)
    if notice.quiet:
        return 0
    if notice.ends:
        fresh = notices.recover(tx, notice.cause, event.at)
    else:
        fresh = notices.add_occurrence(tx, env.new_id(), notice, event.at)
    if fresh:
        _queue(tx, env, channels, _message(notice, sentences(env.config.notices.language), event.at))
    return int(fresh)


async def end_of_reviews(env: Env) -> None:
    """End the notices about held payments of which none waits any more: a notice ends with its cause."""
    now = env.clock.now_us()
    if causes := await env.store.read(notices.reviews_over):
        await env.store.write(lambda tx: [notices.recover(tx, cause, now) for cause in causes])


async def digest(env: Env, channels: Sequence[str]) -> int:
    """Queue one message about all causes that were repeated since their notice; return the number of causes.

    Without any nothing is written, so that no payment waits for it.
    """
    now = env.clock.now_us()
    if not await env.store.read(lambda reader: notices.has_digest(reader, now)):
        return 0

    def job(tx: Tx) -> int:
        rows = notices.take_digest(tx, now)
        if rows:
            owner, words = shop.get(tx), sentences(env.config.notices.language)
            body = "\n\n".join(_again(row, words, owner) for row in rows)
            line = Text("notice.mail.more", count=sum(row.count - 1 for row in rows)).render(words)
            _queue(tx, env, channels, _Message(line, body, now))
        return len(rows)

    return await env.store.write(job)


async def queue_test(env: Env, caller: Caller, channels: Sequence[str]) -> list[str]:
    """Queue a test message; return the channels."""
    require(caller, Operation.MANAGE_NOTICES)
    words = sentences(env.config.notices.language)
    body = words["notice.mail.test.body"]
    message = _Message(words["notice.mail.test"], body, env.clock.now_us())
    await env.store.write(lambda tx: _queue(tx, env, channels, message))
    return list(channels)


async def due(env: Env) -> list[Send]:
    """Return the messages that are due now."""
    now = env.clock.now_us()
    return await env.store.read(lambda reader: notices.due(reader, now, SENDS))


async def record_try(env: Env, send: Send, error: str | None) -> None:
    """Record the result of a try; `error` is None if the message was sent."""
    now = env.clock.now_us()
    again = None if error is None else retry_at(send.tries + 1, now)
    await env.store.write(lambda tx: notices.record_try(tx, send.id, due_at=again, error=error, now=now))


class _Message(Struct, frozen=True):
    """A message to the owner: its subject line, its body and the time of the event."""

    line: str
    body: str
    at: int


def _queue(tx: Tx, env: Env, channels: Sequence[str], message: _Message) -> None:
    now, owner = env.clock.now_us(), shop.get(tx)
    for channel in channels:
        subject, body = f"momo: {message.line}", message.body
        if channel == MAIL and owner is not None:
            subject = f"momo, {owner.name}: {message.line}"
            form = sentences(env.config.notices.language)["notice.mail.date_format"]
            body = f"{_local(message.at, owner, form)} · {owner.name}\n\n{body}"
        notices.queue(tx, env.new_id(), channel=channel, subject=subject, body=body, now=now)


def _local(at: int, owner: Shop | None, form: str) -> str:
    return f"{from_us(at).astimezone(UTC if owner is None else ZoneInfo(owner.timezone)):{form}}"


def _message(notice: EventNotice, words: Catalogue, at: int) -> _Message:
    # A line break in a name would begin another line of the e-mail's head.
    text = " ".join(notice.text.render(words).split())
    first, *others = re.split(r"(?<=\.) ", text)
    line = first
    if len(first) > SUBJECT_CHARACTERS_MAX:
        line = f"{first[: SUBJECT_CHARACTERS_MAX - 3].rsplit(' ', 1)[0]}..."
    for sentence in others:
        if len(line) + 1 + len(sentence) > SUBJECT_CHARACTERS_MAX:
            break
        line = f"{line} {sentence}"
    return _Message(line, f"{text}\n\n{notice.next}" if notice.next else text, at)


def _again(row: NoticeRow, words: Catalogue, owner: Shop | None) -> str:
    since = _local(row.first_at, owner, "%H:%M")
    said = Text("notice.mail.again", text=notices.text_of(row), count=row.count - 1, since=since)
    text = said.render(words)
    return f"{text}\n{row.next}" if row.next else text


async def queue_email(env: Env, caller: Caller, subject: str, text: str) -> None:
    """Queue one e-mail to the owner."""
    require(caller, Operation.MAIL_REPORT)
    now, send_id = env.clock.now_us(), env.new_id()

    def job(tx: Tx) -> None:
        notices.queue(tx, send_id, channel="email", subject=subject, body=text, now=now)
        # A new event in the journal wakes the loop that sends.
        data = {"subject": subject}
        journal.add(tx, "report.mailed", now, actor=caller.name, data=data)

    await env.store.write(job)


class OwnerSms:
    """Notice channel that queues SMS with those to payers, under the same limits."""

    def __init__(self, env: Env, number: str) -> None:
        self._env = env
        self._number = number

    async def send(self, message_id: str, subject: str, body: str) -> None:
        """Queue one message; see `Channel`."""
        env, now = self._env, self._env.clock.now_us()
        command = body.rpartition("\n\n")[2] if "\n\n" in body else ""
        text = f"{subject}\n{command}".strip()[:NOTICE_SMS_CHARACTERS_MAX]
        queued = await env.store.write(
            lambda tx: texts.queue_notice(tx, env.texting, message_id, self._number, text, now)
        )
        if not queued:
            raise NotSent("no line can send an SMS now, or its limits are reached")


async def record_loop(env: Env, kind: str, data: dict[str, Any]) -> None:
    """Record in the journal that a loop of the daemon failed by a bug, or works again."""
    now = env.clock.now_us()
    await env.store.write(lambda tx: journal.add(tx, kind, now, data=data))


async def record_outage(env: Env) -> None:
    """Record an outage: for a long time neither a receiver nor another known host was reached."""
    await _journal(env, "link.lost")


async def record_outage_end(env: Env) -> None:
    """Record the end of the outage; it gives a notice if the outage gave one."""
    await _journal(env, "link.returned")


async def is_outage_open(env: Env) -> bool:
    """Return whether there was a notice of an outage without a recorded end, perhaps before a restart."""
    return await env.store.read(lambda reader: notices.is_open(reader, OUTAGE_CAUSE))


async def _journal(env: Env, kind: str) -> None:
    now = env.clock.now_us()
    await env.store.write(lambda tx: journal.add(tx, kind, now))


async def store_smtp_password(env: Env, caller: Caller, password: str | None) -> None:
    """Store a new password, or with None delete the stored one.

    Raises:
        Unavailable: The master key is not available, so nothing can be sealed.
    """
    require(caller, Operation.MANAGE_SECRETS)
    now = env.clock.now_us()
    sealed = None
    if password is not None:
        sealed = await env.seal(password.encode(), SMTP_PURPOSE, "the password")

    def job(tx: Tx) -> None:
        if sealed is None:
            passwords.remove_secret(tx, passwords.SMTP)
        else:
            passwords.put_secret(tx, passwords.SMTP, sealed, now)
        kind = "smtp.password_set" if sealed is not None else "smtp.password_removed"
        journal.add(tx, kind, now, actor=caller.name)

    await env.store.write(job)


async def has_smtp_password(env: Env) -> bool:
    """Return whether a password is stored."""
    return (await env.store.read(lambda reader: passwords.sealed_secret(reader, passwords.SMTP))) is not None


async def smtp_password(env: Env) -> str | None:
    """Return the password, None if none is stored.

    Raises:
        SecretsLocked: The master key is not available now.
    """
    sealed = await env.store.read(lambda reader: passwords.sealed_secret(reader, passwords.SMTP))
    if sealed is None:
        return None
    return (await asyncio.to_thread(env.vault.unseal, sealed, SMTP_PURPOSE)).decode()
