"""Rules that turn journal events into notices to the owner, and limit how often. Pure.

A cause gives a notice at once and then none within the hour: repeats of that hour come in one digest. The end of a cause
gives one notice too. So a night without a network gives three messages in the morning, not three hundred.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from daemon.core.journal_text import NOTICES, notice_text
from daemon.core.json_values import Json, timestamp, timestamp_or_none
from daemon.core.limits import HOUR_US, MINUTE_US
from daemon.core.model import Event, NoticeRow
from daemon.core.payments import reviews
from daemon.core.upkeep.disk_space import FULL_BYTES, LOW_BYTES, TIGHT_BYTES, SpaceStep
from daemon.core.upkeep.faults import REPORT
from daemon.core.upkeep.self_check import CAUSE
from daemon.core.webhooks import diagnosis
from daemon.core.webhooks.delivery import AUTO_PAUSE_AT

Facts = Mapping[str, Any]
URL_CHARACTERS_MAX: Final = 80
"""Short, so that the rest of the notice fits on one line."""
OUTAGE_CAUSE: Final = "link"
"""The cause of notices about our own connection."""
SETTINGS_CAUSE: Final = "settings"
"""The cause of notices about settings files that cannot be used."""
REPEAT_US: Final = HOUR_US
"""At most one message for each cause in this time."""
RETRIES_US: Final = (MINUTE_US, 5 * MINUTE_US, 15 * MINUTE_US, HOUR_US, 4 * HOUR_US, 12 * HOUR_US)
"""Back-off between the tries to send one; after the last the notice is only shown by the CLI."""
_IMPLICIT: Final = "It is the callback URL of transactions and is never paused: each webhook is tried for three days."
_HAS_ROOM: Final = {
    SpaceStep.LOW: "The shop's disk has enough free space again.",
    SpaceStep.TIGHT: "The shop's disk has space for backups, exports and log files again.",
    SpaceStep.FULL: "The shop's disk has some free space again: new transactions are accepted.",
}


def _where(facts: Facts) -> str:
    """Return the address without its query, which may hold a key: a notice goes by e-mail and SMS."""
    url = str(facts.get("url", "an endpoint")).partition("?")[0]
    return url if len(url) <= URL_CHARACTERS_MAX else f"{url[: URL_CHARACTERS_MAX - 3]}..."


def _last(facts: Facts) -> str:
    """Return the last failure as a sentence with a leading space; empty if unknown."""
    error_code, status_code = facts.get("last_error_code"), facts.get("last_status_code")
    if error_code is None:
        return ""
    means, mend = diagnosis.explain(status_code, error_code)
    if status_code is None:
        return f" The last time, {means}. {mend}."
    return f" Its last answer was {status_code}: {means}. {mend}."


class Rule(Struct, frozen=True):
    """How one type of journal event becomes a notice.

    Attributes:
        sentence: The text, a template of `_words` or a function of the event's facts.
        urgent: Money is at risk or payments have stopped.
        next: The command to type; `{endpoint_id}` and the event's facts are filled in.
        about: The facts that distinguish one cause from another; the endpoint always does.
        cause: The causes that share an end share this name; empty means the event type.
        ends: The event ends its cause; it gives a notice only if the cause gave one.
        closes: Other causes of the same object that end too, without a notice.
        quiet: The owner did it: it only ends `closes`, without a notice.
        changed: Applies only to an event that reports a change of this setting.
    """

    sentence: str | Callable[[Facts], str]
    urgent: bool = False
    next: str = ""
    about: tuple[str, ...] = ()
    cause: str = ""
    ends: bool = False
    closes: tuple[str, ...] = ()
    quiet: bool = False
    changed: str = ""


class EventNotice(Struct, frozen=True):
    """The notice made from one journal event."""

    cause: str
    kind: str
    text: str
    next: str
    urgent: bool
    ends: bool
    closes: tuple[str, ...] = ()
    quiet: bool = False


def _words(facts: Facts) -> dict[str, str | int]:
    return {
        "where": _where(facts),
        "count": facts.get("consecutive_failures", AUTO_PAUSE_AT),
        "last": _last(facts),
        "why": facts.get("why") or "its address is not public",
        "then": _IMPLICIT if facts.get("implicit") else f"After {AUTO_PAUSE_AT} it is paused.",
        "modem": facts.get("name") or facts.get("device_id") or "",
        "free": int(facts.get("free_bytes", 0)) // 1_000_000,
    }


def _disk(below: int, then: str) -> str:
    return f"The disk of the shop has {{free}} MB left, less than {below // 1_000_000} MB. {then}"


def _line(facts: Facts) -> str:
    """Return a line in words; its number stays out of e-mails."""
    network = facts.get("network")
    return f"{network} SIM in {facts.get('name')}" if network else f"SIM {facts.get('name')}"


def _review(facts: Facts) -> str:
    return f"A payment waits for you: {reviews.explain_opened(facts).why}"


def _of_journal(kind: str) -> Callable[[Facts], str]:
    return lambda facts: str(notice_text(kind, facts))


# No code calls a mailer: a journal row is written in the same database transaction as its cause, and the notices loop
# reads the journal. Its position is committed with the queued notices, so a crash neither loses nor doubles one.
RULES: Final[Mapping[str, Rule]] = {
    "endpoint.failing": Rule(
        "{count} deliveries in a row failed at {where}.{last} {then}",
        next="momo endpoints show {endpoint_id}",
        cause="endpoint.failing",
    ),
    "endpoint.recovered": Rule(
        "{where} answers again.", cause="endpoint.failing", ends=True, closes=("endpoint.blocked",)
    ),
    "endpoint.auto_paused": Rule(
        "{where} was paused after {count} failures in a row.{last} Its deliveries wait and nothing is lost.",
        urgent=True,
        next="momo endpoints resume {endpoint_id}",
        cause="endpoint.paused",
        closes=("endpoint.failing", "endpoint.blocked"),
    ),
    "endpoint.paused": Rule(
        "{where} was changed or paused.",
        closes=("endpoint.failing", "endpoint.blocked"),
        quiet=True,
    ),
    "endpoint.updated": Rule(
        "{where} was changed or paused.", closes=("endpoint.blocked",), quiet=True, changed="url"
    ),
    "endpoint.resumed": Rule(
        "{where} was resumed: its waiting deliveries are sent.", cause="endpoint.paused", ends=True
    ),
    "endpoint.deleted": Rule(
        "{where} was deleted.",
        cause="endpoint.paused",
        ends=True,
        closes=("endpoint.failing", "endpoint.blocked"),
    ),
    "endpoint.blocked": Rule(
        "Nothing may be sent to {where}: {why}. It is tried again, and its deliveries wait.",
        urgent=True,
        next="momo endpoints show {endpoint_id}",
        cause="endpoint.blocked",
    ),
    "endpoint.unblocked": Rule(
        "{where} may be called again: its waiting deliveries are sent.",
        cause="endpoint.blocked",
        ends=True,
    ),
    "delivery.failed": Rule(
        "A webhook to {where} was given up: it is a dead letter now.{last}",
        next="momo dead-letters list",
    ),
    "link.lost": Rule(
        (
            "For 15 minutes no webhook receiver could be reached: this machine is offline, or their hosts are down. "
            "Their deliveries wait."
        ),
        urgent=True,
        next="momo deliveries list --status pending",
        cause=OUTAGE_CAUSE,
    ),
    "link.returned": Rule(
        "Webhook receivers can be reached again; the waiting deliveries are sent.",
        cause=OUTAGE_CAUSE,
        ends=True,
    ),
    "review.opened": Rule(_review, urgent=True, next="momo review list", about=("reason",)),
    "sim.silent": Rule(
        "A SIM that is usually busy has had no message for a long time. Is the network down?",
        urgent=True,
        next="momo phones status",
        about=("device_id", "slot_index"),
        cause="sim.silent",
    ),
    "sim.heard_again": Rule(
        "The SIM gets messages again.",
        about=("device_id", "slot_index"),
        cause="sim.silent",
        ends=True,
    ),
    "message.incomplete": Rule(
        "A long message has been missing parts for a day. If it is a receipt, it counts only when it is complete.",
        next="momo messages list --state incomplete",
    ),
    "messages.recovered": Rule(
        lambda facts: (
            f"{facts.get('messages')} messages that the database lacked were read again from the message journal; "
            f"{facts.get('payments')} of them are payments. After a restore, transactions made since the backup are lost: "
            "their payments have no transaction."
        ),
        next="momo messages list",
    ),
    "sim.locked": Rule(
        "A SIM asks for its PIN: no payment is read from it.",
        urgent=True,
        next="momo lines pin",
        about=("device_id",),
    ),
    "sim.pin_wrong": Rule(
        "The stored PIN of a SIM is wrong. It was tried once and will not be tried again.",
        urgent=True,
        next="momo lines pin",
        about=("device_id",),
    ),
    "modem.hung": Rule(
        "The modem {modem} does not answer and could not be woken: unplug it and plug it in again.",
        urgent=True,
        next="momo phones status",
        about=("device_id",),
        cause="modem",
    ),
    "modem.answers": Rule(
        "The modem {modem} answers again.", about=("device_id",), cause="modem", ends=True
    ),
    "modem.hilink": Rule(
        "The modem {modem} keeps its messages on its own web page, where momo cannot read them.",
        urgent=True,
        next="momo doctor modem",
        about=("device_id",),
    ),
    "source.unreadable": Rule(
        lambda facts: (
            f"The app of the source {facts.get('source')} posted SMS of a form that momo does not know. They are kept, and no "
            "payment is read from them."
        ),
        urgent=True,
        next="momo messages list --state unparsed",
        about=("source",),
    ),
    "source.other_sim": Rule(
        lambda facts: (
            f"The phone {facts.get('source')} gets SMS with SIM {facts.get('slot')}, which the settings do not name: they are "
            "left out. Name its network in `networks`, or none."
        ),
        next="momo config edit",
        about=("source", "slot"),
    ),
    "modem.unusable": Rule(
        lambda facts: (
            f"momo cannot use the modem at {facts.get('port')}: {facts.get('why')}. No message is read from it."
        ),
        urgent=True,
        next="momo doctor modem",
        about=("port",),
        cause="modem.unusable",
    ),
    "modem.usable": Rule(
        lambda facts: f"The modem at {facts.get('port')} is read again.",
        about=("port",),
        cause="modem.unusable",
        ends=True,
    ),
    "line.not_receiving": Rule(
        lambda facts: (
            f"For two minutes no message can come to the {_line(facts)}: {facts.get('why')}. Payments are not seen until "
            f"it works again. What to do: {str(facts.get('fix')).rstrip('.')}."
        ),
        urgent=True,
        next="momo phones status",
        about=("sim",),
        cause="line.not_receiving",
    ),
    "line.receiving": Rule(
        lambda facts: f"Messages can come to the {_line(facts)} again.",
        about=("sim",),
        cause="line.not_receiving",
        ends=True,
    ),
    "line.not_watched": Rule(
        "The line is not watched any more.",
        about=("sim",),
        closes=("line.not_receiving",),
        quiet=True,
    ),
    "line.unused": Rule(
        lambda facts: (
            f"The {_line(facts)} has neither received nor sent anything for {facts.get('days')} days. Networks "
            "take an unused prepaid SIM back after three to six months: buy airtime with it, or send an SMS from it."
        ),
        next="momo phones test {device_id}",
        about=("sim",),
        cause="line.unused",
    ),
    "line.in_use": Rule(
        lambda facts: f"The {_line(facts)} is in use again.",
        about=("sim",),
        cause="line.unused",
        ends=True,
    ),
    "line.roaming": Rule(
        lambda facts: (
            f"The {_line(facts)} is served by another network ({facts.get('by')}), not its own: messages may "
            "come late or cost money. See that the modem has signal of its own network."
        ),
        next="momo phones status",
        about=("sim",),
        cause="line.roaming",
    ),
    "line.home": Rule(
        lambda facts: f"The {_line(facts)} is served by its own network again.",
        about=("sim",),
        cause="line.roaming",
        ends=True,
    ),
    "modem.storage_high": Rule(
        "The modem {modem} has its message storage nearly full: soon it receives no more payment messages.",
        urgent=True,
        next="momo phones status",
        about=("device_id",),
        cause="modem.storage",
    ),
    "modem.storage_low": Rule(
        "The modem {modem} has space for messages again.",
        about=("device_id",),
        cause="modem.storage",
        ends=True,
    ),
    "clock.suspect": Rule(
        lambda facts: (
            f"{str(facts.get('why') or 'The clock of this machine is wrong').capitalize()}. No transaction "
            "expires and no old data is deleted until it is right."
        ),
        urgent=True,
        next="sudo timedatectl set-ntp true",
        cause="clock",
    ),
    "clock.right": Rule("The clock of this machine is right again.", cause="clock", ends=True),
    "db.damaged": Rule(
        (
            "The daily check found the database damaged. No payment is read and no transaction is accepted until the newest "
            "backup is restored. New payment messages wait on the SIM; match the payments made since that backup by the "
            "customer's transaction ID."
        ),
        urgent=True,
        next="momo restore --stop",
        cause=CAUSE,
    ),
    "db.findings": Rule(
        lambda facts: (
            "The daily check found errors in the shop's data: "
            f"{', '.join(map(str, facts.get('what') or ()))}."
        ),
        urgent=True,
        next="momo doctor ledger",
        cause=CAUSE,
    ),
    "db.sound": Rule("The shop's database is in order again.", cause=CAUSE, ends=True),
    "disk.low": Rule(
        _disk(LOW_BYTES, "Everything still works."),
        next="momo backup prune",
        about=("room",),
        cause="disk",
    ),
    "disk.tight": Rule(
        _disk(TIGHT_BYTES, "No backup, export or log file is written."),
        urgent=True,
        next="momo backup prune",
        about=("room",),
        cause="disk",
    ),
    "disk.full": Rule(
        _disk(
            FULL_BYTES,
            "No new transaction is accepted: the rest is kept for messages and payments.",
        ),
        urgent=True,
        next="momo backup prune",
        about=("room",),
        cause="disk",
    ),
    "disk.has_room": Rule(
        lambda facts: _HAS_ROOM[SpaceStep(facts["room"])], about=("room",), cause="disk", ends=True
    ),
    "settings.broken": Rule(
        lambda facts: (
            f"The settings cannot be used, so momo goes on with those before: {facts.get('why')}."
        ),
        next="momo config edit",
        cause=SETTINGS_CAUSE,
    ),
    "settings.mended": Rule("The settings can be used again.", cause=SETTINGS_CAUSE, ends=True),
    "loop.failed": Rule(
        lambda facts: (
            f"A part of momo ({facts.get('loop')}) failed by an error in momo: {facts.get('why')}. It is started again "
            "by itself, and the other parts work."
        ),
        urgent=True,
        next=REPORT,
        about=("loop",),
        cause="loop.failed",
    ),
    "loop.works": Rule(
        lambda facts: f"The part of momo that had failed ({facts.get('loop')}) works again.",
        about=("loop",),
        cause="loop.failed",
        ends=True,
    ),
    "password.changed": Rule("The owner's password was changed."),
    **{
        f"notice.{kind}": Rule(
            _of_journal(kind),
            urgent=kind != "balance_warning",
            next="momo review list" if kind == "receipt_held" else "momo tx list",
        )
        for kind in NOTICES
    },
}
"""Event type -> its rule. Other event types give no notice; they are only shown in the journal."""


def notice_for(event: Event, facts: Facts) -> EventNotice | None:
    """Return the notice for a journal event, or None if the owner gets none."""
    rule = RULES.get(event.type)
    if rule is None or event.mode != "live":
        return None
    if facts.get("deleted") and not rule.ends:
        return None  # the owner deleted the endpoint
    if rule.changed and rule.changed not in facts.get("changed", ()):
        return None
    known = {"endpoint_id": event.endpoint_id or "", **facts}
    about = [str(known.get(name)) for name in ("endpoint_id", *rule.about) if known.get(name)]
    command = rule.next
    if facts.get("implicit") and "{endpoint_id}" in command:
        command = "momo deliveries list --kind all --endpoint {endpoint_id}"
    sentence = rule.sentence
    text = sentence.format(**_words(facts)) if isinstance(sentence, str) else sentence(facts)
    return EventNotice(
        cause=":".join((rule.cause or event.type, *about)),
        kind=event.type,
        text=text,
        next=_filled(command, known),
        urgent=rule.urgent,
        ends=rule.ends,
        closes=tuple(":".join((name, *about)) for name in rule.closes),
        quiet=rule.quiet,
    )


def disk_cause(room: SpaceStep) -> str:
    """Return the cause of the notices about a level of free disk space."""
    return f"disk:{room}"


def retry_at(tries: int, now_us: int) -> int | None:
    """Return when a message is tried again after `tries` failures, or None if it is given up."""
    return None if tries > len(RETRIES_US) else now_us + RETRIES_US[tries - 1]


def _filled(command: str, known: Facts) -> str:
    for name, value in known.items():
        command = command.replace(f"{{{name}}}", str(value))
    return command


def notice(row: NoticeRow) -> Json:
    """Return the object of a notice; `next` is the command to type, or null."""
    return {
        "id": row.id,
        "kind": row.kind,
        "urgent": row.urgent,
        "text": row.text,
        "next": row.next or None,
        "count": row.count,
        "first_at": timestamp(row.first_at),
        "last_at": timestamp(row.last_at),
        "seen_at": timestamp_or_none(row.seen_at),
        "recovered_at": timestamp_or_none(row.recovered_at),
    }
