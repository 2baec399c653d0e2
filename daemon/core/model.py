"""The rows of the shop's books as values: one frozen dataclass per table, in the columns' own names and order.

Times are microseconds since 1970 in UTC, money is minor units, JSON stays the text it is stored as until a shape
needs it. The store makes these from rows and nobody else builds SQL from them. Longer than 300 lines, as a table is.
"""

from dataclasses import dataclass

from daemon.core.ids import reference_of
from daemon.wire import DeliveryStatus, MessageState, Mode, TransactionStatus


@dataclass(frozen=True, slots=True)
class Shop:
    """The one shop of this database."""

    name: str
    timezone: str
    owner_email: str | None
    password_hash: str
    account_key: str
    created_at: int


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is kept: never the key itself, only its SHA-256."""

    seq: int
    id: str
    name: str
    mode: Mode
    kind: str
    hint: str
    sha256: str
    scopes: str
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None
    last_used_from: str | None


@dataclass(frozen=True, slots=True)
class Device:
    """A phone: one modem, known by its IMEI."""

    device_id: str
    imei: str | None
    name: str
    manufacturer: str | None
    model: str | None
    port: str | None
    present: bool
    first_seen_at: int
    last_seen_at: int
    forgotten_at: int | None


@dataclass(frozen=True, slots=True)
class Sim:
    """A SIM and where it was last seen."""

    seq: int
    sim_key: str
    iccid: str | None
    imsi: str | None
    network: str | None
    device_id: str
    slot_index: int
    present: bool
    first_seen_at: int
    last_seen_at: int
    read_payment_at: int | None


@dataclass(frozen=True, slots=True)
class PaymentMethod:
    """A merchant number; with a SIM it is a line."""

    seq: int
    id: str
    provider: str
    phone_number: str
    account_name: str
    merchant_code: str | None
    sim_seq: int | None
    is_active: bool
    line_created_at: int | None
    last_payment_at: int | None
    created_at: int
    updated_at: int
    deleted_at: int | None


@dataclass(frozen=True, slots=True)
class Message:
    """One SMS, whole or still missing parts (`state` incomplete, `body` None)."""

    seq: int
    id: str
    mode: Mode
    sim_key: str
    device_id: str
    slot_index: int
    payment_method_id: str | None
    sender: str | None
    sender_type: str | None
    smsc: str | None
    sent_at: int | None
    parts_total: int
    parts_seen: int
    reference_width: int | None
    reference: int | None
    body: str | None
    state: MessageState
    kind: str | None
    provider: str | None
    wording: str | None
    fields: str
    trusted: bool | None
    reasons: str
    payment_id: str | None
    received_at: int
    created_at: int


@dataclass(frozen=True, slots=True)
class Payment:
    """Money received, read from one trusted message.

    Attributes:
        payer_proven: The payer's number is the network's word; one that the payer could have typed is only shown.
    """

    seq: int
    id: str
    mode: Mode
    provider: str
    telco_transaction_id: str
    telco_id_as_read: str
    message_id: str
    payment_method_id: str | None
    sim_key: str
    device_id: str
    slot_index: int
    kind: str
    amount_minor: int
    currency: str
    fee_minor: int | None
    balance_minor: int | None
    payer_name: str | None
    payer_phone: str | None
    payer_proven: bool
    reference_text: str | None
    telco_at: int
    stored_at: int
    historical: bool
    standing: str
    reversed_at: int | None

    @property
    def placed(self) -> bool:
        """Say whether it came to one of the shop's numbers. The sandbox has none, so everything counts as placed there."""
        return self.payment_method_id is not None or self.mode is Mode.TEST

    @property
    def proven_phone(self) -> str | None:
        """The payer's number, where it says for sure who paid."""
        return self.payer_phone if self.payer_proven else None


@dataclass(frozen=True, slots=True)
class Transaction:
    """A payment request and its outcome, or the holder of a payment that no request asked for."""

    seq: int
    id: str
    mode: Mode
    origin: str
    status: TransactionStatus
    svc_code: str | None
    public_slug: str | None
    expected_minor: int | None
    currency: str
    phone_number: str | None
    customer_name: str | None
    description: str | None
    webhook_url: str | None
    redirect_url: str | None
    client_reference: str | None
    meta: str
    expected_telco_transaction_id: str | None
    expected_payer_phone: str | None
    send_sms_to_payer: bool
    created_with: str
    created_at: int
    expires_at: int | None
    cancelled_at: int | None
    payment_id: str | None
    held_payment_id: str | None
    matched_by: str | None
    processing_at: int | None
    completed_at: int | None
    late: bool
    rejected: bool
    merged_into: str | None
    supersedes: str | None
    reversed_at: int | None
    expected_payer_name: str | None = None

    @property
    def reference(self) -> str:
        """The public name: `svc_trx_` and the hex of the UUID."""
        return reference_of(self.id)


@dataclass(frozen=True, slots=True)
class Reversal:
    """The network's word that it took a transaction back; `amount_minor` is None where it does not say how much."""

    seq: int
    message_id: str
    mode: Mode
    provider: str
    original_telco_id: str
    amount_minor: int | None
    at: int
    created_at: int


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """A person's word that a payment belongs to a request."""

    seq: int
    id: str
    transaction_id: str
    payment_id: str
    claimed_minor: int | None
    notes: str | None
    actor: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Review:
    """A message or payment that a person has to look at."""

    seq: int
    id: str
    mode: Mode
    reason: str
    state: str
    message_id: str
    payment_id: str | None
    transaction_id: str | None
    details: str
    created_at: int
    decided_at: int | None
    decided_by: str | None
    notes: str | None


@dataclass(frozen=True, slots=True)
class ApprovedPayer:
    """A name that a person has approved for a number: a receipt of that name without a number is from its owner."""

    seq: int
    id: str
    mode: Mode
    phone_number: str
    name: str
    name_key: str
    review_id: str
    approved_by: str
    approved_at: int
    revoked_by: str | None
    revoked_at: int | None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A webhook receiver, made by the shop (`endpoint`) or by a request's `webhook_url` (`implicit`).

    Attributes:
        backlog_seq: Up to this delivery what it is owed waited for the end of an outage or a pause.
    """

    seq: int
    id: str
    kind: str
    mode: Mode
    url: str
    url_normalised: str
    description: str
    events: str
    catch_all: bool
    include_raw: bool
    is_active: bool
    auto_paused_at: int | None
    last_success_at: int | None
    last_failure_at: int | None
    consecutive_failures: int
    link_failures: int
    created_at: int
    updated_at: int
    deleted_at: int | None
    backlog_seq: int


@dataclass(frozen=True, slots=True)
class Rule:
    """One version of a routing rule; `seq` names the version and `id` the rule.

    Attributes:
        filter: Compact JSON of an object (`daemon/core/rules.py`).
        replaced_at: When another version took its place, or it was deleted; None for the rule as it is now.
    """

    seq: int
    id: str
    endpoint_id: str
    name: str
    position: int
    enabled: bool
    filter: str
    created_at: int
    updated_at: int
    replaced_at: int | None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event on its way to one endpoint."""

    seq: int
    id: str
    webhook_id: str
    endpoint_id: str
    event: str
    subject: str
    revision: int
    transaction_id: str
    test: bool
    body: str
    status: DeliveryStatus
    attempt_count: int
    run: int
    next_attempt_at: int | None
    leased_until: int | None
    waiting: str | None
    extra: bool
    bulk: bool
    response_status_code: int | None
    response_body: str | None
    error_code: str | None
    error_message: str | None
    created_at: int
    delivered_at: int | None
    failed_at: int | None


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the journal."""

    seq: int
    type: str
    mode: Mode
    at: int
    actor: str
    transaction_id: str | None
    payment_id: str | None
    message_id: str | None
    endpoint_id: str | None
    data: str


@dataclass(frozen=True, slots=True)
class NoticeRow:
    """One cause in one hour.

    Attributes:
        count: How often it happened.
        told: How many of those have gone out, or were shown and so need not.
    """

    seq: int
    id: str
    cause: str
    kind: str
    urgent: bool
    text: str
    next: str
    count: int
    told: int
    first_at: int
    last_at: int
    seen_at: int | None
    recovered_at: int | None
