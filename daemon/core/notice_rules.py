"""Which lines of the journal the owner is told of without having asked, and how often. Pure.

A cause is told of at once, then not again within the hour: what else happened by then comes in one digest. When it is
over, that is told once too. So a night without a network is three messages in the morning, not three hundred.

It is somewhat longer than 300 lines: what is told is one table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from daemon.core import endpoint_notices
from daemon.core.disk_room import FULL_BYTES, LOW_BYTES, TIGHT_BYTES, Room
from daemon.core.limits import HOUR_US, MINUTE_US
from daemon.core.model import Event
from daemon.core.notices import SENTENCES
from daemon.core.reviews import explain
from daemon.core.self_check import CAUSE

Facts = Mapping[str, Any]

LINK: Final = "link"
"""The cause of what is told of our own link."""

QUIET_US: Final = HOUR_US
"""One message for each cause in this time."""
RETRIES_US: Final = (MINUTE_US, 5 * MINUTE_US, 15 * MINUTE_US, HOUR_US, 4 * HOUR_US, 12 * HOUR_US)
"""The waits between the tries to send one; after the last the notice is shown by the CLI alone."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How one type of line is told.

    Attributes:
        sentence: What happened, from the line's facts.
        urgent: Money is at stake or stands still.
        next: What to type; `{endpoint_id}` and the line's facts are filled in.
        about: The facts that part one cause from another; the endpoint always does.
        cause: The causes that share an end share this name; empty is the type itself.
        ends: The line ends its cause, and is told only if the cause was.
        closes: Other causes of the same that are over too, without a word.
        quiet: The owner did it himself: it only closes those others, and nothing is told.
        changed: Only a line that tells of a change of this.
    """

    sentence: Callable[[Facts], str]
    urgent: bool = False
    next: str = ""
    about: tuple[str, ...] = ()
    cause: str = ""
    ends: bool = False
    closes: tuple[str, ...] = ()
    quiet: bool = False
    changed: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """One line, as the owner is told of it."""

    cause: str
    kind: str
    text: str
    next: str
    urgent: bool
    ends: bool
    closes: tuple[str, ...] = ()
    quiet: bool = False


def _plain(text: str) -> Callable[[Facts], str]:
    return lambda _facts: text


def _phone(what: str) -> Callable[[Facts], str]:
    return lambda facts: f"The modem {facts.get('name') or facts.get('device_id') or ''} {what}"


def _disk(below: int, then: str) -> Callable[[Facts], str]:
    return lambda facts: (
        f"The disk of the shop has {int(facts.get('free_bytes', 0)) // 1_000_000} MB left, less than "
        f"{below // 1_000_000} MB. {then}"
    )


_HAS_ROOM: Final = {
    Room.LOW: "The disk of the shop has room again.",
    Room.TIGHT: "The disk of the shop has room for backups, exports and the log's files again.",
    Room.FULL: "The disk of the shop has some room again: new orders are taken.",
}


def _review(facts: Facts) -> str:
    return f"A payment waits for you: {explain(str(facts['reason'])).why}"


RULES: Final[Mapping[str, Rule]] = {
    "endpoint.failing": Rule(
        endpoint_notices.failing, next="momo endpoints show {endpoint_id}", cause="endpoint.failing"
    ),
    "endpoint.recovered": Rule(
        endpoint_notices.recovered,
        cause="endpoint.failing",
        ends=True,
        closes=("endpoint.blocked",),
    ),
    "endpoint.auto_paused": Rule(
        endpoint_notices.paused,
        urgent=True,
        next="momo endpoints resume {endpoint_id}",
        cause="endpoint.paused",
        closes=("endpoint.failing", "endpoint.blocked"),
    ),
    "endpoint.paused": Rule(
        endpoint_notices.not_called, closes=("endpoint.failing", "endpoint.blocked"), quiet=True
    ),
    "endpoint.updated": Rule(
        endpoint_notices.not_called, closes=("endpoint.blocked",), quiet=True, changed="url"
    ),
    "endpoint.resumed": Rule(endpoint_notices.resumed, cause="endpoint.paused", ends=True),
    "endpoint.deleted": Rule(
        endpoint_notices.deleted,
        cause="endpoint.paused",
        ends=True,
        closes=("endpoint.failing", "endpoint.blocked"),
    ),
    "endpoint.blocked": Rule(
        endpoint_notices.blocked,
        urgent=True,
        next="momo endpoints show {endpoint_id}",
        cause="endpoint.blocked",
    ),
    "endpoint.unblocked": Rule(endpoint_notices.unblocked, cause="endpoint.blocked", ends=True),
    "delivery.failed": Rule(endpoint_notices.given_up, next="momo dead-letters list"),
    "link.lost": Rule(
        _plain(
            "For 15 minutes no receiver of webhooks could be reached: this machine is offline, or their hosts are gone. "
            "What they are owed waits."
        ),
        urgent=True,
        next="momo deliveries list --status pending",
        cause=LINK,
    ),
    "link.returned": Rule(
        _plain("Receivers of webhooks are reached again; what waited goes out."),
        cause=LINK,
        ends=True,
    ),
    "review.opened": Rule(_review, urgent=True, next="momo review list", about=("reason",)),
    "sim.silent": Rule(
        _plain("A SIM that is usually busy has had no message for long. Is the network down?"),
        urgent=True,
        next="momo modems list",
        about=("device_id", "slot_index"),
        cause="sim.silent",
    ),
    "sim.heard_again": Rule(
        _plain("The SIM gets messages again."),
        about=("device_id", "slot_index"),
        cause="sim.silent",
        ends=True,
    ),
    "message.incomplete": Rule(
        _plain(
            "A long message has lacked parts for a day. If it was a receipt, it counts only once it is whole."
        ),
        next="momo messages list --state incomplete",
    ),
    "sim.locked": Rule(
        _plain("A SIM asks for its PIN: no payment is read from it."),
        urgent=True,
        next="momo sims pin",
        about=("device_id",),
    ),
    "sim.pin_wrong": Rule(
        _plain("The stored PIN of a SIM is wrong. It was tried once and will not be tried again."),
        urgent=True,
        next="momo sims pin",
        about=("device_id",),
    ),
    "modem.hung": Rule(
        _phone("does not answer and could not be woken: unplug it and plug it in again."),
        urgent=True,
        next="momo modems list",
        about=("device_id",),
        cause="modem",
    ),
    "modem.answers": Rule(_phone("answers again."), about=("device_id",), cause="modem", ends=True),
    "modem.hilink": Rule(
        _phone("keeps its messages on its own web page, where nobody can read them."),
        urgent=True,
        next="momo doctor modem",
        about=("device_id",),
    ),
    "modem.storage_high": Rule(
        _phone("has its message storage nearly full: soon no payment message gets in."),
        urgent=True,
        next="momo modems list",
        about=("device_id",),
        cause="modem.storage",
    ),
    "modem.storage_low": Rule(
        _phone("has room for messages again."),
        about=("device_id",),
        cause="modem.storage",
        ends=True,
    ),
    "clock.suspect": Rule(
        lambda facts: (
            f"{str(facts.get('why') or 'The clock of this machine is wrong').capitalize()}. No order "
            "expires and nothing is cleared away until it is right."
        ),
        urgent=True,
        next="sudo timedatectl set-ntp true",
        cause="clock",
    ),
    "clock.right": Rule(
        _plain("The clock of this machine is right again."), cause="clock", ends=True
    ),
    "db.damaged": Rule(
        _plain(
            "The daily look through the database found it damaged. No payment is read and no order is taken until the newest "
            "backup is in its place; payment messages wait on the SIM, and those since that backup are asked for by the "
            "customer's transaction ID."
        ),
        urgent=True,
        next="momo restore --stop",
        cause=CAUSE,
    ),
    "db.findings": Rule(
        lambda facts: (
            "Something in the shop's books does not hold that always should: "
            f"{', '.join(map(str, facts.get('what') or ()))}."
        ),
        urgent=True,
        next="momo doctor ledger",
        cause=CAUSE,
    ),
    "db.sound": Rule(_plain("The database of the shop is in order again."), cause=CAUSE, ends=True),
    "disk.low": Rule(
        _disk(LOW_BYTES, "Everything goes on as long as there is room."),
        next="momo backup prune",
        about=("room",),
        cause="disk",
    ),
    "disk.tight": Rule(
        _disk(TIGHT_BYTES, "No backup and no export is made, and the log's files stand still."),
        urgent=True,
        next="momo backup prune",
        about=("room",),
        cause="disk",
    ),
    "disk.full": Rule(
        _disk(FULL_BYTES, "No new order is taken: what is left is for messages and payments."),
        urgent=True,
        next="momo backup prune",
        about=("room",),
        cause="disk",
    ),
    "disk.has_room": Rule(
        lambda facts: _HAS_ROOM[Room(facts["room"])], about=("room",), cause="disk", ends=True
    ),
    "password.changed": Rule(_plain("The owner's password was changed.")),
    **{
        f"notice.{kind}": Rule(
            sentence,
            urgent=kind not in {"receipt_restored", "balance_warning"},
            next="momo review list" if kind == "receipt_held" else "momo tx list",
        )
        for kind, sentence in SENTENCES.items()
    },
}
"""Type of the line -> how it is told. What is not here is for who looks, not for who sleeps."""


def tell(event: Event, facts: Facts) -> Told | None:
    """Return how the owner is told of a line of the journal, None when it is not."""
    rule = RULES.get(event.type)
    if rule is None or event.mode != "live":
        return None
    if facts.get("deleted") and not rule.ends:
        return None  # its owner took it away
    if rule.changed and rule.changed not in facts.get("changed", ()):
        return None
    known = {"endpoint_id": event.endpoint_id or "", **facts}
    about = [str(known.get(name)) for name in ("endpoint_id", *rule.about) if known.get(name)]
    command = rule.next
    if facts.get("implicit") and "{endpoint_id}" in command:
        command = "momo deliveries list --kind all --endpoint {endpoint_id}"
    return Told(
        cause=":".join((rule.cause or event.type, *about)),
        kind=event.type,
        text=rule.sentence(facts),
        next=_filled(command, known),
        urgent=rule.urgent,
        ends=rule.ends,
        closes=tuple(":".join((name, *about)) for name in rule.closes),
        quiet=rule.quiet,
    )


def disk_cause(room: Room) -> str:
    """Return the cause of what is told of a step of the disk."""
    return f"disk:{room}"


def retry_at(tries: int, now_us: int) -> int | None:
    """Return when a message that failed so many times is tried again, None when it is not."""
    return None if tries > len(RETRIES_US) else now_us + RETRIES_US[tries - 1]


def _filled(command: str, known: Facts) -> str:
    for name, value in known.items():
        command = command.replace(f"{{{name}}}", str(value))
    return command
