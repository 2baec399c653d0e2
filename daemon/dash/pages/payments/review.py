"""Review: doubtful payments and messages, one card at a time, decided with one key; and the list of all of them."""

from typing import Final

from daemon.core.access.callers import Operation
from daemon.core.errors import FieldError, Refusal
from daemon.core.json_values import timestamp, timestamp_or_none
from daemon.core.limits import HOUR_US, NOTES_CHARACTERS_MAX
from daemon.core.messages.message_json import balance_chain
from daemon.core.model import Review, Transaction
from daemon.core.names import provider_name
from daemon.core.payments.review_json import ReviewEvidence
from daemon.core.payments.reviews import REASONS
from daemon.dash.pages.payments.review_card import HELD, NOBODY, Card, card, paid_of
from daemon.dash.parts import listing, of_branches
from daemon.dash.parts.confirming import confirmed
from daemon.dash.parts.listing import Choice
from daemon.dash.parts.message_text import actor_name, sender_name, sms_text, visible
from daemon.dash.web.visit import Download, Goto, Outcome, Shown, Visit
from daemon.flows.payments import review as flow
from daemon.store.engine import Reader
from daemon.store.payments import review_evidence, reviews, transactions
from daemon.wire import ErrorCode, Mode, ReviewReason
from parsers.money import render
from parsers.svc_code import candidates

QUEUE: Final = "/dash/review"
LAST_US: Final = HOUR_US
"""The last decision is shown for this long."""
NOTES: Final = ("no_money", "nobody_ordered", "given_back")
"""Ready-made notes of a rejection, so that it needs no typing."""
CHOICES: Final = (
    Choice("decided", ("open", "", "approved", "rejected"), "open"),
    Choice("mode", tuple(Mode), Mode.LIVE),
)
_SHOWN_AGAIN: Final = frozenset(
    {
        ErrorCode.BRANCH_ASKED,
        ErrorCode.NETWORK_MISMATCH,
        ErrorCode.PAYMENT_REVERSED,
        ErrorCode.TRANSACTION_NOT_FOUND,
        ErrorCode.ALREADY_VERIFIED,
        ErrorCode.NO_MATCHING_TRANSACTION,
        ErrorCode.TRANSACTION_ID_ALREADY_USED,
    }
)


async def show_queue(visit: Visit) -> Shown | Goto:
    """Go to the newest review that this user may decide; say so if there is none."""

    def read(reader: Reader) -> tuple[Review | None, Review | None, int]:
        first = reviews.next_open(reader, before=None, without=_left_out(visit))
        _, waiting = reviews.page(reader, state=reviews.OPEN, mode=Mode.LIVE, limit=1, offset=0)
        return first, reviews.last_decided(reader, visit.caller.name, visit.now - LAST_US), waiting

    first, last, waiting = await visit.env.store.read(read)
    if first is not None:
        return Goto(f"{QUEUE}/{first.id}", _said(visit))
    return Shown("payments/review_none.html", {"last": last, "others": waiting})


async def show_one(visit: Visit) -> Shown:
    """Show one review."""
    return await _card(visit)


async def approve(visit: Visit) -> Outcome:
    """Approve a review for the chosen order, and go on to the next one."""
    review_id = visit.places["id"]
    reference, problem = await _reference(visit)
    if problem is not None:
        visit.fail(problem)
        return await _card(visit, status=422)
    try:
        sure = await flow.needs_password(visit.env, visit.caller, review_id, visit.idempotency)
        if sure and not await _is_sure(visit):
            return await _card(visit, status=422)
        approval = flow.Approval(reference, None, sure)
        keep = visit.keep(lambda _: Goto(QUEUE, "said_review_approved"))
        await flow.approve(visit.env, visit.caller, review_id, approval, keep=keep)
    except Refusal as refusal:
        return await _refused(visit, refusal)
    return await _on(visit, "said_review_approved")


async def reject(visit: Visit) -> Outcome:
    """Reject a review with a note, and go on to the next one."""
    given = visit.form.get("note", "")
    own = visit.form.get("own_note", "").strip()
    notes = own or (visit.words(f"note_{given}") if given in NOTES else "")
    if not notes or len(notes) > NOTES_CHARACTERS_MAX:
        visit.fail(FieldError("own_note", "invalid", visit.words("note_missing")))
        return await _card(visit, status=422)
    keep = visit.keep(lambda _: Goto(QUEUE, "said_review_rejected"))
    try:
        await flow.reject(visit.env, visit.caller, visit.places["id"], notes, keep=keep)
    except Refusal as refusal:
        return await _refused(visit, refusal)
    return await _on(visit, "said_review_rejected")


async def _is_sure(visit: Visit) -> bool:
    """Ask for the confirmation that the money was seen, and the own password."""
    if not visit.may(Operation.DECIDE_FORGERY):
        raise Refusal(ErrorCode.ROLE_REQUIRED)
    if visit.form.get("sure") != "yes":
        visit.fail(FieldError("sure", "required", visit.words("sure_missing")))
        return False
    return await confirmed(visit)


async def _reference(visit: Visit) -> tuple[str | None, FieldError | None]:
    """Return the reference of the transaction to pay (None for the review's own or none), and an error in the field."""
    typed = visit.form.get("other_code", "").strip()
    if not typed:
        chosen = visit.form.get("order", "")
        if not chosen:
            return None, FieldError("order", "required", visit.words("order_missing"))
        return (None if chosen in {NOBODY, HELD} else chosen), None

    def read(reader: Reader) -> list[Transaction]:
        review = reviews.get(reader, visit.places["id"], None)
        mode = Mode.LIVE if review is None else review.mode
        return transactions.by_codes_in_use(reader, mode, candidates(typed.upper()), visit.now)

    found = await visit.env.store.read(read)
    if len(found) == 1:
        return found[0].reference, None
    return None, FieldError("other_code", "invalid", visit.words("code_unknown"))


async def _refused(visit: Visit, refusal: Refusal) -> Outcome:
    if refusal.code is ErrorCode.REVIEW_ALREADY_DECIDED:
        # The page shows the decision and its author.
        return Goto(f"{QUEUE}/{visit.places['id']}?late=1")
    if refusal.code in _SHOWN_AGAIN:
        visit.refuse(refusal)
        return await _card(visit, status=422)
    raise refusal


async def _on(visit: Visit, said: str) -> Goto:
    """Go to the next review: an older one if there is one, else the newest."""

    def read(reader: Reader) -> Review | None:
        return _next(visit, reader, reviews.get(reader, visit.places["id"], None))

    after = await visit.env.store.read(read)
    return Goto(QUEUE if after is None else f"{QUEUE}/{after.id}", said)


def _next(visit: Visit, reader: Reader, now: Review | None) -> Review | None:
    before = None if now is None else now.seq
    without = _left_out(visit)
    found = reviews.next_open(reader, before=before, without=without)
    found = found or reviews.next_open(reader, before=None, without=without)
    return None if found is not None and now is not None and found.id == now.id else found


def _left_out(visit: Visit) -> set[ReviewReason]:
    """Return the reasons that the user may not decide; empty for a user without decisions, so that all are shown."""
    if not visit.may(Operation.DECIDE_REVIEW):
        return set()
    return {ReviewReason(reason) for reason, row in REASONS.items() if not visit.may(row.decider)}


def _said(visit: Visit) -> str:
    said = visit.query.get("said", "")
    return said if said.startswith("said_review") and visit.words.has(said) else ""


async def _card(visit: Visit, status: int = 200) -> Shown:
    review_id = visit.places["id"]

    def read(
        reader: Reader,
    ) -> tuple[ReviewEvidence | None, Review | None, Review | None, int]:
        found = review_evidence.of_review(reader, review_id, None, visit.now)
        now = None if found is None else found.review
        last = reviews.last_decided(reader, visit.caller.name, visit.now - LAST_US)
        _, waiting = reviews.page(reader, state=reviews.OPEN, mode=Mode.LIVE, limit=1, offset=0)
        return found, _next(visit, reader, now), last, waiting

    found, after, last, waiting = await visit.env.store.read(read)
    if found is None:
        raise Refusal(ErrorCode.REVIEW_NOT_FOUND)
    one = card(visit, found)
    review, message = found.review, found.message
    return Shown(
        "payments/review.html",
        {
            "one": one,
            "review": review,
            "message": message,
            "sms": sms_text(visit, message.body),
            "sender": sender_name(visit, message.sender),
            "network": provider_name(message.provider) if message.provider else "—",
            "line": None if found.line is None else found.line.phone_number,
            "payment": found.payment,
            "other": found.other_payment,
            "chain": None if found.place is None else balance_chain(found.place),
            "open": review.state == reviews.OPEN,
            "decides": visit.may(REASONS[review.reason].decider),
            "looks_only": not visit.may(Operation.DECIDE_REVIEW),
            "who": actor_name(visit, review.decided_by),
            "notes": visible(review.notes),
            "ready_notes": NOTES,
            "after": after,
            "last": last if last is not None and last.id != review.id else None,
            "waiting": waiting,
            "late": visit.query.get("late") == "1",
            "nobody": NOBODY,
            "text": visible,
        },
        _title(visit, one),
        status,
    )


def _title(visit: Visit, one: Card) -> str:
    return f"{visit.words('review')} · {visit.money(one.paid.amount_minor, one.paid.currency)}"


async def show_list(visit: Visit) -> Shown | Download:
    """Show the list of reviews, open and decided ones, or return it as CSV."""
    names = await of_branches.names_of(visit)
    asked = listing.ask(visit, (*CHOICES, *of_branches.filters(names)))
    offset = listing.offset(asked)
    rows, total = await visit.env.store.read(
        lambda reader: review_evidence.page(
            reader,
            state=asked.chosen["decided"] or None,
            mode=Mode(asked.chosen["mode"]),
            limit=asked.limit,
            offset=offset,
            now=visit.now,
            branch=asked.chosen.get("branch") or None,
        )
    )
    if asked.as_csv:
        of_branch = {"branch": lambda row: names.get(row.review.branch_id or "")} if names else {}
        return await listing.csv_file(visit, "reviews", {**_COLUMNS, **of_branch}, rows)
    last = str(offset + len(rows)) if offset + len(rows) < total else None
    found = listing.page(visit, asked, rows, last, searched=False, dated=False)
    return Shown(
        "payments/reviews.html",
        {
            "list": found,
            "branches": names,
            "paid_of": paid_of,
            "text": visible,
            "who": lambda row: actor_name(visit, row.decided_by),
        },
    )


def _amount(row: ReviewEvidence) -> str:
    paid = paid_of(row)
    return "" if paid.amount_minor is None else render(paid.amount_minor, paid.currency)


_COLUMNS: Final = {
    "id": lambda row: row.review.id,
    "opened_at": lambda row: timestamp(row.review.created_at),
    "reason": lambda row: row.review.reason,
    "state": lambda row: row.review.state,
    "amount": _amount,
    "currency": lambda row: paid_of(row).currency,
    "payer_name": lambda row: paid_of(row).payer_name,
    "decided_at": lambda row: timestamp_or_none(row.review.decided_at),
    "decided_by": lambda row: row.review.decided_by,
    "notes": lambda row: row.review.notes,
}
