"""Reviews of held payments and messages: list them with their evidence, approve, reject."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from daemon.api.http.body import read_object, read_object_if_any
from daemon.api.http.fields import Fields, Query, ignored
from daemon.api.http.idempotency import claim
from daemon.api.http.service import Call, Reply, ok, once
from daemon.api.openapi.describe import described
from daemon.core.errors import Refusal
from daemon.core.inputs import Answer, CallMeta, Keep
from daemon.core.json_values import success
from daemon.core.limits import NOTES_CHARACTERS_MAX
from daemon.core.payments import review_json, transaction_json
from daemon.core.payments.transaction_json import of_branch
from daemon.env import Env
from daemon.flows.access import password
from daemon.flows.payments import review
from daemon.store.branches import branches
from daemon.store.payments import review_evidence
from daemon.wire import ErrorCode, Mode, ShopRole

LIMIT: Final = 50
LIMIT_MAX: Final = 200
STATES: Final = ("open", "all")
APPROVE: Final = ("reference", "notes", "password")
REJECT: Final = ("notes",)


async def branch_names(env: Env) -> Mapping[str, str]:
    """Return the names of the branches by id; empty unless this shop is a hub."""
    return await env.store.read(branches.names) if env.place.role is ShopRole.HUB else {}


def read_query(query: Query) -> tuple[int, int, str | None, Mode | None, str | None]:
    """Read the query: the page, the state, the mode and the branch, each None for any."""
    limit, offset = query.page(LIMIT, LIMIT_MAX)
    state = None if query.word("state", STATES) == "all" else "open"
    mode = query.word("mode", list(Mode))
    branch = query.text("branch", most=40)
    query.done()
    return limit, offset, state, None if mode is None else Mode(mode), branch


@described("List reviews", "reviews", query=read_query)
async def get_list(call: Call) -> Reply:
    """List open reviews, newest first, or all reviews with `state=all`."""
    query = call.query
    limit, offset, state, asked, branch = read_query(query)
    # A key sees its own mode only.
    now, mode = call.env.clock.now_us(), call.caller.mode or asked
    found, total = await call.env.store.read(
        lambda reader: review_evidence.page(
            reader, state=state, mode=mode, limit=limit, offset=offset, now=now, branch=branch
        )
    )
    names = await branch_names(call.env)
    return ok(
        [review_json.review(one, now) | of_branch(one.review.branch_id, names) for one in found],
        query.meta(limit=limit, offset=offset, total=total),
    )


@described("Get a review", "review", errors=(ErrorCode.REVIEW_NOT_FOUND,))
async def get_one(call: Call) -> Reply:
    """Return one review."""
    review_id, mode = call.uuid(ErrorCode.REVIEW_NOT_FOUND), call.caller.mode
    now = call.env.clock.now_us()
    found = await call.env.store.read(
        lambda reader: review_evidence.of_review(reader, review_id, mode, now)
    )
    if found is None:
        raise Refusal(ErrorCode.REVIEW_NOT_FOUND)
    return ok(review_json.review(found, now))


def read_approval(fields: Fields) -> tuple[str | None, str | None, str | None]:
    """Read the reference of the transaction, the notes and the password."""
    reference = fields.text("reference")
    notes = fields.text("notes", most=NOTES_CHARACTERS_MAX, lines=True)
    given = fields.secret("password")
    fields.done()
    return reference, notes, given


@described(
    "Approve a review",
    "decided review",
    reads=read_approval,
    errors=(
        ErrorCode.BRANCH_ASKED,
        ErrorCode.REVIEW_NOT_FOUND,
        ErrorCode.REVIEW_ALREADY_DECIDED,
        ErrorCode.PAYMENT_REVERSED,
        ErrorCode.SESSION_REQUIRED,
        ErrorCode.INVALID_PASSWORD,
        ErrorCode.TOO_MANY_ATTEMPTS,
        ErrorCode.NOT_SET_UP,
        ErrorCode.TRANSACTION_NOT_FOUND,
        ErrorCode.ALREADY_VERIFIED,
        ErrorCode.TRANSACTION_ID_ALREADY_USED,
        ErrorCode.NO_MATCHING_TRANSACTION,
        ErrorCode.NETWORK_MISMATCH,
    ),
    example={"reference": "svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f", "notes": "her brother paid"},
    body_optional=True,
    idempotent=True,
)
async def approve(call: Call) -> Reply:
    """Approve a held payment, so that it pays its transaction. A possibly forged message also needs the account password."""
    body = await read_object_if_any(call.scope, call.receive)
    fields = Fields(body)
    reference, notes, given = read_approval(fields)
    review_id = call.uuid(ErrorCode.REVIEW_NOT_FOUND)
    env, caller, keep = call.env, call.caller, _keep(call, body, APPROVE)

    async def flow() -> review.Decided:
        confirmed = await review.needs_password(env, caller, review_id, keep.claim)
        if confirmed:
            await password.confirm(env, caller, given)
        approval = review.Approval(reference, notes, confirmed)
        return await review.approve(env, caller, review_id, approval, keep=keep)

    return await once(call, keep, flow)


def read_rejection(fields: Fields) -> str:
    """Read the notes."""
    notes = fields.text("notes", required=True, most=NOTES_CHARACTERS_MAX, lines=True)
    fields.done()
    assert notes is not None
    return notes


@described(
    "Reject a review",
    "decided review",
    reads=read_rejection,
    errors=(
        ErrorCode.BRANCH_ASKED,
        ErrorCode.REVIEW_NOT_FOUND,
        ErrorCode.REVIEW_ALREADY_DECIDED,
        ErrorCode.PAYMENT_REVERSED,
        ErrorCode.SESSION_REQUIRED,
    ),
    example={"notes": "nobody here ordered that"},
    idempotent=True,
)
async def reject(call: Call) -> Reply:
    """Reject a held payment: it then pays no transaction."""
    body = await read_object(call.scope, call.receive)
    notes = read_rejection(Fields(body))
    keep, review_id = _keep(call, body, REJECT), call.uuid(ErrorCode.REVIEW_NOT_FOUND)
    return await once(
        call, keep, lambda: review.reject(call.env, call.caller, review_id, notes, keep=keep)
    )


def _keep(call: Call, body: Mapping[str, Any], known: Collection[str]) -> Keep[review.Decided]:
    """Return how a decision is answered: the review, and the transaction beside it."""
    # The fingerprint is a fast hash, so it must not cover a password.
    covered = {name: value for name, value in body.items() if name != "password"}
    meta = CallMeta(call.request_id, None, tuple(ignored(Fields(body).unknown(known))))

    def render(done: review.Decided) -> Answer:
        transaction = None
        if done.transaction is not None:
            transaction = transaction_json.single(done.transaction, done.payment, done.at)
        data = review_json.review(done.review, done.at)
        top = {"transaction": transaction, "settled": done.settled}
        return Answer(200, success(data, meta.as_json(), **top))

    return Keep(claim(call, covered), render)
