"""The status of the lines, and payment methods (merchant numbers) with their SIMs."""

from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from daemon.api.http.body import read_object, read_object_if_any
from daemon.api.http.fields import read_uuid
from daemon.api.http.idempotency import claim
from daemon.api.http.service import Call, Reply, ok, once
from daemon.api.openapi.describe import described
from daemon.core.errors import Refusal
from daemon.core.inputs import Answer, Keep
from daemon.core.json_values import dump, success, warnings_meta
from daemon.core.limits import ACCOUNT_NAME_CHARACTERS_MAX, MERCHANT_CODE_CHARACTERS_MAX
from daemon.core.lines import line_json
from daemon.core.reading import Wrong, read
from daemon.core.shape import DryRun, UuidRead, marked, sample
from daemon.flows.lines import payment_methods as method_flow
from daemon.flows.lines import sims as sim_flow
from daemon.flows.lines.payment_methods import Claimed, MethodChanges, NewMethod, Registered, Slot
from daemon.steps.lines import line_status
from daemon.store.engine import Reader
from daemon.store.lines import devices, payment_methods
from daemon.wire import ErrorCode

EXAMPLE_ID: Final = "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f"
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


def _ghanaian(number: str) -> str | Wrong:
    return (
        number
        if number.startswith(_GHANA)
        else Wrong("invalid", "must be a Ghanaian number (+233)")
    )


class SlotBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A SIM: the slot of a modem."""

    device_id: Annotated[str, sample(EXAMPLE_ID, "the modem"), UuidRead]
    slot_index: Annotated[int, sample(0, "the SIM's slot, from 0", ge=0, le=SLOT_MAX)]

    def slot(self) -> Slot:
        """Return it for the flow."""
        return Slot(self.device_id, self.slot_index)


_SIM: Final = {"device_id": EXAMPLE_ID, "slot_index": 0}
_Number = Annotated[str, marked(read="phone", then=_ghanaian)]
_AccountName = Annotated[
    str,
    sample("Ama Provisions", "the account name, as the network shows it"),
    Meta(min_length=1, max_length=ACCOUNT_NAME_CHARACTERS_MAX),
]


class MethodBody(Struct, frozen=True):
    """A merchant number."""

    provider: Annotated[
        str, sample("momo_mtn", "the mobile-money service"), marked(read="provider")
    ]
    phone_number: Annotated[_Number, sample("0241234567", "the merchant's number, local or E.164")]
    account_name: _AccountName
    merchant_code: (
        Annotated[
            str,
            sample("123456", "the code of a merchant account"),
            Meta(max_length=MERCHANT_CODE_CHARACTERS_MAX),
        ]
        | None
    ) = None
    sim: Annotated[SlotBody, sample(_SIM, "the SIM of the number")] | None = None

    def new_method(self) -> NewMethod:
        """Return it for the flow."""
        slot = None if self.sim is None else self.sim.slot()
        return NewMethod(
            self.provider, self.phone_number, self.account_name, self.merchant_code, slot
        )


class MethodChangesBody(Struct, frozen=True):
    """A change of a merchant number; `sim` null removes it from its SIM."""

    sim: (
        Annotated[
            SlotBody,
            sample(
                _SIM,
                "absent: no change; null: remove the number from its SIM; an object: move the number to this SIM",
            ),
            marked(null=True),
        ]
        | UnsetType
        | None
    ) = UNSET
    account_name: _AccountName | None = None
    phone_number: (
        Annotated[_Number, sample("0241234567", "the customer's phone number, local or E.164")]
        | None
    ) = None


@described(
    "Create a payment method",
    "payment method",
    status=201,
    reads=MethodBody,
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
    asked_for, warnings = read(MethodBody, body)
    new = asked_for.new_method()

    def render(made: Registered) -> Answer:
        data = line_json.payment_method(made.method, made.sim, made.device)
        return Answer(201, success(data, warnings_meta([*warnings, *made.warnings])))

    keep = Keep(asked, render)
    return await once(call, keep, lambda: method_flow.create(call.env, call.caller, new, keep=keep))


@described(
    "Update a payment method",
    "payment method",
    reads=MethodChangesBody,
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
    asked, unknown = read(MethodChangesBody, await read_object(call.scope, call.receive))
    slot = asked.sim.slot() if isinstance(asked.sim, SlotBody) else None
    changes = MethodChanges(asked.sim is not UNSET, slot, asked.account_name, asked.phone_number)
    method_id = call.uuid(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
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


class ClaimBody(Struct, frozen=True):
    """Whether to count only."""

    dry_run: DryRun = False


@described(
    "Claim unplaced payments",
    "claimed",
    reads=ClaimBody,
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
    wanted, warnings = read(ClaimBody, body)
    dry_run = wanted.dry_run
    meta = warnings_meta(warnings)

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


class SimChanges(Struct, frozen=True):
    """Whether a SIM is for payments."""

    ignored: (
        Annotated[bool, sample(True, "true: the SIM is not for payments; false: it is")] | None
    ) = None


@described(
    "Update a SIM",
    "sim",
    reads=SimChanges,
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
    asked, warnings = read(SimChanges, await read_object(call.scope, call.receive))
    device_id, slot = read_uuid(call.path("device_id")), call.path("slot_index")
    if device_id is None or slot not in map(str, range(SLOT_MAX + 1)):
        raise Refusal(ErrorCode.DEVICE_NOT_FOUND)
    device, sim, method = await sim_flow.ignore(
        call.env, call.caller, device_id, int(slot), ignored=asked.ignored
    )
    shown = {"device_id": device.device_id, "name": device.name, **line_json.slot(sim, method)}
    return ok(shown, warnings_meta(warnings))
