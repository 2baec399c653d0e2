"""POST /v1/transactions/{reference}/reconcile."""

from typing import Final

from daemon.api.described import described
from daemon.api.fields import Fields
from daemon.api.idempotency import claim
from daemon.api.read_json import read_object
from daemon.api.service import Call, Reply, finished
from daemon.core.limits import NOTES_CHARACTERS_MAX, TRANSACTION_ID_CHARACTERS_MAX
from daemon.core.requests import ReconcileRequest
from daemon.flows.reconcile import reconcile as flow
from daemon.wire import ErrorCode

KNOWN: Final = ("transaction_id", "amount", "notes", "provider")


def read(fields: Fields) -> ReconcileRequest:
    """Read the body.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    fields.refuse_unknown(KNOWN)
    transaction_id = fields.text(
        "transaction_id", required=True, most=TRANSACTION_ID_CHARACTERS_MAX
    )
    amount_minor = fields.amount("amount", number=True)
    notes = fields.text("notes", most=NOTES_CHARACTERS_MAX, lines=True)
    provider = fields.provider("provider")
    fields.done()
    assert transaction_id is not None
    return ReconcileRequest(transaction_id, amount_minor, notes, provider)


@described(
    "Reconcile a transaction",
    "reconciliation",
    reads=read,
    errors=(
        ErrorCode.TRANSACTION_NOT_FOUND,
        ErrorCode.ALREADY_VERIFIED,
        ErrorCode.NO_MATCHING_TRANSACTION,
        ErrorCode.TRANSACTION_ID_ALREADY_USED,
        ErrorCode.AMOUNT_MISMATCH,
        ErrorCode.AMBIGUOUS_TRANSACTION_ID,
        ErrorCode.TOO_MANY_ATTEMPTS,
    ),
    example={"transaction_id": "0012345678", "amount": "25.00", "notes": "she showed her phone"},
    idempotent=True,
)
async def reconcile(call: Call) -> Reply:
    """Match a payment to a request by its network's ID; 200 is the only answer that means so."""
    body = await read_object(call.scope, call.receive)
    idempotency = claim(call, body)
    request = read(Fields(body))
    async with call.service.inflight.alone(idempotency):
        answer = await flow(
            call.env,
            call.caller,
            call.path("reference"),
            request,
            request_id=call.request_id,
            idempotency=idempotency,
        )
    return finished(answer)
