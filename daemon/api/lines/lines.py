"""The status of the lines, and payment methods (merchant numbers) with their SIMs."""

from typing import Any, Final

from daemon.api.http.body import read_object, read_object_if_any
from daemon.api.http.fields import Fields, ignored, read_uuid
from daemon.api.http.idempotency import claim
from daemon.api.http.service import Call, Reply, ok, once
from daemon.api.openapi.describe import described
from daemon.core.errors import Refusal
from daemon.core.inputs import Answer, Keep
from daemon.core.json_values import dump, success, warnings_meta
from daemon.core.limits import ACCOUNT_NAME_CHARACTERS_MAX, MERCHANT_CODE_CHARACTERS_MAX
from daemon.core.lines import line_json
from daemon.flows.lines import payment_methods as method_flow
from daemon.flows.lines import sims as sim_flow
from daemon.flows.lines.payment_methods import Claimed, MethodChanges, NewMethod, Registered, Slot
from daemon.steps.lines import line_status
from daemon.store.engine import Reader
from daemon.store.lines import devices, payment_methods
from daemon.wire import ErrorCode

METHOD_FIELDS: Final = ("provider", "phone_number", "account_name", "merchant_code", "sim")
SLOT_MAX: Final = 15
"""More slots than any modem has; rejects nonsense values."""
_GHANA: Final = "+233"


@described("Get the line status", "lines")
async def get_status(call: Call) -> Reply:
    """Return the line status: the shop's numbers and their payments; for a test key those of the sandbox."""
    now, mode = call.env.clock.now_us(), call.caller.lines_mode
    phones = call.service.hooks.phone_states()
    return ok(await call.env.store.read(lambda reader: line_status(reader, now, phones, mode)))


@described("List payment methods", "payment methods")
async def list_methods(call: Call) -> Reply:
    """List the merchant numbers; for a test key those that were created in the sandbox."""
    mode = call.caller.lines_mode

    def job(reader: Reader) -> list[dict[str, Any]]:
        methods = payment_methods.in_use(reader, mode)
        return [
            line_json.payment_method(method, *payment_methods.where(reader, method))
            for method in methods
        ]

    return ok(await call.env.store.read(job))


@described("Get a payment method", "payment method", errors=(ErrorCode.PAYMENT_METHOD_NOT_FOUND,))
async def get_method(call: Call) -> Reply:
    """Return one merchant number."""
    method_id, mode = call.uuid(ErrorCode.PAYMENT_METHOD_NOT_FOUND), call.caller.lines_mode

    def job(reader: Reader) -> dict[str, Any]:
        method = payment_methods.get(reader, method_id, mode)
        if method is None:
            raise Refusal(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
        return line_json.payment_method(method, *payment_methods.where(reader, method))

    return ok(await call.env.store.read(job))


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


def _number(fields: Fields, *, required: bool) -> str | None:
    number = fields.phone("phone_number", required=required)
    if number is not None and not number.startswith(_GHANA):
        fields.fail("phone_number", "invalid", "must be a Ghanaian number (+233)")
    return number


def read_new_method(fields: Fields) -> NewMethod:
    """Read the body of a new payment method.

    Raises:
        Refusal: VALIDATION_ERROR, naming every wrong field.
    """
    provider = fields.provider("provider", required=True)
    phone_number = _number(fields, required=True)
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
    """Register a merchant number; 201. With a test key it is one of the sandbox."""
    body = await read_object(call.scope, call.receive)
    asked = claim(call, body)
    new = read_new_method(Fields(body))
    warnings = ignored(Fields(body).unknown(METHOD_FIELDS))

    def render(made: Registered) -> Answer:
        data = line_json.payment_method(made.method, made.sim, made.device)
        return Answer(201, success(data, warnings_meta([*warnings, *made.warnings])))

    keep = Keep(asked, render)
    return await once(call, keep, lambda: method_flow.create(call.env, call.caller, new, keep=keep))


def read_method_changes(fields: Fields) -> MethodChanges:
    """Read the body of a change."""
    slot = read_slot(fields)
    name = fields.text("account_name", most=ACCOUNT_NAME_CHARACTERS_MAX, blank=False)
    number = _number(fields, required=False)
    fields.done()
    return MethodChanges("sim" in fields.body, slot, name, number)


@described(
    "Update a payment method",
    "payment method",
    reads=read_method_changes,
    errors=(
        ErrorCode.PAYMENT_METHOD_NOT_FOUND,
        ErrorCode.BELONGS_TO_BRANCH,
        ErrorCode.PAYMENT_METHOD_EXISTS,
        ErrorCode.SIM_NOT_FOUND,
        ErrorCode.NETWORK_MISMATCH,
        ErrorCode.SIM_ALREADY_ASSIGNED,
    ),
    example={"sim": {"device_id": "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f", "slot_index": 0}},
)
async def update_method(call: Call) -> Reply:
    """Correct a number or its account's name, or move it to another SIM; a field that is absent does not change.

    An object in `sim` names the SIM; null removes the number from its SIM.
    """
    fields = Fields(await read_object(call.scope, call.receive))
    changes = read_method_changes(fields)
    method_id = call.uuid(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
    unknown = ignored(fields.unknown(("sim", "account_name", "phone_number")))
    record, doubts = await method_flow.change(call.env, call.caller, method_id, changes)
    return ok(record, warnings_meta([*unknown, *doubts]))


@described(
    "Delete a payment method",
    "payment method",
    errors=(ErrorCode.PAYMENT_METHOD_NOT_FOUND, ErrorCode.BELONGS_TO_BRANCH),
)
async def delete_method(call: Call) -> Reply:
    """Delete a merchant number; its payments stay assigned to it."""
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
        ErrorCode.PAYMENT_METHOD_NOT_FOUND,
        ErrorCode.BELONGS_TO_BRANCH,
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
    body = await read_object_if_any(call.scope, call.receive)
    asked = claim(call, body)
    fields = Fields(body)
    dry_run = read_claim(fields)
    meta = warnings_meta(ignored(fields.unknown(("dry_run",))))

    def render(done: Claimed) -> Answer:
        found = line_json.claim_result(done.count, done.first, done.last, dry_run=dry_run)
        if done.details is not None:
            found |= line_json.claimable_details(*done.details)
        return Answer(200, dump(found if meta is None else {**found, "meta": meta}))

    keep, method_id = Keep(asked, render), call.uuid(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
    return await once(
        call,
        keep,
        lambda: method_flow.claim_unplaced(
            call.env, call.caller, method_id, dry_run=dry_run, keep=keep
        ),
    )


@described("List phones and SIMs", "phones")
async def list_sims(call: Call) -> Reply:
    """List the modems with their SIM slots; for a test key the simulated phones of the sandbox."""
    mode = call.caller.lines_mode

    def job(reader: Reader) -> list[dict[str, Any]]:
        return line_json.phones_with_sims(
            devices.known(reader, mode),
            devices.sims_in_phones(reader, mode),
            payment_methods.in_use(reader, mode),
        )

    return ok(await call.env.store.read(job))


def read_sim_changes(fields: Fields) -> bool | None:
    """Read `ignored`."""
    ignores = fields.switch("ignored")
    fields.done()
    return ignores


@described(
    "Update a SIM",
    "sim",
    reads=read_sim_changes,
    errors=(
        ErrorCode.DEVICE_NOT_FOUND,
        ErrorCode.SIM_NOT_FOUND,
        ErrorCode.SIM_ALREADY_ASSIGNED,
    ),
    example={"ignored": True},
)
async def update_sim(call: Call) -> Reply:
    """Set aside a SIM that is not for payments (`ignored: true`), or take it back (`false`).

    An ignored SIM is not part of the line status, and endpoints can be created although it has no number. A SIM with a
    number cannot be ignored. A number that is assigned to an ignored SIM takes it back.
    """
    fields = Fields(await read_object(call.scope, call.receive))
    ignores = read_sim_changes(fields)
    device_id, slot = read_uuid(call.path("device_id")), call.path("slot_index")
    if device_id is None or slot not in map(str, range(SLOT_MAX + 1)):
        raise Refusal(ErrorCode.DEVICE_NOT_FOUND)
    device, sim, method = await sim_flow.ignore(
        call.env, call.caller, device_id, int(slot), ignored=ignores
    )
    shown = {"device_id": device.device_id, "name": device.name, **line_json.slot(sim, method)}
    return ok(shown, warnings_meta(ignored(fields.unknown(("ignored",)))))
