"""POST /v1/reviews/{id}/approve and /reject: a person decides."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from daemon.api.fields import Fields, ignored, read_uuid
from daemon.api.idempotency import claim
from daemon.api.read_json import read_object, read_object_if_any
from daemon.api.service import Call, Reply, finished
from daemon.core.errors import Refusal
from daemon.core.requests import CallMeta
from daemon.flows import password, review
from daemon.wire import ErrorCode

NOTES_CHARACTERS_MAX: Final = 2000
APPROVE: Final = ("reference", "notes", "password")
REJECT: Final = ("notes",)


async def approve(call: Call) -> Reply:
    """Let a doubtful payment pay; what may be forged needs the account password too."""
    body = await read_object_if_any(call.scope, call.receive)
    fields = Fields(body)
    reference = fields.text("reference")
    notes = fields.text("notes", most=NOTES_CHARACTERS_MAX, lines=True)
    given = fields.value("password")
    if given is not None and not isinstance(given, str):
        fields.fail("password", "wrong_type", "must be a string")
    fields.done()
    review_id = _id(call)
    meta = _meta(call, body, APPROVE)
    async with call.service.inflight.alone(meta.idempotency):
        confirmed = await review.needs_password(call.env, call.caller, review_id, meta)
        if confirmed:
            await password.confirm(call.env, call.caller, given)
        said = review.Approval(reference, notes, confirmed)
        answer = await review.approve(call.env, call.caller, review_id, said, meta=meta)
    return finished(answer)


async def reject(call: Call) -> Reply:
    """Let a doubtful payment pay nothing."""
    body = await read_object(call.scope, call.receive)
    fields = Fields(body)
    notes = fields.text("notes", required=True, most=NOTES_CHARACTERS_MAX, lines=True)
    fields.done()
    assert notes is not None
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
