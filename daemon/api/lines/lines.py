"""The status of the lines, and payment methods (merchant numbers) with their SIMs (interface.md, Payment methods and lines)."""

from collections.abc import Sequence
from typing import Any, Final

from daemon.api.http.auth import needs_live
from daemon.api.http.body import read_object, read_object_if_any
from daemon.api.http.fields import Fields, ignored
from daemon.api.http.idempotency import claim
from daemon.api.http.service import Call, Reply, finished, ok
from daemon.api.openapi.describe import described
from daemon.core.errors import Refusal
from daemon.core.json_values import warnings_meta
from daemon.core.limits import ACCOUNT_NAME_CHARACTERS_MAX, MERCHANT_CODE_CHARACTERS_MAX
from daemon.core.lines import line_json
from daemon.core.lines.modem_health import ModemHealth, without_simulated
from daemon.core.lines.readiness import (
    UNACCOUNTED_WINDOW_US,
    UNPLACED_WINDOW_US,
    line_status,
    with_problems,
)
from daemon.core.messages.balance import unaccounted
from daemon.flows.lines import payment_methods as method_flow
from daemon.flows.lines.payment_methods import NewMethod, Slot
from daemon.store.engine import Reader
from daemon.store.lines import devices, payment_methods
from daemon.store.messages import balances
from daemon.wire import ErrorCode

METHOD_FIELDS: Final = ("provider", "phone_number", "account_name", "merchant_code", "sim")
SLOT_MAX: Final = 15
"""More slots than any modem has; rejects nonsense values."""
_GHANA: Final = "+233"


@described("Get the line status", "lines", errors=(ErrorCode.LIVE_KEY_REQUIRED,))
async def get_status(call: Call) -> Reply:
    """Return the line status: the shop's numbers and their payments. A test key is rejected."""
    needs_live(call.caller)
    now = call.env.clock.now_us()
    phones = call.service.hooks.phone_states()
    return ok(await call.env.store.read(lambda reader: status(reader, now, phones)))


def status(reader: Reader, now: int, phones: Sequence[ModemHealth]) -> dict[str, Any]:
    """Read the line status object; `phones` is the current state of the ports."""
    gaps = balances.gaps_since(reader, now - UNACCOUNTED_WINDOW_US)
    found = line_status(
        devices.known(reader),
        devices.sims_in_phones(reader),
        payment_methods.in_use(reader),
        payment_methods.unplaced_by_sim(reader, now - UNPLACED_WINDOW_US),
        now,
        {sim_key: unaccounted(entries) for sim_key, entries in gaps.items()},
    )
    return with_problems(found, without_simulated(phones))


@described("List payment methods", "payment methods", errors=(ErrorCode.LIVE_KEY_REQUIRED,))
async def list_methods(call: Call) -> Reply:
    """List the merchant numbers. They belong to live mode, so a test key is rejected (decisions.md section 5)."""
    needs_live(call.caller)

    def job(reader: Reader) -> list[dict[str, Any]]:
        methods = payment_methods.in_use(reader)
        return [
            line_json.payment_method(method, *payment_methods.where(reader, method))
            for method in methods
        ]

    return ok(await call.env.store.read(job))


@described(
    "Get a payment method",
    "payment method",
    errors=(ErrorCode.LIVE_KEY_REQUIRED, ErrorCode.PAYMENT_METHOD_NOT_FOUND),
)
async def get_method(call: Call) -> Reply:
    """Return one merchant number."""
    needs_live(call.caller)
    return ok(await _record(call, call.uuid(ErrorCode.PAYMENT_METHOD_NOT_FOUND)))


async def _record(call: Call, method_id: str) -> dict[str, Any]:
    def job(reader: Reader) -> dict[str, Any]:
        method = payment_methods.get(reader, method_id)
        if method is None:
            raise Refusal(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
        return line_json.payment_method(method, *payment_methods.where(reader, method))

    return await call.env.store.read(job)


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


def read_new_method(fields: Fields) -> NewMethod:
    """Read the body of a new payment method.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    provider = fields.provider("provider", required=True)
    phone_number = fields.phone("phone_number", required=True)
    if phone_number is not None and not phone_number.startswith(_GHANA):
        fields.fail("phone_number", "invalid", "must be a Ghanaian number (+233)")
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
    reads=read_new_method,
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
async def create_method(call: Call) -> Reply:
    """Register a merchant number; 201."""
    needs_live(call.caller)
    body = await read_object(call.scope, call.receive)
    asked = claim(call, body)
    new = read_new_method(Fields(body))
    async with call.service.inflight.alone(asked):
        answer = await method_flow.create(
            call.env,
            call.caller,
            new,
            claim=asked,
            warnings=ignored(Fields(body).unknown(METHOD_FIELDS)),
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
async def move_method(call: Call) -> Reply:
    """Move a number to another SIM: an object in `sim` names the SIM, null removes the number from its SIM.

    Without `sim` nothing changes.
    """
    needs_live(call.caller)
    body = await read_object(call.scope, call.receive)
    fields = Fields(body)
    slot = read_move(fields)
    method_id = call.uuid(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
    meta = warnings_meta(ignored(fields.unknown(("sim",))))
    if "sim" not in body:
        return ok(await _record(call, method_id), meta)
    return ok(await method_flow.move(call.env, call.caller, method_id, slot), meta)


@described(
    "Delete a payment method",
    "payment method",
    errors=(
        ErrorCode.LIVE_KEY_REQUIRED,
        ErrorCode.PAYMENT_METHOD_NOT_FOUND,
    ),
)
async def delete_method(call: Call) -> Reply:
    """Delete a merchant number; its payments stay assigned to it."""
    needs_live(call.caller)
    return ok(
        await method_flow.delete(
            call.env, call.caller, call.uuid(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
        )
    )


def read_claim(fields: Fields) -> bool:
    """Read `dry_run`."""
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
    """Assign to a number the payments that its SIM received in the last 30 days while it had no number.

    Answers `{success, claimed, dry_run, from, to}`: `[from, to)` is the window to replay, null if there is none. With
    `dry_run` also `amounts` and `payments`, if the caller may read transactions.
    """
    needs_live(call.caller)
    body = await read_object_if_any(call.scope, call.receive)
    asked = claim(call, body)
    fields = Fields(body)
    dry_run = read_claim(fields)
    async with call.service.inflight.alone(asked):
        answer = await method_flow.claim_unplaced(
            call.env,
            call.caller,
            call.uuid(ErrorCode.PAYMENT_METHOD_NOT_FOUND),
            dry_run=dry_run,
            claim=asked,
            warnings=ignored(fields.unknown(("dry_run",))),
        )
    return finished(answer)


@described("List phones and SIMs", "phones", errors=(ErrorCode.LIVE_KEY_REQUIRED,))
async def list_sims(call: Call) -> Reply:
    """List the modems with their SIM slots."""
    needs_live(call.caller)

    def job(reader: Reader) -> list[dict[str, Any]]:
        return line_json.phones_with_sims(
            devices.known(reader), devices.sims_in_phones(reader), payment_methods.in_use(reader)
        )

    return ok(await call.env.store.read(job))
