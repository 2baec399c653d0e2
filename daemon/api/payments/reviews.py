"""Reviews of held payments and messages: list them with their evidence, approve, reject."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from daemon.api.http.service import Call, Reply, claim, ok, once
from daemon.api.openapi.describe import answer, described
from daemon.core import shape
from daemon.core.errors import needed
from daemon.core.inputs import CallMeta, HttpAnswer, Keep
from daemon.core.json_values import success
from daemon.core.payments.review_json import ReviewAnswer
from daemon.core.payments.transaction_json import TransactionAnswer
from daemon.core.shape import about, marked, page_size, sample
from daemon.env import Env
from daemon.flows.access import users
from daemon.flows.payments import review
from daemon.store.branches import branches
from daemon.store.payments import reviews as store_reviews
from daemon.wire import ErrorCode, ShopRole

LIMIT: Final = 50
LIMIT_MAX: Final = 200


async def branch_names(env: Env) -> Mapping[str, str]:
    """Return the names of the branches by id; empty unless this shop is a hub."""
    return await env.store.read(branches.names) if env.place.role is ShopRole.HUB else {}


class ReviewsQuery(Struct, frozen=True):
    """The page and the filter of the list."""

    limit: Annotated[int, page_size(LIMIT_MAX)] = LIMIT
    offset: shape.Offset = 0
    state: Annotated[Literal["open", "all"] | None, sample("all", "`all` includes decided or revoked ones")] = None
    mode: shape.ModeFilter = None
    branch: shape.BranchFilter = None


@described("List reviews", answer(list[ReviewAnswer], shape.PageMeta), query=ReviewsQuery)
async def get_list(call: Call) -> Reply:
    """List open reviews, newest first, or all reviews with `state=all`."""
    query = call.query
    asked = query.read(ReviewsQuery)
    limit, offset, branch = asked.limit, asked.offset, asked.branch
    state = None if asked.state == "all" else "open"
    # A key sees its own mode only.
    now, mode = call.env.clock.now_us(), call.caller.mode or asked.mode
    found, total = await call.env.store.read(
        lambda reader: store_reviews.evidence_page(
            reader, state=state, mode=mode, limit=limit, offset=offset, now=now, branch=branch
        )
    )
    names = await branch_names(call.env)
    return ok(
        [ReviewAnswer.of(each, now, names) for each in found], query.meta(limit=limit, offset=offset, total=total)
    )


@described("Get a review", answer(ReviewAnswer), errors="REVIEW_NOT_FOUND")
async def get_one(call: Call) -> Reply:
    """Return one review."""
    review_id, mode = call.uuid(ErrorCode.REVIEW_NOT_FOUND), call.caller.mode
    now = call.env.clock.now_us()
    found = needed(
        await call.env.store.read(lambda reader: store_reviews.evidence_of(reader, review_id, mode, now)),
        ErrorCode.REVIEW_NOT_FOUND,
    )
    return ok(ReviewAnswer.of(found, now))


_DECIDED: Final = answer(
    ReviewAnswer,
    transaction=TransactionAnswer | None,
    settled=Annotated[int, sample(2, "other held messages that this decision settled", ge=0)],
)


class ApprovalBody(Struct, frozen=True):
    """What a held payment pays, and the password for one that may be forged."""

    reference: Annotated[
        str | None,
        sample(
            "svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f",
            "the transaction to pay; default: the one that the payment is held for",
        ),
    ] = None
    notes: shape.Notes | None = None
    password: Annotated[
        str | None, about("the account password, if the review has `needs_password`"), marked(read="secret")
    ] = None


@described(
    "Approve a review",
    _DECIDED,
    reads=ApprovalBody,
    errors="BRANCH_ASKED REVIEW_NOT_FOUND REVIEW_ALREADY_DECIDED PAYMENT_REVERSED SESSION_REQUIRED INVALID_PASSWORD TOO_MANY_ATTEMPTS NOT_SET_UP TRANSACTION_NOT_FOUND ALREADY_VERIFIED TRANSACTION_ID_ALREADY_USED NO_MATCHING_TRANSACTION NETWORK_MISMATCH",
    example={"reference": "svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f", "notes": "her brother paid"},
    body_optional=True,
    idempotent=True,
)
async def approve(call: Call) -> Reply:
    """Approve a held payment, so that it pays its transaction. A possibly forged message also needs the account password."""
    asked, meta = await call.asked(ApprovalBody, optional=True)
    env, caller, review_id = call.env, call.caller, call.uuid(ErrorCode.REVIEW_NOT_FOUND)

    async def flow(keep: Keep[review.Decided]) -> review.Decided:
        confirmed = await review.needs_password(env, caller, review_id, keep.claim)
        if confirmed:
            await users.confirm(env, caller, asked.password)
        approval = review.Approval(asked.reference, asked.notes, confirmed)
        return await review.approve(env, caller, review_id, approval, keep=keep)

    return await once(call, _keep(meta), flow)


class RejectionBody(Struct, frozen=True):
    """Why a held payment is rejected, and the password if further messages are rejected with it."""

    notes: Annotated[shape.Notes, Meta(min_length=1)]
    password: Annotated[
        str | None, about("the account password, if the decision rejects further messages"), marked(read="secret")
    ] = None


@described(
    "Reject a review",
    _DECIDED,
    reads=RejectionBody,
    errors="BRANCH_ASKED REVIEW_NOT_FOUND REVIEW_ALREADY_DECIDED PAYMENT_REVERSED SESSION_REQUIRED INVALID_PASSWORD TOO_MANY_ATTEMPTS NOT_SET_UP",
    example={"notes": "nobody here ordered that"},
    idempotent=True,
)
async def reject(call: Call) -> Reply:
    """Reject a held payment: it then pays no transaction. Rejecting further messages with it needs the account password."""
    asked, meta = await call.asked(RejectionBody)
    env, caller, review_id = call.env, call.caller, call.uuid(ErrorCode.REVIEW_NOT_FOUND)

    async def flow(keep: Keep[review.Decided]) -> review.Decided:
        confirmed = asked.password is not None
        if confirmed:
            await users.confirm(env, caller, asked.password)
        return await review.reject(env, caller, review_id, asked.notes, confirmed=confirmed, keep=keep)

    return await once(call, _keep(meta), flow)


@described(
    "Take a decision back",
    _DECIDED,
    errors="REVIEW_NOT_FOUND DECISION_NOT_UNDOABLE BELONGS_TO_BRANCH SESSION_REQUIRED",
    idempotent=True,
)
async def undo(call: Call) -> Reply:
    """Take back an approval or a rejection of the last 72 hours.

    After an approval the transaction is as it was before, the review is open again, and every endpoint that was told gets
    `transaction.reversed`. After a rejection the message or payment is judged again as if it came now.
    """
    keep, review_id = _keep(CallMeta(call.request_id, claim(call, {}))), call.uuid(ErrorCode.REVIEW_NOT_FOUND)
    return await once(call, keep, lambda keep: review.undo(call.env, call.caller, review_id, keep=keep))


def _keep(meta: CallMeta) -> Keep[review.Decided]:
    """Return how a decision is answered: the review, and the transaction beside it."""

    def render(done: review.Decided) -> HttpAnswer:
        transaction = None
        if done.transaction is not None:
            transaction = TransactionAnswer.of(done.transaction, done.payment, done.at)
        data = ReviewAnswer.of(done.review, done.at)
        top = {"transaction": transaction, "settled": done.settled}
        return HttpAnswer(200, success(data, meta.as_json(), **top))

    return Keep(meta.idempotency, render)
