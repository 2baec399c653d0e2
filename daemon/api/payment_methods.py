"""Merchant numbers and the SIMs to put them on (interface.md, Payment methods and lines)."""

from typing import Any, Final

from daemon.api.described import described
from daemon.api.fields import Fields, ignored, read_uuid
from daemon.api.idempotency import claim
from daemon.api.permission import needs_live
from daemon.api.read_json import read_object, read_object_if_any
from daemon.api.service import Call, Reply, finished, ok
from daemon.core import line_shapes
from daemon.core.errors import Refusal
from daemon.core.limits import ACCOUNT_NAME_CHARACTERS_MAX, MERCHANT_CODE_CHARACTERS_MAX
from daemon.core.shapes import warned
from daemon.flows.claim_unplaced import claim_unplaced as claim_unplaced_flow
from daemon.flows.methods import NewMethod, Slot
from daemon.flows.methods import create as create_flow
from daemon.flows.methods import delete as delete_flow
from daemon.flows.methods import move as move_flow
from daemon.store import devices, payment_methods
from daemon.store.engine import Reader
from daemon.wire import ErrorCode

KNOWN: Final = ("provider", "phone_number", "account_name", "merchant_code", "sim")
_GHANA: Final = "+233"
SLOT_MAX: Final = 15
"""More SIMs than any phone has; it only keeps nonsense out."""


def read_slot(fields: Fields) -> Slot | None:
    """Read the member `sim`."""
    inner = fields.inside("sim")
    if inner is None:
        return None
    inner.refuse_unknown(("device_id", "slot_index"))
    device_id = inner.uuid("device_id", required=True)
    slot_index = inner.integer("slot_index", 0, SLOT_MAX, required=True)
    if device_id is None or slot_index is None:
        return None
    return Slot(device_id, slot_index)


def read(fields: Fields) -> NewMethod:
    """Read the body of a new number.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    provider = fields.provider("provider", required=True)
    phone_number = fields.phone("phone_number", required=True)
    if phone_number is not None and not phone_number.startswith(_GHANA):
        fields.fail("phone_number", "invalid", "must be a number of Ghana, as all providers' are")
    account_name = fields.text("account_name", required=True, most=ACCOUNT_NAME_CHARACTERS_MAX)
    merchant_code = fields.text("merchant_code", most=MERCHANT_CODE_CHARACTERS_MAX)
    slot = read_slot(fields)
    fields.done()
    assert provider is not None
    assert phone_number is not None
    assert account_name is not None
    return NewMethod(provider, phone_number, account_name, merchant_code, slot)


@described(
    "Create a payment method",
    "payment method",
    status=201,
    reads=read,
    errors=(
        ErrorCode.LIVE_KEY_REQUIRED,
        ErrorCode.PAYMENT_METHOD_EXISTS,
        ErrorCode.SIM_NOT_FOUND,
        ErrorCode.NETWORK_MISMATCH,
        ErrorCode.SIM_ALREADY_ASSIGNED,
    ),
    example={
        "provider": "momo_mtn",
        "phone_number": "0241234567",
        "account_name": "Ama Provisions",
        "sim": {"device_id": "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f", "slot_index": 0},
    },
    idempotent=True,
)
async def create(call: Call) -> Reply:
    """Register a number; 201."""
    needs_live(call.caller)
    body = await read_object(call.scope, call.receive)
    asked = claim(call, body)
    new = read(Fields(body))
    async with call.service.inflight.alone(asked):
        answer = await create_flow(
            call.env,
            call.caller,
            new,
            claim=asked,
            warnings=ignored(Fields(body).unknown(KNOWN)),
        )
    return finished(answer)


def read_move(fields: Fields) -> Slot | None:
    """Read the body of a move."""
    slot = read_slot(fields)
    fields.done()
    return slot


@described(
    "Move a payment method",
    "payment method",
    reads=read_move,
    errors=(
        ErrorCode.LIVE_KEY_REQUIRED,
        ErrorCode.PAYMENT_METHOD_NOT_FOUND,
        ErrorCode.SIM_NOT_FOUND,
        ErrorCode.NETWORK_MISMATCH,
        ErrorCode.SIM_ALREADY_ASSIGNED,
    ),
    example={"sim": {"device_id": "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f", "slot_index": 0}},
)
async def move(call: Call) -> Reply:
    """PATCH: no `sim` leaves the SIM alone, null takes the number off it, an object moves the number there."""
    needs_live(call.caller)
    body = await read_object(call.scope, call.receive)
    fields = Fields(body)
    slot = read_move(fields)
    method_id = _id(call)
    meta = warned(ignored(fields.unknown(("sim",))))
    if "sim" not in body:
        return ok(await _record(call, method_id), meta)
    return ok(await move_flow(call.env, call.caller, method_id, slot), meta)


@described(
    "Delete a payment method",
    "payment method",
    errors=(
        ErrorCode.LIVE_KEY_REQUIRED,
        ErrorCode.PAYMENT_METHOD_NOT_FOUND,
    ),
)
async def delete(call: Call) -> Reply:
    """Take a number away; its payments keep their attribution."""
    needs_live(call.caller)
    return ok(await delete_flow(call.env, call.caller, _id(call)))


def read_claim(fields: Fields) -> bool:
    """Read the body: is it a dry run?"""
    dry_run = fields.boolean("dry_run", default=False)
    fields.done()
    return dry_run


@described(
    "Claim unplaced payments",
    "claimed",
    reads=read_claim,
    errors=(
        ErrorCode.LIVE_KEY_REQUIRED,
        ErrorCode.PAYMENT_METHOD_NOT_FOUND,
        ErrorCode.METHOD_HAS_NO_SIM,
    ),
    example={"dry_run": True},
    body_optional=True,
    idempotent=True,
)
async def claim_unplaced(call: Call) -> Reply:
    """Give a number the payments of the last 30 days that came to its SIM while no number was there.

    Answers `{success, claimed, dry_run, from, to}`: `[from, to)` is the window to replay, null when there is none. With
    `dry_run` also `amounts` and `payments`, if the caller may read transactions.
    """
    needs_live(call.caller)
    body = await read_object_if_any(call.scope, call.receive)
    asked = claim(call, body)
    fields = Fields(body)
    dry_run = read_claim(fields)
    async with call.service.inflight.alone(asked):
        answer = await claim_unplaced_flow(
            call.env,
            call.caller,
            _id(call),
            dry_run=dry_run,
            claim=asked,
            warnings=ignored(fields.unknown(("dry_run",))),
        )
    return finished(answer)


@described("List payment methods", "payment methods", errors=(ErrorCode.LIVE_KEY_REQUIRED,))
async def get_list(call: Call) -> Reply:
    """List the numbers; they are live things, so a test key sees none (decisions.md section 5)."""
    needs_live(call.caller)

    def job(reader: Reader) -> list[dict[str, Any]]:
        methods = payment_methods.in_use(reader)
        return [
            line_shapes.payment_method(method, *payment_methods.where(reader, method))
            for method in methods
        ]

    return ok(await call.env.store.read(job))


@described(
    "Get a payment method",
    "payment method",
    errors=(ErrorCode.LIVE_KEY_REQUIRED, ErrorCode.PAYMENT_METHOD_NOT_FOUND),
)
async def get_one(call: Call) -> Reply:
    """Return one number."""
    needs_live(call.caller)
    return ok(await _record(call, _id(call)))


def _id(call: Call) -> str:
    found = read_uuid(call.path("id"))
    if found is None:
        raise Refusal(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
    return found


async def _record(call: Call, method_id: str) -> dict[str, Any]:
    def job(reader: Reader) -> dict[str, Any]:
        method = payment_methods.get(reader, method_id)
        if method is None:
            raise Refusal(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
        return line_shapes.payment_method(method, *payment_methods.where(reader, method))

    return await call.env.store.read(job)


@described("List phones and SIMs", "phones", errors=(ErrorCode.LIVE_KEY_REQUIRED,))
async def get_sims(call: Call) -> Reply:
    """List phones and slots to choose from."""
    needs_live(call.caller)

    def job(reader: Reader) -> list[dict[str, Any]]:
        return line_shapes.sims(
            devices.known(reader), devices.sims_in_phones(reader), payment_methods.in_use(reader)
        )

    return ok(await call.env.store.read(job))
