"""Rules that turn journal events into notices to the owner, and limit how often. Pure.

A cause gives a notice at once and then none within the hour: repeats of that hour come in one digest. The end of a cause
gives one notice too. So a night without a network gives three messages in the morning, not three hundred.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from daemon.core.journal_text import NOTICES, notice_text
from daemon.core.json_values import Json, timestamp, timestamp_or_none
from daemon.core.limits import HOUR_US, MINUTE_US
from daemon.core.model import Event, NoticeRow
from daemon.core.payments import reviews
from daemon.core.text import Text, restore
from daemon.core.upkeep.faults import REPORT
from daemon.core.upkeep.self_check import CAUSE, FULL_BYTES, LOW_BYTES, TIGHT_BYTES, SpaceStep
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


class NoticeRule(Struct, frozen=True):
    """How one type of journal event becomes a notice. Its words are `notice.<type>`.

    Attributes:
        urgent: Money is at risk or payments have stopped.
        next: The command to type; `{endpoint_id}` and the event's facts are filled in.
        about: The facts that distinguish one cause from another; the endpoint always does.
        cause: The causes that share an end share this name; empty means the event type.
        ends: The event ends its cause; it gives a notice only if the cause gave one.
        closes: Other causes of the same object that end too, without a notice.
        quiet: The owner did it: it only ends `closes`, without a notice.
        changed: Applies only to an event that reports a change of this setting.
    """

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
    text: Text
    next: str
    urgent: bool
    ends: bool
    closes: tuple[str, ...] = ()
    quiet: bool = False


def _text(kind: str, facts: Facts) -> Text:
    """Return the sentence of a notice: its words are `notice.<type of the event>`."""
    key, (prefix, _, of_journal) = f"notice.{kind}", kind.partition("notice.")
    if not prefix and of_journal in NOTICES:
        return notice_text(of_journal, facts)
    why, fix = restore(facts, "why"), restore(facts, "fix")
    # The address without its query, which may hold a key: a notice goes by e-mail and SMS.
    url = str(facts.get("url", "")).partition("?")[0]
    if len(url) > URL_CHARACTERS_MAX:
        url = f"{url[: URL_CHARACTERS_MAX - 3]}..."
    last: Text | str = ""
    if facts.get("last_error_code") is not None:
        status = facts.get("last_status_code")
        means, mend = diagnosis.explain(status, facts["last_error_code"])
        words = "notice.last" if status is None else "notice.last_answer"
        last = Text(words, status=status, means=means, mend=mend)
    # A line in words; its number stays out of e-mails.
    line = Text("notice.line.sim", name=facts.get("name"))
    if facts.get("network"):
        line = Text("notice.line.in", network=facts["network"], name=facts.get("name"))
    if kind == "review.opened":
        why = reviews.explain_opened(facts).why
    elif kind == "disk.has_room":
        key = f"{key}.{facts['room']}"
    return Text(
        key,
        where=url or Text("notice.endpoint"),
        count=facts.get("consecutive_failures", AUTO_PAUSE_AT),
        last=last,
        why=why or _NO_WHY.get(kind, ""),
        then=Text("notice.never_paused") if facts.get("implicit") else Text("notice.then_paused", most=AUTO_PAUSE_AT),
        modem=facts.get("name") or facts.get("device_id") or "",
        free=int(facts.get("free_bytes", 0)) // 1_000_000,
        below=_BELOW.get(kind, 0) // 1_000_000,
        line=line,
        # Some next steps of modems end with a full stop.
        fix=fix if isinstance(fix, Text) else fix.rstrip("."),
        what=", ".join(map(str, facts.get("what") or ())),
        **{name: facts.get(name) for name in _PLAIN},
    )


_NO_WHY: Final = {"endpoint.blocked": Text("notice.not_public"), "clock.suspect": Text("notice.clock_wrong")}
"""Said where an event does not say why."""
_PLAIN: Final = ("messages", "payments", "branch", "port", "days", "by", "loop", "source", "slot")
"""Facts that stand in a sentence as they are."""
_BELOW: Final = {"disk.low": LOW_BYTES, "disk.tight": TIGHT_BYTES, "disk.full": FULL_BYTES}


_NEXT: Final = {"receipt_held": "momo review list", "receipt_old": "momo messages list --state historical"}
"""What to type about a notice of the journal, where it is not the list of transactions."""
# No code calls a mailer: a journal row is written in the same database transaction as its cause, and the notices loop
# reads the journal. Its position is committed with the queued notices, so a crash neither loses nor doubles one.
RULES: Final[Mapping[str, NoticeRule]] = {
    "endpoint.failing": NoticeRule(next="momo endpoints show {endpoint_id}", cause="endpoint.failing"),
    "endpoint.recovered": NoticeRule(cause="endpoint.failing", ends=True, closes=("endpoint.blocked",)),
    "endpoint.auto_paused": NoticeRule(urgent=True, next="momo endpoints resume {endpoint_id}", cause="endpoint.paused",
        closes=("endpoint.failing", "endpoint.blocked")),
    "endpoint.paused": NoticeRule(closes=("endpoint.failing", "endpoint.blocked"), quiet=True),
    "endpoint.updated": NoticeRule(closes=("endpoint.blocked",), quiet=True, changed="url"),
    "endpoint.resumed": NoticeRule(cause="endpoint.paused", ends=True),
    "endpoint.deleted": NoticeRule(cause="endpoint.paused", ends=True, closes=("endpoint.failing", "endpoint.blocked")),
    "endpoint.blocked": NoticeRule(urgent=True, next="momo endpoints show {endpoint_id}", cause="endpoint.blocked"),
    "endpoint.unblocked": NoticeRule(cause="endpoint.blocked", ends=True),
    "delivery.failed": NoticeRule(next="momo dead-letters list"),
    "link.lost": NoticeRule(urgent=True, next="momo deliveries list --status pending", cause=OUTAGE_CAUSE),
    "link.returned": NoticeRule(cause=OUTAGE_CAUSE, ends=True),
    "review.opened": NoticeRule(urgent=True, next="momo review list", about=("reason",)),
    "sim.silent": NoticeRule(urgent=True, next="momo phones status", about=("device_id", "slot_index"), cause="sim.silent"),
    "sim.heard_again": NoticeRule(about=("device_id", "slot_index"), cause="sim.silent", ends=True),
    "message.incomplete": NoticeRule(next="momo messages list --state incomplete"),
    "messages.recovered": NoticeRule(next="momo messages list"),
    "sim.locked": NoticeRule(urgent=True, next="momo lines pin", about=("device_id",)),
    "sim.pin_wrong": NoticeRule(urgent=True, next="momo lines pin", about=("device_id",)),
    "modem.hung": NoticeRule(urgent=True, next="momo phones status", about=("device_id",), cause="modem"),
    "modem.answers": NoticeRule(about=("device_id",), cause="modem", ends=True),
    "modem.message_lost": NoticeRule(urgent=True, next="momo reconcile", about=("device_id",)),
    "modem.kept": NoticeRule(urgent=True, next="momo phones status", about=("device_id",)),
    "modem.hilink": NoticeRule(urgent=True, next="momo doctor modem", about=("device_id",)),
    "source.unreadable": NoticeRule(urgent=True, next="momo messages list --state unparsed", about=("source",)),
    "source.other_sim": NoticeRule(next="momo config edit", about=("source", "slot")),
    "modem.unusable": NoticeRule(urgent=True, next="momo doctor modem", about=("port",), cause="modem.unusable"),
    "modem.usable": NoticeRule(about=("port",), cause="modem.unusable", ends=True),
    "line.not_receiving": NoticeRule(urgent=True, next="momo phones status", about=("sim",), cause="line.not_receiving"),
    "line.receiving": NoticeRule(about=("sim",), cause="line.not_receiving", ends=True),
    "line.not_watched": NoticeRule(about=("sim",), closes=("line.not_receiving",), quiet=True),
    "line.unused": NoticeRule(next="momo phones test {device_id}", about=("sim",), cause="line.unused"),
    "line.in_use": NoticeRule(about=("sim",), cause="line.unused", ends=True),
    "line.roaming": NoticeRule(next="momo phones status", about=("sim",), cause="line.roaming"),
    "line.home": NoticeRule(about=("sim",), cause="line.roaming", ends=True),
    "modem.storage_high": NoticeRule(urgent=True, next="momo phones status", about=("device_id",), cause="modem.storage"),
    "modem.storage_low": NoticeRule(about=("device_id",), cause="modem.storage", ends=True),
    "clock.suspect": NoticeRule(urgent=True, next="sudo timedatectl set-ntp true", cause="clock"),
    "clock.right": NoticeRule(cause="clock", ends=True),
    "db.damaged": NoticeRule(urgent=True, next="momo restore --stop", cause=CAUSE),
    "db.findings": NoticeRule(urgent=True, next="momo doctor ledger", cause=CAUSE),
    "db.sound": NoticeRule(cause=CAUSE, ends=True),
    "disk.low": NoticeRule(next="momo backup prune", about=("room",), cause="disk"),
    "disk.tight": NoticeRule(urgent=True, next="momo backup prune", about=("room",), cause="disk"),
    "disk.full": NoticeRule(urgent=True, next="momo backup prune", about=("room",), cause="disk"),
    "disk.has_room": NoticeRule(about=("room",), cause="disk", ends=True),
    "settings.broken": NoticeRule(next="momo config edit", cause=SETTINGS_CAUSE),
    "settings.mended": NoticeRule(cause=SETTINGS_CAUSE, ends=True),
    "loop.failed": NoticeRule(urgent=True, next=REPORT, about=("loop",), cause="loop.failed"),
    "loop.works": NoticeRule(about=("loop",), cause="loop.failed", ends=True),
    "branch.brings": NoticeRule(next="momo hub status", about=("branch",)),
    "password.changed": NoticeRule(),
    **{f"notice.{kind}": NoticeRule(urgent=kind != "balance_warning", next=_NEXT.get(kind, "momo tx list")) for kind in NOTICES},
}  # fmt: skip
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
    for name, value in known.items():
        command = command.replace(f"{{{name}}}", str(value))
    return EventNotice(
        cause=":".join((rule.cause or event.type, *about)), kind=event.type, text=_text(event.type, facts),
        next=command, urgent=rule.urgent, ends=rule.ends,
        closes=tuple(":".join((name, *about)) for name in rule.closes), quiet=rule.quiet,
    )  # fmt: skip


def disk_cause(room: SpaceStep) -> str:
    """Return the cause of the notices about a level of free disk space."""
    return f"disk:{room}"


def retry_at(tries: int, now_us: int) -> int | None:
    """Return when a message is tried again after `tries` failures, or None if it is given up."""
    return None if tries > len(RETRIES_US) else now_us + RETRIES_US[tries - 1]


def notice(row: NoticeRow) -> Json:
    """Return the object of a notice; `next` is the command to type, or null."""
    return {
        "id": row.id, "kind": row.kind, "urgent": row.urgent, "text": row.text, "next": row.next or None,
        "count": row.count, "first_at": timestamp(row.first_at), "last_at": timestamp(row.last_at),
        "seen_at": timestamp_or_none(row.seen_at), "recovered_at": timestamp_or_none(row.recovered_at),
    }  # fmt: skip
