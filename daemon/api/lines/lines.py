"""The status of the lines, and payment methods (merchant numbers) with their SIMs."""

from typing import Annotated

from msgspec import Struct

from daemon.api.http.auth import needs_operator, needs_owner
from daemon.api.http.service import NO_STORE, Call, Reply, ok, once
from daemon.api.openapi.describe import answer, bare, described
from daemon.core.errors import FieldError, Refusal, invalid, needed
from daemon.core.inputs import HttpAnswer, Keep
from daemon.core.json_values import dump, success, warnings_meta
from daemon.core.lines import line_json
from daemon.core.lines.line_json import (
    ClaimedAnswer,
    LineStatusAnswer,
    MethodChanges,
    NewMethod,
    PaymentMethodAnswer,
    PhoneAnswer,
    SimAnswer,
    UpdatedSimAnswer,
)
from daemon.core.lines.ussd import UssdEnd
from daemon.core.reading import read_uuid
from daemon.core.shape import Amount, Currency, DryRun, Id, about, flat, marked, sample
from daemon.core.text import Text
from daemon.flows.access import users
from daemon.flows.lines import modems, ussd, wallet
from daemon.flows.lines import payment_methods as method_flow
from daemon.flows.lines.payment_methods import Claimed, Registered
from daemon.steps.lines import line_status
from daemon.steps.prove import Question, Seen
from daemon.store.engine import Reader
from daemon.store.lines import devices, payment_methods
from daemon.wire import ErrorCode
from parsers.money import render as money_text


@described("Get the line status", answer(LineStatusAnswer))
async def get_status(call: Call) -> Reply:
    """Return the line status: the shop's numbers and their payments; for a test key those of the sandbox."""
    now, mode = call.env.clock.now_us(), call.caller.lines_mode
    phones = call.service.hooks.phone_states()
    return ok(await call.env.store.read(lambda reader: line_status(reader, now, phones, mode)))


@described("List payment methods", answer(list[PaymentMethodAnswer]))
async def list_methods(call: Call) -> Reply:
    """List the merchant numbers; for a test key those that were created in the sandbox."""
    mode = call.caller.lines_mode

    def job(reader: Reader) -> list[PaymentMethodAnswer]:
        return [
            PaymentMethodAnswer.of(method, *payment_methods.where(reader, method))
            for method in payment_methods.in_use(reader, mode)
        ]

    return ok(await call.env.store.read(job))


@described("Get a payment method", answer(PaymentMethodAnswer), errors="PAYMENT_METHOD_NOT_FOUND")
async def get_method(call: Call) -> Reply:
    """Return one merchant number."""
    method_id, mode = call.uuid(ErrorCode.PAYMENT_METHOD_NOT_FOUND), call.caller.lines_mode

    def job(reader: Reader) -> PaymentMethodAnswer:
        method = needed(payment_methods.get(reader, method_id, mode), ErrorCode.PAYMENT_METHOD_NOT_FOUND)
        return PaymentMethodAnswer.of(method, *payment_methods.where(reader, method))

    return ok(await call.env.store.read(job))


@described(
    "Create a payment method",
    answer(PaymentMethodAnswer),
    status=201,
    reads=NewMethod,
    errors="PAYMENT_METHOD_EXISTS SIM_NOT_FOUND NETWORK_MISMATCH SIM_ALREADY_ASSIGNED",
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
    new, meta = await call.asked(NewMethod)

    def render(made: Registered) -> HttpAnswer:
        data = PaymentMethodAnswer.of(made.method, made.sim, made.device)
        return HttpAnswer(201, success(data, warnings_meta([*meta.warnings, *made.warnings])))

    return await once(
        call, Keep(meta.idempotency, render), lambda keep: method_flow.create(call.env, call.caller, new, keep=keep)
    )


@described(
    "Update a payment method",
    answer(PaymentMethodAnswer),
    reads=MethodChanges,
    errors="PAYMENT_METHOD_NOT_FOUND BELONGS_TO_BRANCH PAYMENT_METHOD_EXISTS SIM_NOT_FOUND "
    "NETWORK_MISMATCH SIM_ALREADY_ASSIGNED",
    example={"sim": {"device_id": "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f", "slot_index": 0}},
)
async def update_method(call: Call) -> Reply:
    """Correct a number or its account's name, or move it to another SIM; a field that is absent does not change.

    An object in `sim` names the SIM; null removes the number from its SIM.
    """
    changes, unknown = await call.read(MethodChanges)
    method_id = call.uuid(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
    record, doubts = await method_flow.change(call.env, call.caller, method_id, changes)
    return ok(record, warnings_meta([*unknown, *doubts]))


@described("Delete a payment method", answer(PaymentMethodAnswer), errors="PAYMENT_METHOD_NOT_FOUND BELONGS_TO_BRANCH")
async def delete_method(call: Call) -> Reply:
    """Delete a merchant number; its payments stay assigned to it."""
    return ok(await method_flow.delete(call.env, call.caller, call.uuid(ErrorCode.PAYMENT_METHOD_NOT_FOUND)))


class WalletBody(Struct, frozen=True):
    """What the wallet shows."""

    balance: Annotated[str, sample("214.56", "the balance that the wallet shows")]
    at: (
        Annotated[
            int,
            sample("2026-11-21T08:01:00Z", "when it showed that, of the last 15 minutes; default: now"),
            marked(read="time"),
        ]
        | None
    ) = None
    statement_from: (
        Annotated[
            int,
            sample(
                "2026-11-20T08:00:00Z",
                "the first row of a network's statement that has the balance after its last row, which `at` is then the time of",
            ),
            marked(read="time"),
        ]
        | None
    ) = None
    answer: (
        Annotated[Question, sample("untold", "the `question` of an earlier answer, to which this is a yes")] | None
    ) = None
    password: Annotated[str, about("the account password"), marked(read="secret")] | None = None


class WalletMessage(Struct, frozen=True):
    """What a proof means for one message."""

    message_id: Id
    outcome: Annotated[str, sample("paid", "`paid`, `confirmed`, `contradicted` or `waits`")]
    sentence: Annotated[str, sample("GHS 25.00 (93214500001) pays now.")]


class WalletAnswer(Struct, frozen=True):
    """Whether a balance counts, and what follows from it."""

    settled: Annotated[bool, sample(True, "false: nothing was changed, and `question` must be answered first")]
    question: Annotated[str, sample("untold", "`untold`, `left` or `found`")] | None
    sentence: Annotated[str, sample("The wallet shows GHS 214.56, as the messages say.")]
    balance: Amount
    untold: Annotated[str, sample("-5.00", "what no message accounts for")]
    currency: Currency
    messages: list[WalletMessage]


@described(
    "Say what the wallet shows",
    answer(WalletAnswer),
    reads=WalletBody,
    errors="SESSION_REQUIRED INVALID_PASSWORD TOO_MANY_ATTEMPTS NOT_SET_UP PAYMENT_METHOD_NOT_FOUND METHOD_HAS_NO_SIM",
    example={"balance": "214.56", "password": "the account password"},
)
async def say_wallet(call: Call) -> Reply:
    """Settle what the messages of a number leave open, by the balance that its wallet shows.

    The messages that lead to it are believed and pay; what they contradict is refuted. For a session or the socket only: the
    owner, or a manager with his own password.
    """
    needs_operator(call.caller)
    asked, warnings = await call.read(WalletBody)
    method_id = call.uuid(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
    await users.confirm(call.env, call.caller, asked.password)
    if asked.statement_from is not None and asked.at is None:
        raise invalid([FieldError("at", "required", Text("proof.said.too_old"))])
    seen = None if asked.at is None else Seen(asked.at, asked.statement_from)
    proof, currency = await wallet.say_balance(
        call.env, call.caller, method_id, asked.balance, seen=seen, answer=asked.answer
    )
    found = WalletAnswer(
        settled=proof.settled,
        question=proof.question,
        sentence=str(proof.sentence),
        balance=money_text(proof.shown_minor, currency),
        untold=money_text(proof.untold_minor, currency),
        currency=currency,
        messages=[WalletMessage(one.message_id, one.outcome, str(one.sentence)) for one in proof.told],
    )
    return ok(found, warnings_meta(warnings))


class UssdBody(Struct, frozen=True):
    """A code, a reply, or neither."""

    session: Annotated[
        str, sample("0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f", "a new id of yours with a code, then the same")
    ]
    code: Annotated[str, sample("*170#", "opens a session"), marked(read="secret")] | None = None
    reply: (
        Annotated[
            str, about("answers the menu; with neither a code nor a reply the session is ended"), marked(read="secret")
        ]
        | None
    ) = None


class UssdAnswer(Struct, frozen=True):
    """What the network shows."""

    text: Annotated[str, sample("1) Transfer Money\n2) My Wallet", "the menu; may be empty")]
    ended: (
        Annotated[UssdEnd, sample("answered", "why the session is over; null while the network waits for a reply")]
        | None
    )
    sent: Annotated[bool, sample(True, "false: this came before the reply, which was therefore not sent")]
    sentence: Annotated[str, sample("The network has ended the session.")] | None
    balance: Annotated[str, sample("214.56", "the balance of the wallet that the menu shows")] | None
    currency: Currency | None


@described(
    "Use USSD",
    answer(UssdAnswer),
    reads=UssdBody,
    errors="SESSION_REQUIRED PAYMENT_METHOD_NOT_FOUND METHOD_HAS_NO_SIM USSD_IN_USE",
    example={"session": "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f", "code": "*170#"},
)
async def use_ussd(call: Call) -> Reply:
    """Send a USSD code, or a reply to the network's menu, from the SIM of a number; wait up to 60 s for the network.

    A menu can move money. momo answers none by itself, and keeps nothing that is typed. For a session or the socket of the
    owner only. A menu waits two minutes for a reply.
    """
    needs_owner(call.caller)
    asked, warnings = await call.read(UssdBody)
    method_id = call.uuid(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
    place = call.env, call.caller, method_id, asked.session
    if asked.code is not None and asked.reply is not None:
        raise invalid([FieldError("reply", "invalid", Text("ussd.field.both"))])
    if asked.code is not None:
        seen = await ussd.dial(*place, asked.code)
    else:
        seen = await ussd.end(*place) if asked.reply is None else await ussd.reply(*place, asked.reply)
    menu, shown, sentence = seen.menu, seen.balance, seen.sentence
    found = UssdAnswer(
        text=menu.text,
        ended=menu.end,
        sent=menu.sent,
        sentence=None if sentence is None else str(sentence),
        balance=None if shown is None else money_text(shown.minor, shown.currency),
        currency=None if shown is None else shown.currency,
    )
    return Reply(200, ok(found, warnings_meta(warnings)).body, (NO_STORE,))


class ClaimBody(Struct, frozen=True):
    """Whether to count only."""

    dry_run: DryRun = False


@described(
    "Claim unplaced payments",
    bare(ClaimedAnswer),
    reads=ClaimBody,
    errors="PAYMENT_METHOD_NOT_FOUND BELONGS_TO_BRANCH METHOD_HAS_NO_SIM",
    example={"dry_run": True},
    body_optional=True,
    idempotent=True,
)
async def claim_unplaced(call: Call) -> Reply:
    """Assign to a number the payments that its SIM received in the last 30 days while it had no number.

    Answers `{success, claimed, dry_run, from, to}`: `[from, to)` is the window to replay, null if there is none. With
    `dry_run` also `amounts` and `payments`, if the caller may read transactions.
    """
    asked, called = await call.asked(ClaimBody, optional=True)
    dry_run, meta = asked.dry_run, warnings_meta(called.warnings)

    def render(done: Claimed) -> HttpAnswer:
        found = ClaimedAnswer.of(done.count, done.first, done.last, done.details, dry_run=dry_run)
        return HttpAnswer(200, dump(flat(found) | ({} if meta is None else {"meta": meta})))

    keep, method_id = Keep(called.idempotency, render), call.uuid(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
    return await once(
        call,
        keep,
        lambda keep: method_flow.claim_unplaced(call.env, call.caller, method_id, dry_run=dry_run, keep=keep),
    )


@described("List phones and SIMs", answer(list[PhoneAnswer]))
async def list_sims(call: Call) -> Reply:
    """List the modems with their SIM slots; for a test key the simulated phones of the sandbox."""
    mode = call.caller.lines_mode

    def job(reader: Reader) -> list[PhoneAnswer]:
        return line_json.phones_with_sims(
            devices.known(reader, mode), devices.sims_in_phones(reader, mode), payment_methods.in_use(reader, mode)
        )

    return ok(await call.env.store.read(job))


class SimChanges(Struct, frozen=True):
    """Whether a SIM is for payments."""

    ignored: Annotated[bool | None, sample(True, "true: the SIM is not for payments; false: it is")] = None


@described(
    "Update a SIM",
    answer(UpdatedSimAnswer),
    reads=SimChanges,
    errors="DEVICE_NOT_FOUND SIM_NOT_FOUND SIM_ALREADY_ASSIGNED",
    example={"ignored": True},
)
async def update_sim(call: Call) -> Reply:
    """Set aside a SIM that is not for payments (`ignored: true`), or take it back (`false`).

    An ignored SIM is not part of the line status, and endpoints can be created although it has no number. A SIM with a
    number cannot be ignored. A number that is assigned to an ignored SIM takes it back.
    """
    asked, warnings = await call.read(SimChanges)
    device_id, slot = read_uuid(call.path("device_id")), call.path("slot_index")
    if device_id is None or slot not in map(str, range(line_json.SLOT_MAX + 1)):
        raise Refusal(ErrorCode.DEVICE_NOT_FOUND)
    device, sim, method = await modems.ignore(call.env, call.caller, device_id, int(slot), ignored=asked.ignored)
    shown = UpdatedSimAnswer(device.device_id, device.name, SimAnswer.of(sim, method))
    return ok(flat(shown), warnings_meta(warnings))
