"""The delivery log, of all endpoints or of one; and one delivery with its attempts, to send again or to copy as curl."""

import json
import shlex
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from daemon.core.errors import Refusal
from daemon.core.ids import reference_of, split_reference
from daemon.core.json_values import timestamp
from daemon.core.model import Delivery, Transaction
from daemon.core.webhooks.delivery import Attempt
from daemon.core.webhooks.endpoint import Endpoint
from daemon.dash.pages.webhooks import common
from daemon.dash.parts import listing
from daemon.dash.parts.listing import Choice
from daemon.dash.web.visit import Download, Goto, Shown, Visit
from daemon.flows.webhooks import redeliver as flow
from daemon.store.engine import Reader
from daemon.store.payments import transactions
from daemon.store.webhooks import deliveries, delivery_log
from daemon.store.webhooks.delivery_log import DeliveryFilter, Logged
from daemon.wire import DeliveryStatus, ErrorCode, EventKind, Mode

HERE: Final = "/dash/deliveries"
ATTEMPTS_MAX: Final = 100
CHOICES: Final = (
    Choice("delivery", ("", *DeliveryStatus)),
    Choice("event", ("", *(kind.partition(".")[2] for kind in EventKind))),
    Choice("mode", tuple(Mode), Mode.LIVE),
)
_REMOTE: Final = ("https://", "http://")


async def show_list(visit: Visit) -> Shown | Download:
    """Show the deliveries to all endpoints, also to the `webhook_url` of orders."""
    return await _list(visit, None)


async def show_list_of_endpoint(visit: Visit) -> Shown | Download:
    """Show the deliveries to one endpoint."""
    return await _list(visit, await common.endpoint_of(visit))


async def _list(visit: Visit, endpoint: Endpoint | None) -> Shown | Download:
    asked = listing.ask(visit, CHOICES if endpoint is None else CHOICES[:2])
    transaction_id, webhook_id = _searched(asked.search)
    kind = asked.chosen["event"]
    after = asked.after or ""
    wanted = DeliveryFilter(
        mode=Mode(asked.chosen["mode"]) if endpoint is None else None,
        endpoint_id=None if endpoint is None else endpoint.id,
        status=DeliveryStatus(asked.chosen["delivery"]) if asked.chosen["delivery"] else None,
        implicit=True,
        event=EventKind(f"transaction.{kind}") if kind else None,
        transaction_id=transaction_id,
        webhook_id=webhook_id,
        since=asked.since,
        until=asked.until,
        after=int(after) if after.isascii() and after.isdigit() and len(after) < 19 else None,
    )
    rows, _total = await visit.env.store.read(
        lambda reader: delivery_log.listed(reader, wanted, limit=asked.limit + 1, offset=0)
    )
    more, rows = len(rows) > asked.limit, rows[: asked.limit]
    if asked.as_csv:
        return await listing.csv_file(visit, "deliveries", _COLUMNS, rows)
    found = listing.page(visit, asked, rows, str(rows[-1][0].seq) if more else None)
    values = {
        "list": found,
        "answers": {one.id: _answer(visit, one) for one, _ in rows},
        "endpoint": endpoint,
        "tones": common.TONES,
        "name_of": common.name_of,
    }
    return Shown("webhooks/deliveries.html", values)


def _searched(text: str | None) -> tuple[str | None, str | None]:
    """Return the order and the webhook id that a text names: a reference or UUID is an order's."""
    if text is None:
        return None, None
    order = split_reference(text)
    if order is None:
        try:
            order = str(uuid.UUID(text))
        except ValueError:
            return None, text
    return order, None


async def show_one(visit: Visit) -> Shown:
    """Show one delivery with its attempts and the body that is sent."""
    delivery_id = visit.places["id"]

    def read(
        reader: Reader,
    ) -> tuple[Logged, Sequence[Attempt], int, bytes, Transaction | None] | None:
        found = delivery_log.one(reader, delivery_id)
        if found is None:
            return None
        attempts, total = delivery_log.attempts(reader, delivery_id, limit=ATTEMPTS_MAX, offset=0)
        sent = deliveries.bodies(reader, [found[0].seq])
        order = transactions.get(reader, found[0].transaction_id)
        return found, attempts, total, sent[found[0].seq], order

    read_ = await visit.env.store.read(read)
    if read_ is None:
        raise Refusal(ErrorCode.DELIVERY_NOT_FOUND)
    (delivery, endpoint), attempts, total, body, order = read_
    values = {
        "one": delivery,
        "endpoint": endpoint,
        "name": common.name_of(endpoint),
        "attempts": [(one, _attempt(visit, one)) for one in attempts],
        "total": total,
        "body": _pretty(body),
        "answer": _answer(visit, delivery),
        "order": order,
        "again": common.may_be_sent_again(delivery, endpoint),
        "has_curl": endpoint.url.startswith(_REMOTE),
        "tones": common.TONES,
    }
    return Shown("webhooks/delivery.html", values, visit.words("delivery"))


async def redeliver(visit: Visit) -> Goto:
    """Queue an ended delivery again."""
    common.needs_open_collections(visit)
    delivery_id = visit.places["id"]

    def place(queued: Logged) -> Goto:
        return common.sent_again(*queued)

    return place(await flow.redeliver(visit.env, visit.caller, delivery_id, visit.keep(place)))


async def curl(visit: Visit) -> Shown:
    """Show the delivery as a curl command with a new signature, once; the journal records the user."""
    signed = await flow.sign_again(visit.env, visit.caller, visit.places["id"])
    if not signed.url.startswith(_REMOTE):
        raise Refusal(ErrorCode.DELIVERY_NOT_FOUND)
    values = {
        "id": visit.places["id"],
        "text": curl_command(signed.url, signed.headers, signed.body),
        "command": f"momo deliveries curl {visit.places['id']}",
    }
    return Shown("webhooks/curl.html", values, visit.words("as_curl"))


def curl_command(url: str, headers: Mapping[str, str], body: str) -> str:
    """Return the command; each value is quoted as one argument of the shell."""
    parts = ["curl --silent --show-error --include --request POST", "--globoff"]
    parts += [f"--header {shlex.quote(f'{name}: {value}')}" for name, value in headers.items()]
    # --data-raw, because --data would read a file where the text begins with @.
    parts += [f"--data-raw {shlex.quote(body)}", f"--url {shlex.quote(url)}"]
    return " \\\n  ".join(parts)


def _answer(visit: Visit, delivery: Delivery) -> str:
    return common.answer_of(visit, delivery.response_status_code, delivery.error_code)


def _attempt(visit: Visit, attempt: Attempt) -> str:
    if attempt.finished_at is None:
        return visit.words("attempt_open")
    return common.answer_of(visit, attempt.status_code, attempt.error_code)


def _pretty(body: bytes) -> str:
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        return body.decode(errors="replace")


_COLUMNS: Final[Mapping[str, Any]] = {
    "id": lambda row: row[0].id,
    "created_at": lambda row: timestamp(row[0].created_at),
    "event": lambda row: row[0].event,
    "status": lambda row: row[0].status,
    "attempts": lambda row: row[0].attempt_count,
    "response_status_code": lambda row: row[0].response_status_code,
    "error": lambda row: row[0].error_code,
    "url": lambda row: row[1].url,
    "reference": lambda row: reference_of(row[0].transaction_id),
    "webhook_id": lambda row: row[0].webhook_id,
}
