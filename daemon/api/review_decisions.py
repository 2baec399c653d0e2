"""POST /v1/reviews/{id}/approve and /reject: a person decides."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from daemon.api.described import described
from daemon.api.fields import Fields, ignored, read_uuid
from daemon.api.idempotency import claim
from daemon.api.read_json import read_object, read_object_if_any
from daemon.api.service import Call, Reply, finished
from daemon.core.errors import Refusal
from daemon.core.limits import NOTES_CHARACTERS_MAX
from daemon.core.requests import CallMeta
from daemon.flows import password, review
from daemon.wire import ErrorCode

APPROVE: Final = ("reference", "notes", "password")
REJECT: Final = ("notes",)


def read_approval(fields: Fields) -> tuple[str | None, str | None, str | None]:
    """Read the request that is paid, the notes and the password."""
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
    """Let a doubtful payment pay; what may be forged needs the account password too."""
    body = await read_object_if_any(call.scope, call.receive)
    fields = Fields(body)
    reference, notes, given = read_approval(fields)
    review_id = _id(call)
    meta = _meta(call, body, APPROVE)
    async with call.service.inflight.alone(meta.idempotency):
        confirmed = await review.needs_password(call.env, call.caller, review_id, meta)
        if confirmed:
            await password.confirm(call.env, call.caller, given)
        said = review.Approval(reference, notes, confirmed)
        answer = await review.approve(call.env, call.caller, review_id, said, meta=meta)
    return finished(answer)


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
        ErrorCode.REVIEW_NOT_FOUND,
        ErrorCode.REVIEW_ALREADY_DECIDED,
        ErrorCode.PAYMENT_REVERSED,
        ErrorCode.SESSION_REQUIRED,
    ),
    example={"notes": "nobody here ordered that"},
    idempotent=True,
)
async def reject(call: Call) -> Reply:
    """Let a doubtful payment pay nothing."""
    body = await read_object(call.scope, call.receive)
    notes = read_rejection(Fields(body))
    meta = _meta(call, body, REJECT)
    async with call.service.inflight.alone(meta.idempotency):
        answer = await review.reject(call.env, call.caller, _id(call), notes, meta=meta)
    return finished(answer)


def _id(call: Call) -> str:
    found = read_uuid(call.path("id"))
    if found is None:
        raise Refusal(ErrorCode.REVIEW_NOT_FOUND)
    return found


def _meta(call: Call, body: Mapping[str, Any], known: Collection[str]) -> CallMeta:
    # The fingerprint is a quick hash: a password must not be in it.
    covered = {name: value for name, value in body.items() if name != "password"}
    warnings = ignored(Fields(body).unknown(known))
    return CallMeta(call.request_id, claim(call, covered), tuple(warnings))
