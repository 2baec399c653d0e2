"""Review: doubtful payments and messages, one card at a time, decided by keyboard; and the list of all of them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from daemon.core.access.callers import Operation, require
from daemon.core.errors import Refusal, needed
from daemon.core.json_values import timestamp, timestamp_or_none
from daemon.core.limits import HOUR_US, NOTES_CHARACTERS_MAX, SECOND_US
from daemon.core.messages.balance_chain import Standing
from daemon.core.messages.message_json import balance_chain
from daemon.core.model import Payment, Review, Transaction, WaitingApproval
from daemon.core.names import provider_name
from daemon.core.payments.matching import VERIFIED
from daemon.core.payments.review_json import ReviewEvidence, explanation
from daemon.core.payments.reviews import REASONS
from daemon.dash.parts import listing
from daemon.dash.parts.confirming import confirm
from daemon.dash.parts.listing import Choice
from daemon.dash.parts.message_text import sender_name, sms_text, visible
from daemon.dash.parts.order import refuse_settlement
from daemon.dash.parts.wallet import wallet_form
from daemon.dash.web.visit import Download, Goto, Outcome, Shown, Visit
from daemon.flows.payments import review as flow
from daemon.flows.payments import settlement
from daemon.store.engine import Reader
from daemon.store.payments import payments, reviews, transactions
from daemon.wire import ErrorCode, Mode, ReviewReason, SettlementKind, TransactionStatus
from parsers import person_name
from parsers.money import read_api_amount, render
from parsers.phone import read_phone
from parsers.reading import Kind, normalize_telco_id
from parsers.svc_code import candidates

QUEUE: Final = "/dash/review"
NOBODY: Final = "none"
"""The choice to keep the payment without an order."""
HELD: Final = "held"
"""The choice of the order that the review is about."""
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode
LAST_US: Final = HOUR_US
"""The last decision is shown for this long."""
NOTES: Final = ("no_money", "nobody_ordered", "given_back")
"""Ready-made notes of a rejection, so that it needs no typing."""
DECIDED: Final = Choice("decided", ("open", "", "approved", "rejected"), "open")
_SHOWN_AGAIN: Final = (
    ErrorCode.BRANCH_ASKED, ErrorCode.NETWORK_MISMATCH, ErrorCode.PAYMENT_REVERSED, ErrorCode.TRANSACTION_NOT_FOUND,
    ErrorCode.ALREADY_VERIFIED, ErrorCode.NO_MATCHING_TRANSACTION, ErrorCode.TRANSACTION_ID_ALREADY_USED,
    ErrorCode.DECISION_NOT_UNDOABLE,
)  # fmt: skip


async def show_queue(visit: Visit) -> Shown | Goto:
    """Go to the newest review that this user may decide; say so if there is none."""

    def read(reader: Reader) -> tuple[Review | None, Review | None]:
        first = reviews.next_open(reader, before=None, without=_left_out(visit), mode=visit.mode)
        return first, _last(visit, reader)

    first, last = await visit.env.store.read(read)
    if first is not None:
        said = visit.query.get("said", "")
        known = said.startswith("said_review") and visit.words.has(said)
        return Goto(f"{QUEUE}/{first.id}", said if known else "")
    return Shown("payments/review_none.html", {"last": last, "others": visit.reviews_open})


async def approve(visit: Visit) -> Outcome:
    """Approve a review for the chosen order, and go on to the next one."""
    review_id, caller = visit.places["id"], visit.caller
    reference = await _reference(visit)
    with visit.shows(*_SHOWN_AGAIN):
        try:
            sure = await flow.needs_password(visit.env, caller, review_id, visit.idempotency)
            if sure:
                # The person has seen the money, and gives the own password.
                require(visit.caller, Operation.DECIDE_FORGERY)
                if visit.form.get("sure") != "yes":
                    visit.wrong("sure", "sure_missing")
                await confirm(visit)
            approval = flow.Approval(reference, None, sure)
            wait_s = visit.env.config.transactions.approval_undo_s
            asked = await visit.env.store.read(lambda reader: reviews.get(reader, review_id, None))
            # A branch decides its own reviews, and is asked at once.
            of_branch = asked is not None and asked.branch_id is not None
            if wait_s > 0 and visit.who is not None and not of_branch:
                user = visit.who.user
                await flow.approve_later(visit.env, caller, review_id, approval, user, wait_s * SECOND_US)
                return await _on(visit, "said_review_approving")
            await visit.kept(
                Goto(QUEUE, "said_review_approved"),
                lambda keep: flow.approve(visit.env, caller, review_id, approval, keep=keep),
            )
        except Refusal as refusal:
            return _decided_before(visit, refusal)
    return await _on(visit, "said_review_approved")


async def reject(visit: Visit) -> Outcome:
    """Reject a review with a note, and go on to the next one."""
    given = visit.form.get("note", "")
    own = visit.form.get("own_note", "").strip()
    notes = own or (visit.words(f"note_{given}") if given in NOTES else "")
    if not notes or len(notes) > NOTES_CHARACTERS_MAX:
        visit.wrong("own_note", "note_missing")
    review_id, place = visit.places["id"], Goto(QUEUE, "said_review_rejected")

    async def rejected(*, confirmed: bool) -> None:
        await visit.kept(
            place, lambda keep: flow.reject(visit.env, visit.caller, review_id, notes, confirmed=confirmed, keep=keep)
        )

    with visit.shows(*_SHOWN_AGAIN):
        try:
            try:
                await rejected(confirmed=False)
            except Refusal as refusal:
                if refusal.code is not ErrorCode.INVALID_PASSWORD:
                    raise
                # It rejects further messages.
                await confirm(visit)
                await rejected(confirmed=True)
        except Refusal as refusal:
            return _decided_before(visit, refusal)
    return await _on(visit, "said_review_rejected")


async def settle(visit: Visit) -> Outcome:
    """Settle the short order of the review with its payment: the rest came."""

    def read(reader: Reader) -> tuple[Transaction, Payment] | None:
        review = needed(reviews.get(reader, visit.places["id"], None), ErrorCode.REVIEW_NOT_FOUND)
        order = transactions.get(reader, review.transaction_id or "")
        paid = payments.get(reader, review.payment_id or "")
        return None if order is None or paid is None else (order, paid)

    found = await visit.env.store.read(read)
    if found is None:
        visit.wrong("", "not_settleable")
    order, paid = found
    request = settlement.SettlementRequest(SettlementKind.REST_RECEIVED, paid.telco_id_as_read)
    place = Goto(QUEUE, "said_settled")
    try:
        await visit.kept(
            place, lambda keep: settlement.settle(visit.env, visit.caller, order.reference, request, keep=keep)
        )
    except Refusal as refusal:
        refuse_settlement(visit, refusal)
    return await _on(visit, "said_settled")


async def undo(visit: Visit) -> Outcome:
    """Undo an approval that waits, else take back the decision."""
    review_id = visit.places["id"]

    def place(done: flow.Decided) -> Goto:
        is_open = done.review.review.state == reviews.OPEN
        return Goto(f"{QUEUE}/{review_id}", "said_review_undone" if is_open else "said_review_judged")

    with visit.shows(*_SHOWN_AGAIN):
        if await flow.undo_waiting(visit.env, visit.caller, review_id):
            return Goto(f"{QUEUE}/{review_id}", "said_review_undone")
        return await visit.kept(place, lambda keep: flow.undo(visit.env, visit.caller, review_id, keep=keep))


def _decided_before(visit: Visit, refusal: Refusal) -> Goto:
    """Go to the page, which shows the decision and its author; raise any other refusal."""
    if refusal.code is not ErrorCode.REVIEW_ALREADY_DECIDED:
        raise refusal
    return Goto(f"{QUEUE}/{visit.places['id']}?late=1")


async def _reference(visit: Visit) -> str | None:
    """Return the reference of the transaction to pay; None for the review's own or none."""
    typed = visit.form.get("other_code", "").strip()
    if not typed:
        chosen = visit.form.get("order", "")
        if not chosen:
            visit.wrong("order", "order_missing")
        return None if chosen in {NOBODY, HELD} else chosen

    def read(reader: Reader) -> list[Transaction]:
        review = reviews.get(reader, visit.places["id"], None)
        mode = Mode.LIVE if review is None else review.mode
        return transactions.by_codes_in_use(reader, mode, candidates(typed.upper()), visit.now)

    found = await visit.env.store.read(read)
    if len(found) != 1:
        visit.wrong("other_code", "code_unknown")
    return found[0].reference


async def _on(visit: Visit, said: str) -> Goto:
    """Go to the next review: an older one if there is one, else the newest."""

    def read(reader: Reader) -> Review | None:
        return _next(visit, reader, reviews.get(reader, visit.places["id"], None))

    after = await visit.env.store.read(read)
    return Goto(QUEUE if after is None else f"{QUEUE}/{after.id}", said)


def _next(visit: Visit, reader: Reader, now: Review | None) -> Review | None:
    before, without = None if now is None else now.seq, _left_out(visit)
    found = reviews.next_open(reader, before=before, without=without, mode=visit.mode)
    found = found or reviews.next_open(reader, before=None, without=without, mode=visit.mode)
    return None if found is not None and now is not None and found.id == now.id else found


def _left_out(visit: Visit) -> set[ReviewReason]:
    """Return the reasons that the user may not decide; empty for a user without decisions, so that all are shown."""
    if not visit.may(Operation.DECIDE_REVIEW):
        return set()
    return {ReviewReason(reason) for reason, row in REASONS.items() if not visit.may(row.decider)}


def _last(visit: Visit, reader: Reader) -> Review | None:
    """Return the newest decision of the user: one that still waits, else the last one of the hour."""
    user = "" if visit.who is None else visit.who.user.name
    found = reviews.last_waiting(reader, user)
    return found or reviews.last_decided(reader, visit.caller.name, visit.now - LAST_US)


async def show_one(visit: Visit) -> Shown:
    """Show one review."""
    review_id = visit.places["id"]

    def read(reader: Reader) -> tuple[ReviewEvidence, Review | None, Review | None, WaitingApproval | None, str]:
        found = needed(reviews.evidence_of(reader, review_id, None, visit.now), ErrorCode.REVIEW_NOT_FOUND)
        after, later = _next(visit, reader, found.review), reviews.waiting(reader, review_id)
        sim = None if found.line is None else found.line.sim_seq
        of_balance = found.review.reason == ReviewReason.BALANCE_BREAK
        candidate = found.place is not None and found.place.entry.standing is Standing.CANDIDATE
        asks = found.review.state == reviews.OPEN and (of_balance or candidate)
        proof = wallet_form(visit, reader, sim) if asks else ""
        return found, after, _last(visit, reader), later, proof

    found, after, last, later, proof = await visit.env.store.read(read)
    visit.mode = found.review.mode
    review, message, paid = found.review, found.message, paid_of(found)
    return Shown(
        "payments/review.html",
        {
            "one": card(visit, found),
            "paid": paid,
            "review": review,
            "message": message,
            "sms": sms_text(visit, message.body),
            "sender": sender_name(visit, message.sender),
            "network": provider_name(message.provider) if message.provider else "—",
            "line": None if found.line is None else found.line.phone_number,
            "payment": found.payment,
            "other": found.other_payment,
            "chain": None if found.place is None else balance_chain(found.place),
            "typed_text": sms_text(visit, paid.typed),
            "open": review.state == reviews.OPEN,
            "approving": later,
            "proof": proof,
            "decides": visit.may(REASONS[review.reason].decider),
            "looks_only": not visit.may(Operation.DECIDE_REVIEW),
            "notes": visible(review.notes),
            "ready_notes": NOTES,
            "after": after,
            "last": last if last is not None and last.id != review.id else None,
            "waiting": visit.reviews_open,
            "late": visit.query.get("late") == "1",
            "nobody": NOBODY,
        },
        f"{visit.words('review')} · {visit.money(paid.amount_minor, paid.currency)}",
    )


async def show_list(visit: Visit) -> Shown | Download:
    """Show the list of reviews, open and decided ones, or return it as CSV."""
    asked = await listing.ask(visit, DECIDED, of_branches=True)
    begin = asked.number or 0
    rows, total = await visit.env.store.read(
        lambda reader: reviews.evidence_page(
            reader,
            state=asked.chosen["decided"] or None,
            mode=visit.mode,
            limit=asked.limit,
            offset=begin,
            now=visit.now,
            branch=asked.branch,
        )
    )
    end = begin + len(rows)
    return await LIST.answer(visit, asked, rows, end if end < total else None, count=f"{total:,}", paid_of=paid_of)


def _paid_text(row: ReviewEvidence) -> str:
    paid = paid_of(row)
    return "" if paid.amount_minor is None else render(paid.amount_minor, paid.currency)


class Paid(Struct, frozen=True):
    """The fields of the message or the payment, as plain values; None for a field that it does not have."""

    amount_minor: int | None
    currency: str
    payer_name: str | None
    payer_phone: str | None
    typed: str | None
    telco_id: str | None
    balance_minor: int | None
    at: int


class Difference(Struct, frozen=True):
    """One line of the comparison: its name, both values, a sentence about them, and whether they fit."""

    what: str
    paid: str
    asked: str
    text: str
    tone: str


class Option(Struct, frozen=True):
    """A transaction that an approval may pay; `value` is the value in the form, `why` the reason for the offer."""

    value: str
    order: Transaction | None
    why: str


def card(visit: Visit, evidence: ReviewEvidence) -> dict[str, Any]:
    """Return the card of a review: the doubt, the order beside the payment, and what each decision does."""
    t = visit.words
    details = _decode(evidence.review.details)
    paid = paid_of(evidence)
    options = [] if _is_reversal(evidence) else _options(visit, evidence)
    missing = _missing(evidence)
    order = None if missing is not None else next((one.order for one in options if one.order is not None), None)
    if order is None and evidence.request is not None:
        order = evidence.request[0]
    likely = bool(evidence.suggestions) or len(options) <= 2 or options[0].value == HELD
    standing = None if evidence.place is None else evidence.place.entry.standing
    return {
        "why": explanation(evidence),
        "forged": REASONS[evidence.review.reason].needs_password,
        "paid": paid,
        "order": order,
        "options": options,
        # Chosen already if it is the only one, or suggested; else the person has to choose.
        "chosen": NOBODY if not options else options[0].value if likely else "",
        "missing": missing,
        "rest": _rest(visit, evidence, missing),
        "differences": [] if order is None else differences(visit, paid, order, missing),
        "approve": _approve(visit, evidence, options),
        "reject": _reject(visit, evidence),
        # It may be settled by later messages.
        "by_itself": evidence.payment is None and standing in {Standing.ACCEPTED, Standing.CANDIDATE},
        "doubts": [t(f"doubt_{one}") for one in details.get("doubts") or () if t.has(f"doubt_{one}")],
    }


def _missing(evidence: ReviewEvidence) -> int | None:
    """Return what is missing of the short order that the payment of a review may be the rest of, or was."""
    order, first = evidence.request or (None, None)
    if order is None or first is None or order.status is not TransactionStatus.PARTIAL or order.reversed_at is not None:
        return None
    open_ = order.settled_at is None or evidence.review.state == "used_for_settlement"
    return (order.expected_minor or 0) - first.amount_minor if open_ and evidence.payment is not None else None


def _rest(visit: Visit, evidence: ReviewEvidence, missing: int | None) -> dict[str, Any] | None:
    """Return what a user reads who may say that the payment is the rest."""
    (order, _), payment = evidence.request or (None, None), evidence.payment
    if order is None or payment is None or missing is None or not visit.may(Operation.SETTLE):
        return None
    return {
        "code": order.svc_code,
        "missing": visit.money(missing, order.currency),
        "fits": missing == payment.amount_minor,
        "command": f"momo tx settle {order.svc_code} rest --payment {payment.telco_id_as_read}",
    }


def paid_of(evidence: ReviewEvidence) -> Paid:
    """Return the paid money, from the payment, or from the fields that were read from the message."""
    row = evidence.payment
    if row is not None:
        return Paid(
            row.amount_minor, row.currency, row.payer_name, row.payer_phone, row.reference_text, row.telco_id_as_read,
            row.balance_minor, row.telco_at,
        )  # fmt: skip
    fields: Mapping[str, Any] = _decode(evidence.message.fields)
    currency = str(fields.get("currency") or "GHS")

    def money(name: str) -> int | None:
        return read_api_amount(str(fields.get(name) or ""), currency)

    return Paid(
        money("amount"), currency, fields.get("payer_name"), read_phone(str(fields.get("payer_phone") or "")),
        fields.get("reference"), fields.get("transaction_id"), money("balance"),
        evidence.message.sent_at or evidence.message.received_at,
    )  # fmt: skip


def _is_reversal(evidence: ReviewEvidence) -> bool:
    return evidence.payment is None and evidence.message.kind == Kind.REVERSAL


def _options(visit: Visit, evidence: ReviewEvidence) -> list[Option]:
    """Return the transactions that an approval may pay, the likeliest first.

    An approval without a transaction pays the one of the review, so the option "none" exists only if the review has none to pay.
    """
    t = visit.words
    held = None if evidence.request is None else evidence.request[0]
    if held is not None and held.status in VERIFIED:
        held = None
    found = [
        Option(one.request.reference, one.request, ", ".join(t(f"why_{each}") for each in one.reasons))
        for one in evidence.suggestions
    ]
    if held is not None:
        found.append(Option(HELD, held, t("why_held")))
    known = {option.order.id for option in found if option.order is not None}
    found += [
        Option(one.reference, one, t("why_named"))
        for one in evidence.named
        if one.status not in VERIFIED and one.id not in known
    ]
    if held is None:
        found.append(Option(NOBODY, None, t("why_none")))
    return found


def differences(visit: Visit, paid: Paid, order: Transaction, missing: int | None) -> list[Difference]:
    """Compare a payment with an order, or with what is missing of one that is paid in part, in words."""
    t, found = visit.words, [_amount(visit, paid, order, missing)]
    typed, code = sms_text(visit, paid.typed) or "", order.svc_code or "—"
    if typed:
        found.append(_row(t, "code", typed, code, same=code in candidates(typed.upper())))
    else:
        found.append(Difference(t("code_of"), "—", code, t("differs_no_code"), "warn"))
    found += _payer(visit, paid, order)
    if order.expected_telco_transaction_id is not None:
        same = normalize_telco_id(paid.telco_id or "") == order.expected_telco_transaction_id
        found.append(_row(t, "id", paid.telco_id or "—", order.expected_telco_transaction_id, same=same))
    for at, key in ((order.cancelled_at, "cancelled"), (order.expires_at, "expired")):
        over = order.status == TransactionStatus.CANCELLED if key == "cancelled" else True
        if at is not None and over and paid.at > at:
            sentence = t(f"differs_{key}")
            found.append(Difference(t("differs_time"), t.moment(paid.at), t.moment(at), sentence, "bad"))
            break
    if order.status in VERIFIED and missing is None:
        found.append(Difference(t("state"), "", "", t("differs_paid_before"), "bad"))
    return found


def _row(t: Any, name: str, paid: str, asked: str, *, same: bool) -> Difference:
    text = t("differs_same") if same else t(f"differs_{name}_other")
    return Difference(t(f"differs_{name}"), paid, asked, text, "good" if same else "bad")


def _amount(visit: Visit, paid: Paid, order: Transaction, missing: int | None) -> Difference:
    t = visit.words
    what, asked = (t("amount"), order.expected_minor) if missing is None else (t("rest_short"), missing)
    money = paid.amount_minor
    shown = visit.money(money, paid.currency), visit.money(asked, order.currency)
    if asked is None or money is None or order.currency != paid.currency:
        return Difference(what, *shown, t("differs_unknown"), "warn")
    if money == asked:
        return Difference(what, *shown, t("differs_same"), "good")
    key = "differs_short" if money < asked else "differs_over"
    text = t(key, amount=visit.money(abs(money - asked), paid.currency))
    return Difference(what, *shown, text, "bad")


def _payer(visit: Visit, paid: Paid, order: Transaction) -> list[Difference]:
    t = visit.words
    found = []
    wanted = order.expected_payer_phone
    if wanted is not None:
        if paid.payer_phone is None:
            text, tone = t("differs_no_phone"), "warn"
            found.append(Difference(t("phone"), "—", visit.phone(wanted), text, tone))
        else:
            shown = visit.phone(paid.payer_phone), visit.phone(wanted)
            found.append(_row(t, "phone", *shown, same=paid.payer_phone == wanted))
    name = order.expected_payer_name or order.customer_name
    if name:
        if paid.payer_name is None:
            found.append(Difference(t("payer"), "—", visible(name), t("differs_no_name"), "warn"))
        else:
            same = person_name.is_same(paid.payer_name, name)
            near = not same and person_name.is_similar(paid.payer_name, name)
            both = visible(paid.payer_name), visible(name)
            if near:
                found.append(Difference(t("payer"), *both, t("differs_name_near"), "warn"))
            else:
                found.append(_row(t, "name", *both, same=same))
    return found


def _approve(visit: Visit, evidence: ReviewEvidence, options: Sequence[Option]) -> list[str]:
    """Return the effects of an approval, sentence by sentence."""
    t = visit.words
    reason = evidence.review.reason
    if _is_reversal(evidence):
        return [t("approve_reversal")]
    found = []
    if any(option.order is not None for option in options):
        found.append(t("approve_order"))
    if any(option.order is None for option in options):
        near = reason == ReviewReason.NEAR_MISS
        found.append(t("approve_near_none" if near else "approve_none"))
    if t.has(f"approve_{reason}"):
        found.append(t(f"approve_{reason}"))
    return found


def _reject(visit: Visit, evidence: ReviewEvidence) -> list[str]:
    t = visit.words
    if _is_reversal(evidence):
        return [t("reject_reversal")]
    found = [t("reject_message" if evidence.payment is None else "reject_payment")]
    request = evidence.request
    if request is not None and request[0].status not in VERIFIED:
        found.append(t("reject_waits"))
    return found


LIST: Final = listing.ListPage[ReviewEvidence](
    "reviews",
    "payments/reviews.html",
    {
        "id": lambda row: row.review.id,
        "opened_at": lambda row: timestamp(row.review.created_at),
        "reason": lambda row: row.review.reason,
        "state": lambda row: row.review.state,
        "amount": _paid_text,
        "currency": lambda row: paid_of(row).currency,
        "payer_name": lambda row: paid_of(row).payer_name,
        "decided_at": lambda row: timestamp_or_none(row.review.decided_at),
        "decided_by": lambda row: row.review.decided_by,
        "notes": lambda row: row.review.notes,
    },
    branch_of=lambda row: row.review.branch_id,
    searched=False,
    dated=False,
)
