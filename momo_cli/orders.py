"""What the commands about orders share: fields, the table, the lines of one order, finding one."""

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Final

from daemon.wire import Path, TransactionStatus
from momo_cli import exits, naming, system
from momo_cli.answer import Answer, Cell, Field, Head, Row, View
from momo_cli.client import Client, Reply, path_of
from momo_cli.errors import Failure, usage
from momo_cli.event_stream import Event
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.words import ago, clock, money, person, phone, state, styled, tested

_RECONNECTS_MAX: Final = 60
_RECONNECT_PAUSE_S: Final = 1.0
_CODE: Final = re.compile(r"[0-9A-Za-z]{6}", re.ASCII)
_PARTIAL: Final = re.compile(r"svc_(?!trx_[0-9a-f]{32}$).*", re.ASCII | re.IGNORECASE | re.DOTALL)
"""Of a reference the beginning, or both ends."""
_FEW: Final = 5


def shown_state(row: Row) -> Cell:
    """Return the word of an order's status; one whose money the network took back does not look paid."""
    found = state(row.get("status"))
    return Cell(f"{found.text}, REVERSED", "red") if row.get("reversed_at") else found


LIST_FIELDS: Final = tuple(
    Field(name)
    for name in (
        "reference",
        "svc_code",
        "status",
        "expected_amount",
        "actual_amount",
        "difference",
        "difference_type",
        "currency",
        "payer_phone",
        "payer_name",
        "created_at",
        "completed_at",
    )
)
LIST_VIEW: Final = View(
    fields=LIST_FIELDS,
    heads=(
        Head("STATUS", lambda row, _: tested(shown_state(row), row)),
        Head("CODE", lambda row, _: Cell(clean(row.get("svc_code")), "bold")),
        Head("EXPECTED", lambda row, _: money(row.get("expected_amount")), right=True),
        Head("RECEIVED", lambda row, _: money(row.get("actual_amount")), right=True),
        Head("DIFF", lambda row, _: money(row.get("difference")), right=True),
        Head(
            "PAYER",
            lambda row, _: person(row.get("payer_name"), row.get("payer_phone")),
        ),
        Head(
            "WHEN",
            lambda row, t: ago(row.get("completed_at") or row.get("created_at"), t),
        ),
        Head("REFERENCE", lambda row, _: clean(row.get("reference")), cut=True),
    ),
    id="reference",
)
SHOW_VIEW: Final = View(
    fields=(
        *(field for field in LIST_FIELDS[:8]),
        Field("payer_phone", "payer.phone_number"),
        Field("payer_name", "payer.name"),
        Field("telco_provider", "telco.provider"),
        Field("telco_transaction_id", "telco.transaction_id"),
        Field("client_reference"),
        Field("processing_time_ms"),
        Field("created_at", "timeline.created_at"),
        Field("completed_at", "timeline.completed_at"),
    ),
    id="reference",
)

PAID: Final = (TransactionStatus.SUCCESS, TransactionStatus.OVERPAID)
FINAL: Final = (
    *PAID,
    TransactionStatus.PARTIAL,
    TransactionStatus.EXPIRED,
    TransactionStatus.CANCELLED,
)


def path_for(order: str) -> str:
    """Return where an order is asked for: by its code when it looks like one, else by reference."""
    if _CODE.fullmatch(order):
        return path_of(Path.TRANSACTION_BY_CODE, svc_code=order.upper())
    return path_of(Path.TRANSACTION, reference=order)


def find(client: Client, order: str) -> Reply:
    """Ask for one order by reference or code; hints then name it."""
    try:
        return client.get(path_for(_whole(client, order)))
    except Failure as failure:
        failure.facts.setdefault("reference", order)
        raise


def reference_of(client: Client, order: str) -> str:
    """Return the reference; asks the daemon only when a code was given, or not all of the reference."""
    if _CODE.fullmatch(order):
        return str(find(client, order).data["reference"])
    return _whole(client, order)


def _whole(client: Client, order: str) -> str:
    """Return the reference of which the beginning or the ends were given; anything else as it is."""
    if not _PARTIAL.fullmatch(order):
        return order
    asked = naming.written(order)
    rows = client.get(Path.TRANSACTIONS, search=asked, origin="all", per_page=_FEW).data or ()
    return str(naming.one_of(asked, rows, naming.ORDERS, id_="reference")["reference"])


AS_SHOWN: Final = {
    "WAITING": TransactionStatus.PENDING,
    "PAID": TransactionStatus.SUCCESS,
    "SHORT": TransactionStatus.PARTIAL,
    "OVER": TransactionStatus.OVERPAID,
    "REVIEW": TransactionStatus.MANUAL_REVIEW,
}
"""The words of the lists, for the API's."""


def status_named(word: str) -> str:
    """Read the value of `--status`: the API's word, or the one that lists show.

    Raises:
        Failure: USAGE, naming all of them.
    """
    found = str(AS_SHOWN.get(word.upper(), word.upper()))
    if found not in set(TransactionStatus):
        told = ", ".join((*map(str.lower, AS_SHOWN), *TransactionStatus))
        raise usage(f"--status: {word!r} is not one of {told}")
    return found


def shown(reply: Reply, terminal: Terminal, *, exit_code: int = exits.OK) -> Answer:
    """Answer with one order."""
    row = reply.data
    return Answer(
        document=reply.text,
        rows=[row],
        lines=lines(row, terminal),
        next=_next(row),
        exit_code=exit_code,
    )


def lines(row: Row, terminal: Terminal) -> list[str]:
    """Return one order as a person reads it."""
    currency = row.get("currency")
    head = f"{styled(tested(shown_state(row), row), terminal)}  {money(row.get('expected_amount'), currency)}"
    who = person(at(row, "payer.name"), None)
    number = phone(at(row, "payer.phone_number"))
    head += "".join(f" · {part}" for part in (who, number) if part)
    found = [head]
    told = (
        ("CODE", terminal.style(clean(row.get("svc_code")), "bold")),
        ("ref", clean(row.get("reference"))),
        ("yours", clean(row.get("client_reference"))),
        ("received", _received(row)),
        ("payment", _payment(row)),
        ("asked", clock(at(row, "timeline.created_at"), terminal)),
        ("paid", clock(at(row, "timeline.completed_at"), terminal)),
        ("late", "paid after it expired" if row.get("late") else ""),
        ("cancelled", clock(row.get("cancelled_at"), terminal)),
        ("reversed", clock(row.get("reversed_at"), terminal)),
    )
    return found + [f"  {name:<9} {value}" for name, value in told if value]


def _received(row: Row) -> str:
    amount = money(row.get("actual_amount"), row.get("currency"))
    difference = row.get("difference")
    kind = clean(row.get("difference_type")).lower()
    return f"{amount}  ({kind} {money(difference)})" if amount and difference else amount


def _payment(row: Row) -> str:
    telco = clean(at(row, "telco.transaction_id"))
    network = clean(at(row, "telco.provider"))
    return f"{network.upper()} {telco}" if telco else ""


def _next(row: Row) -> list[str]:
    status, reference = row.get("status"), clean(row.get("reference"))
    if status == TransactionStatus.PENDING:
        return [
            f"momo tx wait {reference}",
            f"momo reconcile {reference} TRANSACTION_ID",
        ]
    if status == TransactionStatus.MANUAL_REVIEW:
        return ["momo review list", f"momo reconcile {reference} TRANSACTION_ID"]
    if status == TransactionStatus.EXPIRED:
        return [f"momo reconcile {reference} TRANSACTION_ID"]
    return []


class Goal(StrEnum):
    """What a wait is for."""

    PAID = "paid"
    FINAL = "final"
    EXPIRED = "expired"


def verdict(status: object, goal: Goal = Goal.PAID) -> int | None:
    """Return the exit code of a wait: 0 met, 6 final but not that; None while it must go on."""
    met = {
        Goal.PAID: PAID,
        Goal.FINAL: FINAL,
        Goal.EXPIRED: (TransactionStatus.EXPIRED,),
    }[goal]
    if status in met:
        return exits.OK
    return exits.FINDINGS if status in FINAL else None


def follow(
    client: Client,
    reference: str | None,
    since: str | None = None,
    left: Callable[[], float] | None = None,
) -> Iterator[Event | None]:
    """Follow events for ever, over as many connections as it takes.

    Yields:
        Each event once; None when there is time to look at the clock.

    Raises:
        Failure: At the first connection, or after a minute of being unable to connect again.
    """
    patience, first = _RECONNECTS_MAX, True
    while True:
        try:
            for event in client.events(since=since, reference=reference, left=left):
                patience, first = _RECONNECTS_MAX, False
                if event is not None and event.id:
                    since = event.id
                yield event
        except Failure:
            if first or patience == 0:
                raise
        yield None
        if patience == _RECONNECTS_MAX:
            client.warn("connection to the daemon lost; trying again")
        patience -= 1
        client.pause(_RECONNECT_PAUSE_S)


def wait_for(
    client: Client,
    reference: str,
    *,
    goal: Goal,
    limit_s: float,
    monotonic: Callable[[], float] = system.monotonic,
) -> tuple[Reply, int]:
    """Wait until an order reaches the goal, ends otherwise, or time runs out.

    The state is read before the events are followed, again when the stream is open (so that
    nothing falls between), and again at each event and keep-alive.

    Args:
        client: The daemon.
        reference: The order.
        goal: What is waited for.
        limit_s: For how long; 0 is for ever.
        monotonic: A clock that never goes back.

    Returns:
        The order as it then is, and the exit code: 0 met, 6 final but not that, 8 still waiting.
    """
    deadline = monotonic() + limit_s if limit_s else float("inf")

    def left() -> float:
        return deadline - monotonic()

    reply = find(client, reference)
    code = verdict(reply.data.get("status"), goal)
    if code is not None:
        return reply, code
    for _ in follow(client, reference, left=left):
        reply = find(client, reference)
        code = verdict(reply.data.get("status"), goal)
        if code is not None:
            return reply, code
        if left() <= 0:
            break
    return reply, exits.PENDING
