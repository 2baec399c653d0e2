"""The delivery log, of all endpoints or of one; one delivery with its attempts; and the dead letters by their fault.

A delivery is sent again or copied as curl; of dead letters one, marked ones or all of a fault are sent again, or one is
dismissed with a note.
"""

import functools
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from daemon.core.errors import Refusal, needed
from daemon.core.ids import reference_of, split_reference
from daemon.core.json_values import timestamp
from daemon.core.limits import DEAD_LETTERS_AT_ONCE, NOTES_CHARACTERS_MAX
from daemon.core.model import Delivery
from daemon.core.reading import read_uuid
from daemon.core.shape import taken
from daemon.core.webhooks.diagnosis import diagnose
from daemon.core.webhooks.endpoint import Endpoint
from daemon.core.webhooks.endpoint_json import PaymentSummary
from daemon.dash.pages.webhooks import common
from daemon.dash.parts import listing
from daemon.dash.parts.listing import Choice
from daemon.dash.web.visit import Download, Goto, Outcome, Shown, Visit
from daemon.flows.webhooks import redeliver as flow
from daemon.store.engine import Reader
from daemon.store.payments import transactions
from daemon.store.webhooks import dead_letters, deliveries, delivery_log
from daemon.store.webhooks.dead_letters import DeadLetterCause, DeadLetterGroup
from daemon.store.webhooks.delivery_log import DeliveryFilter
from daemon.wire import DeliveryStatus, ErrorCode, EventKind, Mode

LETTERS: Final = "/dash/dead-letters"
ATTEMPTS_MAX: Final = 100
CHOICES: Final = (
    Choice("delivery", ("", *DeliveryStatus)),
    Choice("event", ("", *(kind.partition(".")[2] for kind in EventKind))),
)
_REMOTE: Final = ("https://", "http://")
MARK: Final = "letter."
"""A marked dead letter is the field `letter.<id>`."""
_KIND: Final = re.compile(r"([a-z0-9_]{1,40})~([a-z_]{0,40})~([0-9]{1,3})~([01])", re.ASCII)


LIST: Final = listing.ListPage[tuple[Delivery, Endpoint]](
    "deliveries",
    "webhooks/deliveries.html",
    {
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
    },
)


async def show_list(visit: Visit) -> Shown | Download:
    """Show the deliveries to one endpoint, or to all, also to the `webhook_url` of orders."""
    endpoint = await common.endpoint_of(visit) if visit.places else None
    asked = await listing.ask(visit, *CHOICES)
    transaction_id, webhook_id = _searched(asked.search)
    kind = asked.chosen["event"]
    wanted = taken(
        DeliveryFilter, asked, mode=visit.mode if endpoint is None else None,
        endpoint_id=None if endpoint is None else endpoint.id,
        status=DeliveryStatus(asked.chosen["delivery"]) if asked.chosen["delivery"] else None, implicit=True,
        event=EventKind(f"transaction.{kind}") if kind else None, transaction_id=transaction_id,
        webhook_id=webhook_id, after=asked.number,
    )  # fmt: skip
    page = await visit.env.store.read(lambda reader: delivery_log.listed(reader, wanted, limit=asked.limit))
    return await LIST.answer(
        visit, asked, page.rows, None if page.last is None else page.last[0].seq,
        answers={one.id: _answer(visit, one) for one, _ in page.rows}, endpoint=endpoint, name_of=common.name_of,
    )  # fmt: skip


def _searched(text: str | None) -> tuple[str | None, str | None]:
    """Return the order and the webhook id that a text names: a reference or UUID is an order's."""
    order = None if text is None else split_reference(text) or read_uuid(text)
    return order, text if order is None else None


async def show_one(visit: Visit) -> Shown:
    """Show one delivery with its attempts and the body that is sent."""
    delivery_id, t = visit.places["id"], visit.words

    def read(reader: Reader) -> dict[str, Any]:
        delivery, endpoint = needed(delivery_log.one(reader, delivery_id), ErrorCode.DELIVERY_NOT_FOUND)
        attempts, total = delivery_log.attempts(reader, delivery_id, limit=ATTEMPTS_MAX, offset=0)
        body = deliveries.bodies(reader, [delivery.seq])[delivery.seq]
        try:
            text = json.dumps(json.loads(body), indent=2, ensure_ascii=False)
        except ValueError:
            text = body.decode(errors="replace")
        return {
            "one": delivery,
            "endpoint": endpoint,
            "name": common.name_of(endpoint),
            "attempts": [
                (
                    one,
                    t("attempt_open")
                    if one.finished_at is None
                    else common.answer_of(visit, one.status_code, one.error_code),
                )
                for one in attempts
            ],
            "total": total,
            "body": text,
            "answer": _answer(visit, delivery),
            "order": transactions.get(reader, delivery.transaction_id),
            "again": common.may_be_sent_again(delivery, endpoint),
            "has_curl": endpoint.url.startswith(_REMOTE),
        }

    values = await visit.env.store.read(read)
    visit.mode = values["endpoint"].mode
    return Shown("webhooks/delivery.html", values, t("delivery"))


async def redeliver(visit: Visit) -> Goto:
    """Queue an ended delivery again."""
    common.needs_open_collections(visit)
    delivery_id = visit.places["id"]

    def place(queued: flow.Redelivered) -> Goto:
        return common.sent_again(queued.delivery, queued.endpoint, reversed_since=queued.reversed_since)

    return await visit.kept(place, lambda keep: flow.redeliver(visit.env, visit.caller, delivery_id, keep))


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


async def show_faults(visit: Visit) -> Shown:
    """Show one card for each fault: the cause, the repair, the number of dead letters, and since when."""
    found = await visit.env.store.read(lambda reader: dead_letters.groups(reader, visit.mode))
    values = {
        "groups": [_card(visit, group) for group in found],
        "total": sum(group.count for group in found),
        "command": "momo dead-letters list" + (" --sandbox" if visit.mode is Mode.TEST else ""),
    }
    return Shown("webhooks/dead_letters.html", values)


def _card(visit: Visit, group: DeadLetterGroup) -> dict[str, Any]:
    found = diagnose(group.newest, group.endpoint)
    status = group.newest.last_status_code
    return {
        "group": group,
        "name": common.name_of(group.endpoint),
        "href": address_of(group.kind),
        "means": common.cause_words(visit, "cause", found.cause),
        "mend": common.cause_words(visit, "mend", found.cause),
        "answered": "" if status is None else visit.words("hook_answered", status=status),
        "diagnosis": found.text,
        "can": group.endpoint.deleted_at is None,
    }


def address_of(kind: DeadLetterCause) -> str:
    """Return the address of the page of one fault."""
    text = f"{kind.reason}~{kind.error_code}~{kind.status_code}~{int(kind.clock)}"
    return f"{LETTERS}/of/{kind.endpoint_id}/{text}"


def _kind_of(visit: Visit) -> DeadLetterCause:
    match = needed(_KIND.fullmatch(visit.places["kind"]), ErrorCode.DEAD_LETTER_NOT_FOUND)
    return DeadLetterCause(visit.places["id"], match[1], match[2], int(match[3]), match[4] == "1")


async def show_fault(visit: Visit) -> Shown:
    """Show the dead letters of one fault, at most 100 on a page, each to be marked."""
    kind = _kind_of(visit)
    after = (await listing.ask(visit)).number or 0
    found, total = await visit.env.store.read(
        lambda reader: dead_letters.of_kind(reader, kind, after=after, limit=DEAD_LETTERS_AT_ONCE + 1)
    )
    page, more = found[:DEAD_LETTERS_AT_ONCE], len(found) > DEAD_LETTERS_AT_ONCE
    endpoint = page[0][2] if page else None
    visit.mode = visit.mode if endpoint is None else endpoint.mode
    cause = "" if endpoint is None else diagnose(page[-1][0], endpoint).cause
    values = {
        "rows": [(letter, delivery, _money(visit, body)) for letter, delivery, _, body in page],
        "total": total,
        "endpoint": endpoint,
        "name": "" if endpoint is None else common.name_of(endpoint),
        "means": common.cause_words(visit, "cause", cause) if cause else "",
        "mend": common.cause_words(visit, "mend", cause) if cause else "",
        "here": address_of(kind),
        "older": f"{address_of(kind)}?after={page[-1][0].seq}" if more else "",
        "can": endpoint is not None and endpoint.deleted_at is None,
        "command": f"momo dead-letters list --endpoint {kind.endpoint_id}",
    }
    return Shown("webhooks/dead_kind.html", values, visit.words("dead_letters"))


def _money(visit: Visit, body: bytes) -> str:
    payment = PaymentSummary.of(body)
    if not payment.amount:
        return ""
    return visit.money_text(payment.amount, payment.currency or "GHS")


async def replay_kind(visit: Visit) -> Goto:
    """Send all dead letters of one fault again, 100 in one transaction; live payments go between."""
    common.needs_open_collections(visit)
    kind = _kind_of(visit)
    after, sent = 0, 0
    while True:
        found, _ = await visit.env.store.read(
            functools.partial(dead_letters.of_kind, kind=kind, after=after, limit=DEAD_LETTERS_AT_ONCE)
        )
        if not found:
            break
        sent += await _replay(visit, [letter.id for letter, *_ in found])
        after = found[-1][0].seq
        await visit.env.yield_to_live()
    return Goto(LETTERS, "said_letters_sent" if sent else "said_no_letters_sent")


async def replay_marked(visit: Visit) -> Outcome:
    """Send the marked dead letters again, at most 100."""
    common.needs_open_collections(visit)
    marked = [name.removeprefix(MARK) for name in visit.form if name.startswith(MARK)]
    if not marked or len(marked) > DEAD_LETTERS_AT_ONCE:
        visit.wrong("", "mark_some" if not marked else "mark_fewer")
    sent = await _replay(visit, marked)
    return Goto(address_of(_kind_of(visit)), "said_letters_sent" if sent else "said_no_letters_sent")


async def _replay(visit: Visit, ids: Sequence[str]) -> int:
    # The form's own key stands for all calls of it: each letter that was sent again is refused the second time.
    asked = [(one, one) for one in ids]
    return len((await flow.replay_dead_letters(visit.env, visit.caller, asked)).done)


async def show_letter(visit: Visit) -> Shown:
    """Show one dead letter."""
    letter_id = visit.places["id"]
    letter, delivery, endpoint, body = needed(
        await visit.env.store.read(lambda reader: dead_letters.one(reader, letter_id)), ErrorCode.DEAD_LETTER_NOT_FOUND
    )
    visit.mode = endpoint.mode
    why = diagnose(letter, endpoint)
    is_open = letter.replayed_at is None and letter.resolved_at is None
    values = {
        "one": letter, "delivery": delivery, "endpoint": endpoint, "name": common.name_of(endpoint),
        "means": common.cause_words(visit, "cause", why.cause), "mend": common.cause_words(visit, "mend", why.cause),
        "answered": common.answer_of(visit, letter.last_status_code, letter.error_code), "diagnosis": why.text,
        "money": _money(visit, body), "open": is_open and letter.dismissed_at is None,
        "again": is_open and common.may_be_sent_again(delivery, endpoint), "notes_max": NOTES_CHARACTERS_MAX,
        "command": f"momo dead-letters show {letter.id}",
    }  # fmt: skip
    return Shown("webhooks/dead_letter.html", values, visit.words("dead_letter"))


async def replay_one(visit: Visit) -> Goto:
    """Send one dead letter again."""
    common.needs_open_collections(visit)

    def place(found: dead_letters.Found) -> Goto:
        _letter, delivery, endpoint, _body = found
        return common.sent_again(delivery, endpoint)

    letter_id = visit.places["id"]
    return await visit.kept(place, lambda keep: flow.replay_dead_letter(visit.env, visit.caller, letter_id, keep))


async def dismiss(visit: Visit) -> Outcome:
    """Close one dead letter with a note."""
    notes = common.read_text(visit, "notes", NOTES_CHARACTERS_MAX, required=True)
    visit.check()
    letter_id = visit.places["id"]
    place = Goto(f"{LETTERS}/{letter_id}", "said_letter_dismissed")
    return await visit.kept(place, lambda keep: flow.dismiss(visit.env, visit.caller, letter_id, notes, keep))
