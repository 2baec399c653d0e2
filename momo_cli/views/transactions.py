"""How transactions and their deliveries are shown, the look-up of a transaction, and waiting for its end."""

import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Final

from daemon.wire import Mode, Path, TransactionStatus
from momo_cli import exit_codes, system
from momo_cli.errors import Failure, known, usage
from momo_cli.inputs import ids
from momo_cli.show.answer import Answer, Cell, Field, Head, Row, fields, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, clock, fact_lines, money, payer_of, state, styled, with_test_mark
from momo_cli.socket.client import PAUSE_S, Client, Event, Outage, Reply, path_of
from momo_cli.text import at, clean
from parsers.pasted import plain_code

_CODE: Final = re.compile(r"[0-9A-Za-z]{6}", re.ASCII)
_PARTIAL: Final = re.compile(r"svc_(?!trx_[0-9a-f]{32}$).*", re.ASCII | re.IGNORECASE | re.DOTALL)
"""The beginning of a reference, or both its ends."""
_FEW: Final = 5
_RECENT: Final = 50
LIST_FIELDS: Final = fields(
    "reference svc_code status expected_amount actual_amount difference difference_type currency",
    "payer_phone payer_name created_at completed_at",
    "payer_phone_source=payer_source.phone_number payer_name_source=payer_source.name",
)
SHOW_VIEW: Final = view_of(
    *LIST_FIELDS[:8],
    "payer_phone=payer.phone_number payer_name=payer.name telco_provider=telco.provider",
    "telco_transaction_id=telco.transaction_id client_reference processing_time_ms",
    "created_at=timeline.created_at completed_at=timeline.completed_at",
    "payer_phone_source=payer_source.phone_number payer_name_source=payer_source.name held_review_id",
    Field("branch", extra=True),
    id="reference",
)
_ARRIVED: Final = "momo messages list --since 24h"
"""Shows the network's IDs, for `momo reconcile`."""
PAID: Final = (TransactionStatus.SUCCESS, TransactionStatus.OVERPAID)
FINAL: Final = (*PAID, TransactionStatus.PARTIAL, TransactionStatus.EXPIRED, TransactionStatus.CANCELLED)
STATUS_WORDS: Final = {
    "WAITING": TransactionStatus.PENDING,
    "PAID": TransactionStatus.SUCCESS,
    "SHORT": TransactionStatus.PARTIAL,
    "OVER": TransactionStatus.OVERPAID,
    "REVIEW": TransactionStatus.MANUAL_REVIEW,
}
"""The words in tables, and the API's status for each."""
SETTLED: Final = {"rest_received": "the rest came", "waived": "waived", "change_given": "change given"}
"""How a short or overpaid transaction was settled, in words."""


def transaction_state(row: Row) -> Cell:
    """Return the word for a transaction's status; one that is reversed, or that the balances deny, does not look paid."""
    if row.get("doubted"):
        return Cell("✗ DO NOT TRUST", "red")
    found = state(row.get("status"))
    return Cell(f"{found.text}, REVERSED", "red") if row.get("reversed_at") else found


LIST_VIEW: Final = view_of(
    *LIST_FIELDS,
    Field("branch", extra=True),
    Head("STATUS", lambda row, _: with_test_mark(transaction_state(row), row)),
    Head("CODE", lambda row, _: Cell(clean(row.get("svc_code")), "bold")),
    Head("EXPECTED", lambda row, _: money(row.get("expected_amount")), right=True),
    Head("RECEIVED", lambda row, _: money(row.get("actual_amount")), right=True),
    Head("DIFF", lambda row, _: money(row.get("difference")), right=True),
    Head("PAYER", lambda row, _: payer_of(row), short=True),
    Head("WHEN", lambda row, t: ago(row.get("completed_at") or row.get("created_at"), t)),
    Head("BRANCH", lambda row, _: clean(row.get("branch")), optional=True),
    Head("REFERENCE", lambda row, _: clean(row.get("reference")), cut=True),
    id="reference",
)


def mark_doubted(rows: Sequence[Row], client: Client, terminal: Terminal) -> list[Row]:
    """Mark, for a person, the paid transactions among the newest payments that the wallet's balances deny."""
    if not terminal.human or not any(row.get("status") in PAID for row in rows):
        return list(rows)
    mode = Mode.TEST if client.sandbox else Mode.LIVE
    newest = at(client.find(Path.LOCAL_REPORT, recent=_RECENT, mode=mode), "recent") or ()
    denied = {at(row, "order.reference") for row in newest if row["doubted"]}
    return [{**row, "doubted": True} if row["reference"] in denied else row for row in rows]


def find_transaction(client: Client, order: str) -> Reply:
    """Get one transaction by reference or code; on failure, suggested commands name it."""
    order = order.strip()
    with known(reference=order):
        whole = _whole(client, order)
        path = path_of(Path.TRANSACTION, reference=whole)
        if _CODE.fullmatch(code := plain_code(whole)):
            path = path_of(Path.TRANSACTION_BY_CODE, svc_code=code)
        return client.get(path)


def reference_of(client: Client, order: str) -> str:
    """Return the reference; call the daemon only for a code or an incomplete reference."""
    order = order.strip()
    if _CODE.fullmatch(plain_code(order)):
        return str(find_transaction(client, order).data["reference"])
    return _whole(client, order)


def _whole(client: Client, order: str) -> str:
    """Return the complete reference of an incomplete one; anything else unchanged."""
    if not _PARTIAL.fullmatch(order):
        return order
    asked = ids.with_ellipsis(order)
    rows = client.get(Path.TRANSACTIONS, search=asked, origin="all", per_page=_FEW).data or ()
    return str(ids.find_match(asked, rows, ids.TRANSACTIONS, id_="reference")["reference"])


def parse_status(word: str) -> str:
    """Parse the value of `--status`, the API's word or the one in tables; fail (exit 2) with a list of all."""
    found = str(STATUS_WORDS.get(word.upper(), word.upper()))
    if found not in set(TransactionStatus):
        facts = ", ".join((*map(str.lower, STATUS_WORDS), *TransactionStatus))
        raise usage(f"--status: {word!r} is not one of {facts}")
    return found


def transaction_answer(reply: Reply, terminal: Terminal, *, exit_code: int = exit_codes.OK) -> Answer:
    """Return the answer for one transaction."""
    row = reply.data
    return Answer(
        document=reply.text, rows=[row], lines=transaction_lines(row, terminal), next=_next(row), exit_code=exit_code
    )


def transaction_lines(row: Row, terminal: Terminal) -> list[str]:
    """Return the lines of one transaction."""
    currency = row.get("currency")
    head = f"{styled(with_test_mark(transaction_state(row), row), terminal)}  {money(row.get('expected_amount'), currency)}"
    payer = payer_of(row, full=True)
    head += f" · {payer}" if payer else ""
    telco = clean(at(row, "telco.transaction_id"))
    network = clean(at(row, "telco.provider"))
    facts = (
        ("CODE", terminal.style(clean(row.get("svc_code")), "bold")),
        ("ref", clean(row.get("reference"))),
        ("order", clean(row.get("client_reference"))),
        ("branch", clean(row.get("branch"))),
        ("received", received_text(row)),
        ("payment", f"{network.upper()} {telco}" if telco else ""),
        ("created", clock(at(row, "timeline.created_at"), terminal)),
        ("paid", clock(at(row, "timeline.completed_at"), terminal)),
        ("settled", _settled(row, terminal)),
        ("late", "paid after it expired" if row.get("late") else ""),
        ("cancelled", clock(row.get("cancelled_at"), terminal)),
        ("reversed", clock(row.get("reversed_at"), terminal)),
    )
    held = held_text(row)
    return [head, *fact_lines(facts, 9), *([terminal.style(f"! {held}", "yellow")] if held else [])]


def held_text(row: Row) -> str:
    """Return the words about a held message that names the transaction; empty if there is none."""
    review = clean(row.get("held_review_id"))
    return f"a message that names this code is held: momo review show {review}" if review else ""


def received_text(row: Row) -> str:
    """Return what came, and how much that is too little or too much."""
    amount = money(row.get("actual_amount"), row.get("currency"))
    difference = row.get("difference")
    kind = clean(row.get("difference_type")).lower()
    return f"{amount}  ({kind} {money(difference)})" if amount and difference else amount


def _settled(row: Row, terminal: Terminal) -> str:
    settlement = row.get("settlement")
    if not settlement:
        return ""
    words = f"{SETTLED[settlement['kind']]}, {money(settlement['amount'], row.get('currency'))}"
    return f"{words}, {clock(row.get('settled_at'), terminal)}"


def _next(row: Row) -> list[str]:
    status, reference = row.get("status"), clean(row.get("reference"))
    if status == TransactionStatus.PENDING:
        return [f"momo tx wait {reference}", _ARRIVED]
    if status == TransactionStatus.MANUAL_REVIEW:
        return ["momo review list"]
    if status == TransactionStatus.EXPIRED:
        return [_ARRIVED]
    if not (row.get("settled_at") or row.get("reversed_at") or row.get("doubted")):
        how = {"PARTIAL": "rest waive", "OVERPAID": "change"}.get(str(status), "")
        return [f"momo tx settle {reference} {each}" for each in how.split()]
    return []


class Goal(StrEnum):
    """The goal of a wait."""

    PAID = "paid"
    FINAL = "final"
    EXPIRED = "expired"


def wait_exit_code(status: object, goal: Goal = Goal.PAID) -> int | None:
    """Return the exit code of a wait: 0 goal met, 6 another final status; None while it must continue."""
    met = {Goal.PAID: PAID, Goal.FINAL: FINAL, Goal.EXPIRED: (TransactionStatus.EXPIRED,)}[goal]
    if status in met:
        return exit_codes.OK
    return exit_codes.FINDINGS if status in FINAL else None


def follow_events(
    client: Client,
    reference: str | None,
    since: str | None = None,
    *,
    resume: str = "",
    outage: Outage | None = None,
    left: Callable[[], float] | None = None,
) -> Iterator[Event | None]:
    """Read the event stream without end; while the daemon is away, wait for it and continue after the last event.

    Yields each event once, and None at each keep-alive and lost connection, so that the caller can check the time.
    The command to go on with is `resume`, with `--since-event` added. If the caller handles the end of an outage
    itself, it gives its own `outage`.
    """
    own = Outage(client, resume)
    while True:
        failure = None
        try:
            for event in client.events(since=since, reference=reference, left=left):
                if outage is None:
                    own.over()
                if event is not None and event.id:
                    since = event.id
                    own.resume = f"{resume} --since-event {since}" if resume else ""
                if event is None or event.kind:
                    yield event
        except Failure as problem:
            failure = problem
        yield None
        (outage or own).missed(failure)
        client.pause(PAUSE_S if left is None else max(0.0, min(PAUSE_S, left())))


def wait_for(
    client: Client,
    reference: str,
    *,
    goal: Goal,
    limit_s: float,
    answered: bool = False,
    monotonic: Callable[[], float] = system.monotonic,
) -> tuple[Reply, int]:
    """Wait until a transaction reaches the goal or another final status, or the time is over.

    The status is read before the event stream is opened, again when it is open (so that no change is missed), and
    again at each event and keep-alive. The wait goes on while the daemon restarts, and while it answers 503.

    `limit_s` is the time limit in seconds, 0 is no limit; `answered` is whether the daemon has answered this command.
    Returns the transaction as it was last read, and the exit code: 0 goal met, 6 another final status, 8 timed out.
    """
    deadline = monotonic() + limit_s if limit_s else float("inf")

    def left() -> float:
        return deadline - monotonic()

    outage = Outage(client, f"momo tx wait {reference}", answered)
    events = follow_events(client, reference, outage=outage, left=left)
    reply, told = None, ""
    while True:
        try:
            reply = find_transaction(client, reference)
        except Failure as failure:
            outage.missed(failure)
            if left() <= 0 and reply is None:
                failure.exit_code, failure.next = exit_codes.PENDING, (outage.resume,)
                raise
        else:
            outage.over()
            code = wait_exit_code(reply.data.get("status"), goal)
            if code is not None:
                return reply, code
            if (held := held_text(reply.data)) and held != told:
                client.warn(held)
                told = held
        if left() <= 0 and reply is not None:
            return reply, exit_codes.PENDING
        next(events)


DELIVERY_FIELDS: Final = fields(
    "id webhook_id endpoint_id transaction_id status attempt_count response_status_code created_at",
    "delivered_at failed_at event next_attempt_at",
)
DELIVERY_VIEW: Final = view_of(*DELIVERY_FIELDS)
"""The view of one delivery, which is shown as lines instead of a table."""

_WAITS: Final = {
    "clock": "for the right time: your receiver's clock and ours may differ (momo doctor clock); a 4xx is final after 24 h"
}


def answer_text(row: Row) -> str:
    """Return the receiver's status code, or the reason why there is none."""
    code = row.get("response_status_code")
    said = clean(code if code is not None else at(row, "error.code") or row.get("waiting"))
    return f"{said} (waits: clock)" if row.get("waiting") == "clock" and code is not None else said


def delivery_lines(row: Row, terminal: Terminal) -> list[str]:
    """Return the lines of one delivery."""
    said = (answer_text(row), clean(at(row, "error.message")))
    waits = _WAITS.get(str(row.get("waiting")), clean(row.get("waiting")).replace("_", " "))
    facts = (
        ("id", clean(row.get("id"))),
        ("webhook", clean(row.get("webhook_id"))),
        ("payment", f"svc_trx_{clean(row.get('transaction_id')).replace('-', '')}"),
        ("to", clean(row.get("url"))),
        ("tries", f"{row.get('attempt_count') or 0} in run {row.get('run') or 1}"),
        ("answer", " — ".join(part for part in said if part)),
        ("arrived", clock(row.get("delivered_at"), terminal)),
        ("waits", waits),
        ("next", "" if waits and row.get("waiting") != "clock" else ago(row.get("next_attempt_at"), terminal)),
    )
    status = with_test_mark(state(row.get("status")), row)
    head = f"{styled(status, terminal)}  {clean(row.get('event'))}"
    return [head, *fact_lines(facts, 8)]


def attempt_lines(rows: Sequence[Row], terminal: Terminal) -> list[str]:
    """Return a line for each attempt, oldest first."""
    found = []
    for row in rows:
        code = row.get("response_status_code")
        said = clean(code if code is not None else at(row, "error.code") or "under way")
        took = f" in {row.get('duration_ms')} ms" if row.get("duration_ms") is not None else ""
        message = f" — {clean(at(row, 'error.message'))}" if at(row, "error.message") else ""
        found.append(
            f"  {clock(row.get('started_at'), terminal)}  run {row.get('run')} try {row.get('number')}  "
            f"{said}{took}{message}"
        )
    return found
