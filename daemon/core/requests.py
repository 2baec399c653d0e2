"""What callers ask for, after it was read: values the flows can trust (parse at the edge, trust inside)."""

from dataclasses import dataclass
from typing import Any

from daemon.core import shapes


@dataclass(frozen=True, slots=True)
class InitializeRequest:
    """A valid `POST /v1/transactions/initialize` (interface.md, decisions.md section 2).

    Phones are E.164, the amount is minor units of `currency`, `meta` is compact JSON text of an object,
    `expected_telco_transaction_id` is trimmed and upper case.
    """

    amount_minor: int
    currency: str
    phone_number: str
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


@dataclass(frozen=True, slots=True)
class ReconcileRequest:
    """A valid `POST /v1/transactions/{reference}/reconcile`.

    `transaction_id` is as the caller wrote it, trimmed; `provider` is canonical, such as `momo_mtn`.
    """

    transaction_id: str
    amount_minor: int | None = None
    notes: str | None = None
    provider: str | None = None


@dataclass(frozen=True, slots=True)
class Idempotency:
    """A caller's promise that a repeat is a repeat (decisions.md section 2, Idempotency).

    Attributes:
        scope: Mode, caller, method and path, so that two callers' keys never meet.
        key: 1 to 255 characters.
        fingerprint: SHA-256 of the canonical JSON of the body without the key.
    """

    scope: str
    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class CallMeta:
    """What stands around a call that changes something.

    Attributes:
        request_id: `req_...`.
        idempotency: The caller's promise that a repeat is a repeat.
        warnings: What was ignored in the body.
    """

    request_id: str
    idempotency: Idempotency | None = None
    warnings: tuple[str, ...] = ()

    def as_json(self, *more_warnings: str) -> dict[str, Any]:
        """Return the `meta` of the answer."""
        told = shapes.warned((*self.warnings, *more_warnings)) or {}
        return {"request_id": self.request_id, **told}


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished HTTP answer: its body is stored and sent byte for byte.

    Attributes:
        replayed: It is the stored answer of an earlier, identical call.
    """

    status: int
    body: bytes
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class ReadPart:
    """One SMS as a phone listed it: its slot and its PDU in hex."""

    storage: str
    slot: int
    tpdu_length: int
    pdu: str


@dataclass(frozen=True, slots=True)
class PhoneIdentity:
    """What a phone says of itself and of the SIM in it; None where it says nothing."""

    port: str
    imei: str | None
    iccid: str | None
    imsi: str | None
    manufacturer: str | None
    model: str | None
    slot_index: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """Where messages come from: the SIM in one slot of one phone.

    Attributes:
        sim_key: ICCID, else `imsi:...`, else `slot:...`.
        test: Everything from a simulated phone is test mode.
    """

    sim_key: str
    device_id: str
    slot_index: int
    test: bool = False
