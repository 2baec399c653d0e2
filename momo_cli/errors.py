"""The dictionary of errors: code -> exit code, sentence for people, and what to type next.

One row per `wire.ErrorCode`, tested to be complete and to name only commands that exist. The
daemon's own message stands below the sentence as the proof; `--json` carries the daemon's body.
Longer than 300 lines because the table has a row for every code.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from daemon.wire import ErrorCode
from momo_cli import exits
from momo_cli.text import at


@dataclass(frozen=True, slots=True)
class Row:
    """What one code means to the person at the keyboard.

    Attributes:
        exit_code: One of `exits`.
        sentence: What happened, in plain words.
        next: Commands to type next; `{name}` is filled from what is known, else shown as NAME.
    """

    exit_code: int
    sentence: str
    next: tuple[str, ...]


_E = ErrorCode
_HELP = ("momo help",)
_STATUS = ("momo status",)
_SETTINGS = ("momo help files",)

ERRORS: Final[Mapping[ErrorCode, Row]] = {
    _E.INVALID_JSON: Row(exits.USAGE, "the daemon could not read the request", _HELP),
    _E.UNAUTHORIZED: Row(exits.AUTH, "the daemon does not accept you", _STATUS),
    _E.INSUFFICIENT_SCOPE: Row(exits.AUTH, "this caller may not do that", _STATUS),
    _E.SESSION_REQUIRED: Row(
        exits.AUTH, "only the shop's owner, on the shop's machine, may do that", _STATUS
    ),
    _E.SECRET_KEY_REQUIRED: Row(exits.AUTH, "that needs a secret key", _STATUS),
    _E.LIVE_KEY_REQUIRED: Row(exits.AUTH, "that is live; a test caller may not touch it", _STATUS),
    _E.INVALID_PASSWORD: Row(exits.AUTH, "the password is wrong", _STATUS),
    _E.OPEN_COLLECTIONS_DISABLED: Row(
        exits.AUTH, "forwarding to endpoints is switched off for this shop", _SETTINGS
    ),
    _E.TRANSACTION_NOT_FOUND: Row(
        exits.NOT_FOUND, "there is no order with that reference or code", ("momo tx list",)
    ),
    _E.NO_MATCHING_TRANSACTION: Row(
        exits.NOT_FOUND,
        "no payment with that ID has arrived (yet)",
        (
            "momo messages list --since 1h",
            "momo reconcile {reference} {transaction_id}",
        ),
    ),
    _E.ENDPOINT_NOT_FOUND: Row(
        exits.NOT_FOUND, "there is no such endpoint", ("momo endpoints list",)
    ),
    _E.DELIVERY_NOT_FOUND: Row(
        exits.NOT_FOUND, "there is no such delivery", ("momo deliveries list",)
    ),
    _E.PAYMENT_METHOD_NOT_FOUND: Row(
        exits.NOT_FOUND, "there is no such number", ("momo methods list",)
    ),
    _E.DEAD_LETTER_NOT_FOUND: Row(
        exits.NOT_FOUND,
        "there is no such dead letter",
        ("momo dead-letters list",),
    ),
    _E.RULE_NOT_FOUND: Row(exits.NOT_FOUND, "there is no such rule", ("momo endpoints list",)),
    _E.REVIEW_NOT_FOUND: Row(exits.NOT_FOUND, "there is no such review", ("momo review list",)),
    _E.DEVICE_NOT_FOUND: Row(exits.NOT_FOUND, "there is no such phone", ("momo sims list",)),
    _E.MESSAGE_NOT_FOUND: Row(exits.NOT_FOUND, "there is no such message", ("momo messages list",)),
    _E.NOTICE_NOT_FOUND: Row(
        exits.NOT_FOUND, "there is no such notice", ("momo notices list --all",)
    ),
    _E.APPROVED_PAYER_NOT_FOUND: Row(
        exits.NOT_FOUND, "there is no such approved payer", ("momo payers list",)
    ),
    _E.KEY_NOT_FOUND: Row(exits.NOT_FOUND, "there is no such API key", ("momo keys list",)),
    _E.ROUTE_NOT_FOUND: Row(
        exits.NOT_FOUND,
        "this daemon cannot do that; it may be older than this momo",
        ("momo version",),
    ),
    _E.METHOD_NOT_ALLOWED: Row(
        exits.USAGE,
        "this daemon does not take that call; it may be older than this momo",
        ("momo version",),
    ),
    _E.PAYLOAD_TOO_LARGE: Row(exits.USAGE, "the request is larger than 64 KB", _HELP),
    _E.UNSUPPORTED_MEDIA_TYPE: Row(
        exits.USAGE, "this daemon does not read that kind of request", ("momo version",)
    ),
    _E.MISDIRECTED_REQUEST: Row(
        exits.REFUSED,
        "the shop is not known by that host name",
        ("momo config set http.public_base_url https://NAME",),
    ),
    _E.TRANSACTION_ID_ALREADY_USED: Row(
        exits.REFUSED,
        "that payment was already used for another order: do not hand over goods",
        ("momo tx show {used_by_reference}",),
    ),
    _E.ALREADY_VERIFIED: Row(
        exits.REFUSED, "this order is already paid", ("momo tx show {reference}",)
    ),
    _E.LINES_NOT_READY: Row(
        exits.REFUSED,
        "not every SIM has a number yet",
        ("momo lines", "momo sims assign {device}:{slot} --method {method_id}"),
    ),
    _E.SIM_ALREADY_ASSIGNED: Row(
        exits.REFUSED,
        "that SIM already holds another number",
        (
            "momo sims assign {device}:{slot} --method {method_id} --move",
            "momo methods update {payment_method_id} --sim none",
        ),
    ),
    _E.PAYMENT_METHOD_EXISTS: Row(
        exits.REFUSED,
        "that number is already registered",
        ("momo methods show {payment_method_id}",),
    ),
    _E.METHOD_HAS_NO_SIM: Row(
        exits.REFUSED,
        "that number is on no SIM",
        ("momo sims assign {device}:{slot} --method {method_id}",),
    ),
    _E.DELIVERY_NOT_REDELIVERABLE: Row(
        exits.REFUSED,
        "that delivery is still being tried; only delivered and failed ones can be sent again",
        ("momo deliveries list",),
    ),
    _E.DEAD_LETTER_ALREADY_REPLAYED: Row(
        exits.REFUSED,
        "that dead letter was already sent again",
        ("momo dead-letters list --include-replayed",),
    ),
    _E.ENDPOINT_DELETED: Row(
        exits.REFUSED,
        "the endpoint of that delivery was deleted",
        ("momo endpoints list",),
    ),
    _E.ENDPOINT_LIMIT: Row(
        exits.REFUSED, "there are already 50 endpoints", ("momo endpoints list",)
    ),
    _E.ROTATION_LIMIT: Row(
        exits.REFUSED, "that secret was changed three times within 24 hours", _STATUS
    ),
    _E.TRANSACTION_NOT_CANCELLABLE: Row(
        exits.REFUSED,
        "this order can no longer be cancelled",
        ("momo tx show {reference}",),
    ),
    _E.NO_CHECKOUT_PAGE: Row(
        exits.REFUSED, "nobody can open a page of this order", ("momo tx show {reference}",)
    ),
    _E.REVIEW_ALREADY_DECIDED: Row(
        exits.REFUSED, "somebody has decided that already", ("momo review list --all",)
    ),
    _E.PAYER_STILL_OPEN: Row(
        exits.REFUSED,
        "something of this payer is not over yet, so nothing was forgotten",
        ("momo forget --payer NUMBER --dry-run",),
    ),
    _E.PAYMENT_REVERSED: Row(
        exits.REFUSED,
        "the network took this payment back: do not hand over goods",
        ("momo messages list --since 24h",),
    ),
    _E.IDEMPOTENCY_IN_PROGRESS: Row(
        exits.PENDING, "the same call is still running; repeat it in a moment", _STATUS
    ),
    _E.AMOUNT_MISMATCH: Row(
        exits.REFUSED,
        "the amount is not what was paid; nothing was changed",
        ("momo reconcile {reference} {transaction_id}",),
    ),
    _E.VALIDATION_ERROR: Row(exits.USAGE, "a value is wrong", ("momo {command} --help",)),
    _E.AMBIGUOUS_TRANSACTION_ID: Row(
        exits.REFUSED,
        "payments of several networks carry that ID",
        ("momo reconcile {reference} {transaction_id} --provider {provider}",),
    ),
    _E.URL_NOT_ALLOWED: Row(
        exits.REFUSED,
        "that address may not receive webhooks",
        (
            "momo endpoints add https://HOST/PATH",
            "momo config set webhooks.allow_private_hosts '[\"HOST\"]'",
        ),
    ),
    _E.SIM_NOT_FOUND: Row(exits.REFUSED, "there is no such SIM", ("momo sims list",)),
    _E.NETWORK_MISMATCH: Row(
        exits.REFUSED,
        "that SIM belongs to another network than the number",
        ("momo sims list",),
    ),
    _E.REPLAY_WINDOW_TOO_LARGE: Row(
        exits.REFUSED, "a replay covers at most 31 days; add --chunk", ("momo replay --help",)
    ),
    _E.IDEMPOTENCY_KEY_REUSED: Row(
        exits.REFUSED,
        "that idempotency key was used for a different request",
        ("momo init --help",),
    ),
    _E.IDEMPOTENCY_KEY_CONFLICT: Row(
        exits.REFUSED,
        "two different idempotency keys were given",
        ("momo init --help",),
    ),
    _E.IDEMPOTENCY_KEY_INVALID: Row(
        exits.REFUSED,
        "an idempotency key has 1 to 255 characters",
        ("momo init --help",),
    ),
    _E.TOO_MANY_ATTEMPTS: Row(exits.AUTH, "too many attempts; wait a while", _STATUS),
    _E.RATE_LIMITED: Row(exits.AUTH, "that is too often; wait a while", _STATUS),
    _E.INTERNAL_ERROR: Row(exits.FAILED, "something went wrong on our side", _STATUS),
    _E.UNAVAILABLE: Row(exits.DAEMON, "the daemon cannot take this right now", _STATUS),
    _E.NOT_SET_UP: Row(exits.NOT_SET_UP, "no shop yet on this machine", ("momo setup",)),
    _E.DAEMON_DOWN: Row(exits.DAEMON, "the daemon cannot be reached", ("momo daemon start",)),
    _E.LOCKED: Row(exits.CANCELLED, "another run holds this shop", ("momo daemon status",)),
    _E.DISK_FULL: Row(
        exits.FAILED,
        "there is no room on that disk for a copy; nothing was changed",
        ("momo backup prune", "momo doctor disk"),
    ),
    _E.SERVICE_NOT_INSTALLED: Row(
        exits.NOT_FOUND, "this shop is no service of this machine", ("momo service install",)
    ),
    _E.NOT_PERMITTED: Row(exits.AUTH, "this user may not change that", ("momo doctor",)),
    _E.USAGE: Row(exits.USAGE, "a flag or argument is wrong", ("momo {command} --help",)),
    _E.CONFIG_INVALID: Row(exits.CONFIGURATION, "the settings are wrong", _SETTINGS),
    _E.DATABASE_DAMAGED: Row(
        exits.DATABASE, "the database is damaged; nothing was changed", _SETTINGS
    ),
    _E.DATABASE_NEWER: Row(
        exits.CONFIGURATION,
        "the database was written by a newer momo",
        ("momo version",),
    ),
    _E.BACKUP_NOT_FOUND: Row(exits.NOT_FOUND, "there is no such backup", ("momo backup list",)),
    _E.BACKUP_FAILED: Row(
        exits.FINDINGS,
        "that backup cannot be made or used; the shop was not touched",
        ("momo backup list",),
    ),
}
"""Every code that there is."""

SAID: Final = frozenset(
    (
        "A call with this idempotency key is still running.",
        "A publishable key may not do that.",
        "A replay covers at most 31 days.",
        "A test key may not touch live things.",
        "At least one SIM has no number yet.",
        "No payment with that transaction ID has arrived.",
        "Only delivered and failed deliveries can be sent again.",
        "Open collections are switched off for this shop.",
        "Payments of several networks carry that transaction ID.",
        "That transaction ID already paid another order.",
        "The endpoint of this delivery was deleted.",
        "The header and the field carry different idempotency keys.",
        "The network took this payment back.",
        "The payment's amount is not the amount you gave; nothing was changed.",
        "The request body is larger than 64 KB.",
        "The request has invalid fields.",
        "The service cannot take this right now.",
        "There is no shop on this machine yet.",
        "There is no such payment method.",
        "There is no such payment request.",
        "There is no such phone.",
        "There is nothing at this address.",
        "This address does not take that method.",
        "This dead letter was already replayed.",
        "This idempotency key was used for a different request.",
        "This key may not do that.",
        "This number is already registered.",
        "This number is on no SIM.",
        "This payment request can no longer be cancelled.",
        "This review was already decided.",
        "This secret was rotated three times within 24 hours.",
        "Too many attempts.",
        "Too many requests.",
    )
)
"""What the daemon says where the dictionary says the same in a shop's words."""

_LISTS: Final[Mapping[str, str]] = {
    "endpoint_id": "momo endpoints list",
    "payment_method_id": "momo methods list",
    "line": "momo methods list",
}
"""Where the right value of a field is found, better than in the command's help."""

RECONCILE_EXITS: Final[Mapping[ErrorCode, int]] = {
    _E.TRANSACTION_NOT_FOUND: exits.REFUSED,
    _E.IDEMPOTENCY_IN_PROGRESS: exits.REFUSED,
}
"""Where `momo reconcile` differs: its 3 means "the payment is not here yet" and nothing else."""

_BY_STATUS: Final = (
    ((400, 405, 413, 415), exits.USAGE),
    ((401, 403, 429), exits.AUTH),
    ((404,), exits.NOT_FOUND),
    ((409, 422), exits.REFUSED),
    ((503,), exits.DAEMON),
)


@dataclass(slots=True, eq=False)
class Failure(Exception):  # a refusal is an outcome, not a defect
    """A command could not do what was asked.

    Attributes:
        code: An `ErrorCode`, or a code of a newer daemon.
        message: The particulars: the daemon's message, or ours.
        http_status: The daemon's status; 0 when it was never asked.
        body: The daemon's error body, unchanged; empty when it was never asked.
        facts: What fills the placeholders of the next commands.
        next: Next commands that fit better than the dictionary's.
        exit_code: An exit code that fits better than the dictionary's.
        streamed: Rows were written before it, a JSON document a line: it is one line more.
        shown: What was asked for all the same, and goes to stdout where no document of the failure does.
    """

    code: str
    message: str = ""
    http_status: int = 0
    body: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    next: tuple[str, ...] = ()
    exit_code: int | None = None
    streamed: bool = False
    shown: str = ""


def usage(message: str, *next_commands: str) -> Failure:
    """Make the failure of a wrong flag, argument or value (exit 2)."""
    return Failure(ErrorCode.USAGE, message, next=next_commands)


def row_for(failure: Failure) -> Row:
    """Return the dictionary's row, or one by HTTP status for a code that we do not know."""
    try:
        return ERRORS[ErrorCode(failure.code)]
    except ValueError:
        codes = (code for statuses, code in _BY_STATUS if failure.http_status in statuses)
        return Row(next(codes, exits.FAILED), "the daemon refused", ("momo version",))


def exit_code_of(failure: Failure) -> int:
    """Say with which code the process ends."""
    return row_for(failure).exit_code if failure.exit_code is None else failure.exit_code


class _Known(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return key.upper()


def next_of(failure: Failure) -> list[str]:
    """Return the commands to type next, with what is known filled in."""
    error = failure.body.get("error")
    known = _Known()
    if isinstance(error, dict):
        known.update({k: shlex.quote(v) for k, v in error.items() if isinstance(v, str)})
        known.update(_bare_sim(error))
    known.update({k: v if k == "command" else shlex.quote(v) for k, v in failure.facts.items()})
    theirs = error.get("next") if isinstance(error, dict) else None
    if not failure.next and isinstance(theirs, list) and theirs:
        return [str(command) for command in theirs]
    if found := [] if failure.next else _where(failure):
        return found
    return [command.format_map(known) for command in failure.next or row_for(failure).next]


def _bare_sim(error: Mapping[str, Any]) -> dict[str, str]:
    """Return the first SIM that has no number, as it is typed."""
    name = at(error, "sims_without_number.0.name") or at(error, "sims_without_number.0.device_id")
    slot = at(error, "sims_without_number.0.slot_index")
    if name is None or slot is None:
        return {}
    return {"device": shlex.quote(str(name)), "slot": str(slot)}


def _where(failure: Failure) -> list[str]:
    """Return the lists in which the right values of the fields that are wrong are found."""
    details = at(failure.body, "error.details") or failure.body.get("details")
    fields = [at(detail, "field") for detail in details] if isinstance(details, list) else []
    return list(dict.fromkeys(_LISTS[field] for field in fields if field in _LISTS))


def document(failure: Failure) -> dict[str, Any]:
    """Return the one JSON document of a failure: the daemon's body, plus next and exit_code."""
    body: dict[str, Any] = {"success": False, **failure.body}
    body["success"] = False
    error = body.get("error")
    error = dict(error) if isinstance(error, dict) else {"code": failure.code}
    error.setdefault("code", failure.code)
    error.setdefault("message", failure.message or row_for(failure).sentence)
    error["next"] = next_of(failure)
    body["error"] = error
    body["exit_code"] = exit_code_of(failure)
    return body
