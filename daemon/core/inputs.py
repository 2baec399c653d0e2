"""Validated inputs of the flows (parse at the edge, trust inside), and their answers."""

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct, field

from daemon.core import json_values
from daemon.core.errors import MomoError
from daemon.wire import MessageState, TrustLevel

Value = TypeVar("Value")


class InitializeRequest(Struct, frozen=True):
    """A valid `POST /v1/transactions/initialize`.

    Phones are E.164, the amount is minor units of `currency`, `meta` is compact JSON text of an object,
    `expected_telco_transaction_id` is trimmed and upper case. `replaces` is the reference of an unpaid transaction that
    is cancelled with it; only the dashboard sets it. Without `phone_number` no SMS is sent.
    """

    amount_minor: int
    currency: str
    phone_number: str | None
    customer_name: str | None = None
    description: str | None = None
    webhook_url: str | None = None
    redirect_url: str | None = None
    client_reference: str | None = None
    meta: str = "{}"
    expires_in_hours: int = 24
    expected_telco_transaction_id: str | None = None
    expected_payer_phone: str | None = None
    expected_payer_name: str | None = None
    send_sms_to_payer: bool = True
    replaces: str | None = None


class ReconcileRequest(Struct, frozen=True):
    """A valid `POST /v1/transactions/{reference}/reconcile`.

    `transaction_id` is as the caller wrote it, trimmed; `provider` is canonical, such as `momo_mtn`. `confirmed`: the account
    password was checked for it.
    """

    transaction_id: str
    amount_minor: int | None = None
    notes: str | None = None
    provider: str | None = None
    confirmed: bool = False


class MessageOutcome(Struct):
    """The result of processing a message, filled in step by step."""

    state: MessageState
    kind: str | None = None
    provider: str | None = None
    wording: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    trusted: bool | None = None
    reasons: list[str] = field(default_factory=list)
    payment_id: str | None = None


class Idempotency(Struct, frozen=True):
    """An idempotency key with the fingerprint of its call.

    Attributes:
        scope: Mode, caller, method and path, so that the keys of two callers never collide.
        key: 1 to 255 characters.
        fingerprint: SHA-256 of the canonical JSON of the body without the key.
    """

    scope: str
    key: str
    fingerprint: str


class CallMeta(Struct, frozen=True):
    """Metadata of a call that changes something.

    Attributes:
        request_id: `req_...`.
        idempotency: The idempotency key of the call.
        warnings: Warnings about ignored members of the body.
    """

    request_id: str
    idempotency: Idempotency | None = None
    warnings: tuple[str, ...] = ()

    def as_json(self, *more_warnings: str) -> dict[str, Any]:
        """Return the `meta` of the answer."""
        warnings = json_values.warnings_meta((*self.warnings, *more_warnings)) or {}
        return {"request_id": self.request_id, **warnings}


class HttpAnswer(Struct, frozen=True):
    """A finished HTTP answer; its body is stored and sent byte for byte.

    Attributes:
        replayed: Whether it is the stored answer of an earlier, identical call.
    """

    status: int
    body: bytes
    replayed: bool = False


class Keep(Generic[Value]):
    """How the value that a flow returns becomes an answer, and under which key that answer is kept.

    `render` is called inside the commit of the effect, where the answer is stored for the key. The flow returns the value.

    Attributes:
        claim: The idempotency key of the call; None keeps nothing.
        render: Makes the answer.
    """

    def __init__(self, claim: Idempotency | None, render: Callable[[Value], HttpAnswer]) -> None:
        self.claim, self.render = claim, render
        self._made: tuple[Value, HttpAnswer] | None = None

    def answer(self, value: Value) -> HttpAnswer:
        """Return the answer for a value; it is made once for each value, since a commit that failed is tried again."""
        if self._made is None or self._made[0] is not value:
            self._made = value, self.render(value)
        return self._made[1]


class Repeated(MomoError):
    """The call was answered before, and changes nothing; carries that answer."""

    def __init__(self, answer: HttpAnswer) -> None:
        super().__init__("answered before")
        self.answer = answer


class ReadPart(Struct, frozen=True):
    """One part of a message as a phone listed it: its slot and its PDU in hex.

    Attributes:
        synthesised: The source gave a text; momo encoded the PDU (`steps.text_parts`).
    """

    storage: str
    slot: int
    tpdu_length: int
    pdu: str
    synthesised: bool = False


class PhoneIdentity(Struct, frozen=True):
    """Identity of a phone and of the SIM in it, as the phone reports it; None for values that it does not report.

    `network` is the SIM's network as the settings name it, for a phone that does not report the IMSI.
    """

    port: str
    imei: str | None
    iccid: str | None
    imsi: str | None
    manufacturer: str | None
    model: str | None
    slot_index: int = 0
    smsc: str | None = None
    network: str | None = None


WITHOUT_SIM: Final = "no-sim:"
"""Prefix of the SIM key of pasted messages for a number without a SIM; the id of the payment method follows."""


class Source(Struct, frozen=True):
    """Origin of messages: the SIM in one slot of one phone.

    Attributes:
        sim_key: ICCID, else `imsi:...`, else `slot:...`.
        test: The phone is simulated, so its messages are in test mode.
        name: The name of the source in `[[sources]]`; None for an AT modem.
        level: How far its messages are trusted.
        history: Its messages are stored as history only and never pay: the owner has not opted in.
        network: The SIM's network; for the message journal, like `since`.
        since: When the SIM was first seen, in microseconds.
    """

    sim_key: str
    device_id: str
    slot_index: int
    test: bool = False
    network: str | None = None
    since: int = 0
    name: str | None = None
    level: TrustLevel = TrustLevel.FULL
    history: bool = False
