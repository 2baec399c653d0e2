"""The table of errors: code -> exit code and the commands to type next.

One row per `wire.ErrorCode`, tested to be complete and to name only commands that exist. The message of an error of
the daemon is in `daemon.error_table`; a row has a sentence only for codes that the programs raise themselves.
"""

import contextlib
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Any, Final, NamedTuple

from daemon.wire import ErrorCode
from momo_cli.exit_codes import (
    AUTH,
    CANCELLED,
    CONFIGURATION,
    DAEMON,
    DATABASE,
    FAILED,
    FINDINGS,
    NOT_FOUND,
    NOT_SET_UP,
    PENDING,
    REFUSED,
    USAGE,
)
from momo_cli.text import at, clean


class ErrorRow(NamedTuple):
    """The exit code of one error code and the commands to type next, `{name}` filled from the facts (see `next_of`).

    `sentence` is the message of a code that the programs raise themselves; empty if the daemon's message is shown.
    """

    exit_code: int
    next: tuple[str, ...]
    sentence: str = ""


_E = ErrorCode
_HELP = ("momo help",)
_STATUS = ("momo status",)
_SETTINGS = ("momo help files",)
_VERSION = ("momo --version",)
_OLDER = "; it may be older than this momo"

ERRORS: Final[Mapping[ErrorCode, ErrorRow]] = {
    _E.MALFORMED_REQUEST: ErrorRow(USAGE, _HELP),
    _E.INVALID_JSON: ErrorRow(USAGE, _HELP),
    _E.UNAUTHORIZED: ErrorRow(AUTH, _SETTINGS),
    _E.INSUFFICIENT_SCOPE: ErrorRow(AUTH, _STATUS),
    _E.SESSION_REQUIRED: ErrorRow(AUTH, _STATUS),
    _E.SECRET_KEY_REQUIRED: ErrorRow(AUTH, _STATUS),
    _E.LIVE_KEY_REQUIRED: ErrorRow(AUTH, _STATUS),
    _E.INVALID_PASSWORD: ErrorRow(AUTH, ("momo {typed}", "momo users password")),
    _E.SECOND_FACTOR_REQUIRED: ErrorRow(AUTH, ("momo users list",)),
    _E.ROLE_REQUIRED: ErrorRow(AUTH, ("momo users list",)),
    _E.HEAD_OFFICE_ONLY: ErrorRow(AUTH, ("momo keys list",)),
    _E.FORM_REFUSED: ErrorRow(AUTH, ("momo open",)),
    _E.OPEN_COLLECTIONS_DISABLED: ErrorRow(AUTH, _SETTINGS),
    _E.TRANSACTION_NOT_FOUND: ErrorRow(NOT_FOUND, ("momo tx list",)),
    _E.NO_MATCHING_TRANSACTION: ErrorRow(
        NOT_FOUND, ("momo messages list --since 1h", "momo reconcile {reference} {transaction_id}")
    ),
    _E.ENDPOINT_NOT_FOUND: ErrorRow(NOT_FOUND, ("momo endpoints list",)),
    _E.DELIVERY_NOT_FOUND: ErrorRow(NOT_FOUND, ("momo deliveries list",)),
    _E.PAYMENT_METHOD_NOT_FOUND: ErrorRow(NOT_FOUND, ("momo lines list",)),
    _E.DEAD_LETTER_NOT_FOUND: ErrorRow(NOT_FOUND, ("momo dead-letters list",)),
    _E.RULE_NOT_FOUND: ErrorRow(NOT_FOUND, ("momo endpoints list",)),
    _E.REVIEW_NOT_FOUND: ErrorRow(NOT_FOUND, ("momo review list",)),
    _E.DEVICE_NOT_FOUND: ErrorRow(NOT_FOUND, ("momo phones list",)),
    _E.MESSAGE_NOT_FOUND: ErrorRow(NOT_FOUND, ("momo messages list",)),
    _E.NOTICE_NOT_FOUND: ErrorRow(NOT_FOUND, ("momo notices list --all",)),
    _E.APPROVED_PAYER_NOT_FOUND: ErrorRow(NOT_FOUND, ("momo review payers list",)),
    _E.KEY_NOT_FOUND: ErrorRow(NOT_FOUND, ("momo keys list",)),
    _E.USER_NOT_FOUND: ErrorRow(NOT_FOUND, ("momo users list",)),
    _E.ROUTE_NOT_FOUND: ErrorRow(NOT_FOUND, _VERSION, f"this daemon cannot do that{_OLDER}"),
    _E.METHOD_NOT_ALLOWED: ErrorRow(USAGE, _VERSION, f"this daemon does not accept that call{_OLDER}"),
    _E.PAYLOAD_TOO_LARGE: ErrorRow(USAGE, _HELP),
    _E.UNSUPPORTED_MEDIA_TYPE: ErrorRow(USAGE, _VERSION, f"this daemon does not accept that kind of request{_OLDER}"),
    _E.HEADERS_TOO_LARGE: ErrorRow(USAGE, _HELP),
    _E.MISDIRECTED_REQUEST: ErrorRow(REFUSED, ("momo config get http.public_base_url",)),
    _E.TRANSACTION_ID_ALREADY_USED: ErrorRow(REFUSED, ("momo tx show {used_by_reference}",)),
    _E.ALREADY_VERIFIED: ErrorRow(REFUSED, ("momo tx show {reference}",)),
    _E.LINES_NOT_READY: ErrorRow(
        REFUSED,
        ("momo lines", "momo lines update {method_id} --sim {device}:{slot}", "momo lines ignore {device}:{slot}"),
    ),
    _E.SIM_ALREADY_ASSIGNED: ErrorRow(
        REFUSED,
        ("momo lines update {method_id} --sim {device}:{slot} --move", "momo lines update {phone_number} --sim none"),
    ),
    _E.PAYMENT_METHOD_EXISTS: ErrorRow(REFUSED, ("momo lines show {payment_method_id}",)),
    _E.USER_EXISTS: ErrorRow(REFUSED, ("momo users list",)),
    _E.METHOD_HAS_NO_SIM: ErrorRow(REFUSED, ("momo lines update {method_id} --sim {device}:{slot}",)),
    _E.USSD_IN_USE: ErrorRow(REFUSED, ("momo lines ussd --help",)),
    _E.DELIVERY_NOT_REDELIVERABLE: ErrorRow(REFUSED, ("momo deliveries list",)),
    _E.DEAD_LETTER_ALREADY_REPLAYED: ErrorRow(REFUSED, ("momo dead-letters list --include-replayed",)),
    _E.ENDPOINT_DELETED: ErrorRow(REFUSED, ("momo endpoints list",)),
    _E.ENDPOINT_LIMIT: ErrorRow(REFUSED, ("momo endpoints list",)),
    _E.ROTATION_LIMIT: ErrorRow(REFUSED, _STATUS),
    _E.TRANSACTION_NOT_CANCELLABLE: ErrorRow(REFUSED, ("momo tx show {reference}",)),
    _E.NOT_SETTLEABLE: ErrorRow(REFUSED, ("momo tx show {reference}",)),
    _E.ALREADY_SETTLED: ErrorRow(REFUSED, ("momo tx show {reference}", "momo tx settle {reference} --undo")),
    _E.NO_CHECKOUT_PAGE: ErrorRow(REFUSED, ("momo tx show {reference}",)),
    _E.PAYMENT_HANDED_UP: ErrorRow(REFUSED, ("momo hub status",)),
    _E.BELONGS_TO_BRANCH: ErrorRow(REFUSED, ("momo hub status",)),
    _E.HUB_DECIDES: ErrorRow(REFUSED, ("momo hub status",)),
    _E.NOT_A_HUB: ErrorRow(REFUSED, ("momo hub init",)),
    _E.NOT_A_BRANCH: ErrorRow(REFUSED, ("momo hub join --help",)),
    _E.BRANCH_EXISTS: ErrorRow(REFUSED, ("momo hub status", "momo hub status")),
    _E.BRANCH_NOT_FOUND: ErrorRow(NOT_FOUND, ("momo hub status",)),
    _E.BRANCH_DISPUTED: ErrorRow(REFUSED, ("momo hub status",)),
    _E.BRANCH_STALE: ErrorRow(REFUSED, ("momo hub restore --from-hub",)),
    _E.INVITATION_INVALID: ErrorRow(REFUSED, ("momo hub status",)),
    _E.HUB_REFUSED: ErrorRow(REFUSED, ("momo hub status",)),
    _E.BRANCH_ASKED: ErrorRow(PENDING, ("momo hub status",)),
    _E.REVIEW_ALREADY_DECIDED: ErrorRow(REFUSED, ("momo review show {review}",)),
    _E.DECISION_NOT_UNDOABLE: ErrorRow(REFUSED, ("momo review show {review}",)),
    _E.PAYER_STILL_OPEN: ErrorRow(
        REFUSED, ("momo tx list --status waiting", "momo tx list --status waiting --sandbox")
    ),
    _E.PAYMENT_REVERSED: ErrorRow(REFUSED, ("momo messages list --since 24h",)),
    _E.IDEMPOTENCY_IN_PROGRESS: ErrorRow(PENDING, _STATUS),
    _E.AMOUNT_MISMATCH: ErrorRow(REFUSED, ("momo reconcile {reference} {transaction_id}",)),
    _E.VALIDATION_ERROR: ErrorRow(USAGE, ("momo {command} --help",)),
    _E.AMBIGUOUS_TRANSACTION_ID: ErrorRow(
        REFUSED, ("momo reconcile {reference} {transaction_id} --provider {provider}",)
    ),
    _E.URL_NOT_ALLOWED: ErrorRow(
        REFUSED, ("momo endpoints add --help", "momo config get webhooks.allow_private_hosts")
    ),
    _E.SIM_NOT_FOUND: ErrorRow(REFUSED, ("momo phones list",)),
    _E.NETWORK_MISMATCH: ErrorRow(REFUSED, ("momo phones list",)),
    _E.REPLAY_WINDOW_TOO_LARGE: ErrorRow(REFUSED, ("momo replay --endpoint {endpoint} --from 60d --to now --chunk",)),
    _E.IDEMPOTENCY_KEY_REUSED: ErrorRow(REFUSED, ("momo init --help",)),
    _E.IDEMPOTENCY_KEY_CONFLICT: ErrorRow(REFUSED, ("momo init --help",)),
    _E.IDEMPOTENCY_KEY_INVALID: ErrorRow(REFUSED, ("momo init --help",)),
    _E.TOO_MANY_ATTEMPTS: ErrorRow(AUTH, _STATUS),
    _E.RATE_LIMITED: ErrorRow(AUTH, _STATUS),
    _E.INTERNAL_ERROR: ErrorRow(FAILED, _STATUS),
    _E.UNAVAILABLE: ErrorRow(DAEMON, _STATUS),
    _E.NOT_SET_UP: ErrorRow(NOT_SET_UP, ("momo setup",), "there is no shop on this machine yet"),
    _E.DAEMON_DOWN: ErrorRow(DAEMON, ("momo daemon start",), "the daemon cannot be reached"),
    _E.LOCKED: ErrorRow(CANCELLED, ("momo daemon status",), "another process uses this shop"),
    _E.DISK_FULL: ErrorRow(
        FAILED,
        ("momo backup prune", "momo doctor disk"),
        "there is not enough space on that disk for a copy; nothing was changed",
    ),
    _E.SERVICE_NOT_INSTALLED: ErrorRow(
        NOT_FOUND, ("momo daemon install",), "this shop is not installed as a service of this machine"
    ),
    _E.NOT_PERMITTED: ErrorRow(AUTH, ("momo doctor",), "this user may not change that"),
    _E.USAGE: ErrorRow(USAGE, ("momo {command} --help",), "a flag or argument is wrong"),
    _E.CONFIG_INVALID: ErrorRow(CONFIGURATION, _SETTINGS, "the settings are wrong"),
    _E.DATABASE_DAMAGED: ErrorRow(DATABASE, _SETTINGS, "the database is damaged; nothing was changed"),
    _E.DATABASE_NEWER: ErrorRow(CONFIGURATION, _VERSION, "the database was written by a newer version of momo"),
    _E.DATABASE_FOREIGN: ErrorRow(
        CONFIGURATION, _SETTINGS, "the database was made by another program or by a pre-release of momo"
    ),
    _E.BACKUP_NOT_FOUND: ErrorRow(NOT_FOUND, ("momo backup list",), "there is no such backup"),
    _E.CERTIFICATE_NOT_FOUND: ErrorRow(
        NOT_FOUND, ("momo daemon certificate create",), "this shop has no certificate of its own yet"
    ),
    _E.BACKUP_FAILED: ErrorRow(
        FINDINGS, ("momo backup list",), "that backup cannot be made or used; the shop was not touched"
    ),
}
"""Every error code."""

_LISTS: Final[Mapping[str, str]] = {
    "endpoint_id": "momo endpoints list",
    "payment_method_id": "momo lines list",
    "line": "momo lines list",
}
"""The command that lists the valid values of a field; more useful than the help of the failed command."""

_SHOWN_BY: Final[Mapping[str, str]] = {
    "typed": "momo status",
    "reference": "momo tx list",
    "used_by_reference": "momo tx list",
    "transaction_id": "momo messages list --since 24h",
    "provider": "momo messages list --since 24h",
    "payment_method_id": "momo lines list",
    "method_id": "momo lines list",
    "phone_number": "momo lines list",
    "device": "momo phones list",
    "slot": "momo phones list",
    "endpoint": "momo endpoints list",
    "review": "momo review list --all",
}
"""The command that shows the possible values of a placeholder."""

_OF_BOTH_MODES: Final = tuple(
    f"momo {name}"
    for name in (
        "claim ",
        "dead-letters list ",
        "dead-letters replay --all ",
        "deliveries list ",
        "lines --",
        "lines add ",
        "lines list ",
        "lines remove ",
        "lines show ",
        "lines status ",
        "lines update ",
        "review list ",
        "lines ignore ",
        "phones list ",
        "tx list ",
    )
)
"""Beginnings of the commands that show nothing of the sandbox, or change nothing in it, without `--sandbox`."""

RECONCILE_EXITS: Final[Mapping[ErrorCode, int]] = {
    _E.TRANSACTION_NOT_FOUND: REFUSED,
    _E.IDEMPOTENCY_IN_PROGRESS: REFUSED,
}
"""Exit codes that differ for `momo reconcile`: its 3 means only that the payment has not arrived yet."""

_UNQUOTED: Final = ("command", "typed")
"""The facts that are several words: the name of the command, and what was typed behind `momo`."""
_MESSAGE_FIRST: Final = (_E.USAGE, _E.DAEMON_DOWN, _E.CONFIG_INVALID)
_BY_STATUS: Final = (
    ((400, 405, 413, 415, 431), USAGE),
    ((401, 403, 429), AUTH),
    ((404,), NOT_FOUND),
    ((409, 422), REFUSED),
    ((503,), DAEMON),
)


@dataclass(slots=True, eq=False)
class Failure(Exception):  # an expected outcome, not a defect
    """A command failed for a known reason.

    Attributes:
        code: An `ErrorCode`, or a code of a newer daemon.
        message: The daemon's message, or the message of this program.
        http_status: The daemon's HTTP status; 0 if no call was made.
        body: The daemon's error body, unchanged; empty if no call was made.
        facts: Values for the placeholders of the next commands.
        next: Next commands that replace those of the table.
        exit_code: An exit code that replaces that of the table.
        streamed: Rows were already written as one JSON document per line; the error is one more line.
        sandbox: The command was given `--sandbox`, or called in test mode; so are the next ones that have the flag.
        shown: The requested output, written to stdout despite the failure unless a JSON document of the failure is.
    """

    code: str
    message: str = ""
    http_status: int = 0
    body: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    next: tuple[str, ...] = ()
    exit_code: int | None = None
    streamed: bool = False
    sandbox: bool = False
    shown: str = ""


def usage(message: str, *next_commands: str) -> Failure:
    """Return the failure for a wrong flag, argument or value (exit 2)."""
    return Failure(ErrorCode.USAGE, message, next=next_commands)


@contextlib.contextmanager
def known(**facts: str) -> Iterator[None]:
    """Add facts to a failure of the block, for the commands to type next; those that it has stay."""
    try:
        yield
    except Failure as failure:
        failure.facts = {**facts, **failure.facts}
        raise


def row_for(failure: Failure) -> ErrorRow:
    """Return the table row of the code; for an unknown code, a row chosen by HTTP status."""
    try:
        return ERRORS[ErrorCode(failure.code)]
    except ValueError:
        codes = (code for statuses, code in _BY_STATUS if failure.http_status in statuses)
        return ErrorRow(next(codes, FAILED), ("momo --version",))


def headline(failure: Failure) -> str:
    """Return the error as one line.

    The row's sentence for a code that the programs raise themselves (USAGE, DAEMON_DOWN and CONFIG_INVALID: the message,
    which says more); else the daemon's message, written as the other errors are.
    """
    row, message = row_for(failure), clean(failure.message)
    if row.sentence and not (message and failure.code in _MESSAGE_FIRST):
        return row.sentence
    return (as_clause(message) if failure.http_status else message) or "the daemon refused the call"


def as_clause(message: str) -> str:
    """Return a message of the daemon without its capital letter and, if it is one sentence, its full stop."""
    first = message.partition(" ")[0].replace("'", "")
    if first.isalpha() and first[1:] == first[1:].lower():  # "API" and "ModemManager" stay
        message = message[:1].lower() + message[1:]
    return message if ". " in message else message.removesuffix(".")


def exit_code_of(failure: Failure) -> int:
    """Return the exit code of the process."""
    return row_for(failure).exit_code if failure.exit_code is None else failure.exit_code


def next_of(failure: Failure) -> list[str]:
    """Return the commands to type next, with the known facts filled in.

    A command with an unknown fact cannot be typed, so the command that shows such facts stands in its place.
    """
    error = failure.body.get("error")
    given = error.get("next") if isinstance(error, dict) else None
    if not failure.next and isinstance(given, list) and given:
        commands = [str(command) for command in given]
    else:
        commands = ([] if failure.next else _value_lists(failure)) or _filled(failure)
        if not failure.next and failure.code != ErrorCode.INVALID_PASSWORD:
            # The command that has just failed is no way on; a password may be typed again.
            failed = f"momo {failure.facts.get('command', '')}"
            others = ("momo doctor", "momo daemon logs")
            left = [each for each in commands if each != failed]
            commands = left or [each for each in others if each != failed][:1]
    return [in_sandbox(each) for each in commands] if failure.sandbox else commands


def in_sandbox(command: str) -> str:
    """Return a command of both modes with `--sandbox`; any other command unchanged."""
    there = command == "momo lines" or f"{command} ".startswith(_OF_BOTH_MODES)
    takes = there and not command.endswith(("--help", "--sandbox"))
    return f"{command} --sandbox" if takes else command


def _filled(failure: Failure) -> list[str]:
    """Return the commands of the failure, else of the table, with the facts of the answer and of the failure."""
    error, facts = failure.body.get("error"), dict[str, str]()
    if isinstance(error, dict):
        facts.update({k: shlex.quote(v) for k, v in error.items() if isinstance(v, str)})
        # The first SIM without a number, as it is typed.
        sim = at(error, "sims_without_number.0")
        name, slot = at(sim, "name") or at(sim, "device_id"), at(sim, "slot_index")
        if name is not None and slot is not None:
            facts.update({"device": shlex.quote(str(name)), "slot": str(slot)})
    facts.update({k: v if k in _UNQUOTED else shlex.quote(v) for k, v in failure.facts.items()})
    found = []
    for command in failure.next or row_for(failure).next:
        names = [name for _, name, _, _ in Formatter().parse(command) if name]
        unknown = next((name for name in names if name not in facts), None)
        other = _SHOWN_BY.get(str(unknown), "momo help")
        found.append(command.format_map(facts) if unknown is None else other)
    return list(dict.fromkeys(found))


def _value_lists(failure: Failure) -> list[str]:
    """Return the commands that list valid values for the wrong fields."""
    details = at(failure.body, "error.details") or failure.body.get("details")
    fields = [at(detail, "field") for detail in details] if isinstance(details, list) else []
    return list(dict.fromkeys(_LISTS[field] for field in fields if field in _LISTS))


def document(failure: Failure) -> dict[str, Any]:
    """Return the JSON document of a failure: the daemon's body, plus `next` and `exit_code`."""
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
