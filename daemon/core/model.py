"""The database rows as values: one frozen struct per table, with the names and order of its columns.

Times are microseconds since 1970 in UTC, money is minor units, and JSON stays the stored text until it is rendered. Only
the store makes these from rows and builds SQL from them.
"""

from msgspec import Struct

from daemon.core.ids import reference_of
from daemon.wire import DeliveryStatus, MessageState, Mode, Role, ShopRole, TransactionStatus, TrustLevel


class Shop(Struct, frozen=True):
    """The one shop of this database."""

    name: str
    timezone: str
    owner_email: str | None
    account_key: str
    created_at: int
    role: ShopRole = ShopRole.ALONE


class ApiKey(Struct, frozen=True):
    """An API key as stored: its SHA-256, never the key itself; `branch` is the name of the only branch of a hub that it sees."""

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
    branch_id: str | None = None
    branch: str | None = None


class User(Struct, frozen=True):
    """A user of the shop. `totp_sealed` is None while the second factor is off; `branch` as in `ApiKey`."""

    seq: int
    id: str
    name: str
    role: Role
    password_hash: str
    totp_sealed: str | None
    totp_step: int | None
    created_at: int
    password_at: int
    disabled_at: int | None
    branch_id: str | None = None
    branch: str | None = None

    @property
    def has_password(self) -> bool:
        """Whether a password was chosen; before the first run in the browser the owner has none, and no password fits."""
        return bool(self.password_hash)


class BrowserSession(Struct, frozen=True):
    """A browser that is logged in to the dashboard; `address` and `browser` say where it was opened."""

    seq: int
    id: str
    sha256: str
    user_id: str
    created_at: int
    seen_at: int
    confirmed_at: int | None
    address: str
    browser: str
    language: str | None
    mode: Mode | None


class Device(Struct, frozen=True):
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


class Sim(Struct, frozen=True):
    """A SIM and the slot in which it was last seen.

    The last three are the states with a notice to the owner: since when it cannot receive, since when it is unused, and
    the foreign network that serves it.
    """

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
    ignored_at: int | None
    not_receiving_since: int | None = None
    unused_since: int | None = None
    served_by: str | None = None


class PaymentMethod(Struct, frozen=True):
    """A merchant number; with a SIM it is a line."""

    seq: int
    id: str
    mode: Mode
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
    branch_id: str | None = None


class Message(Struct, frozen=True):
    """One SMS, complete or with missing parts (`state` incomplete, `body` None).

    Attributes:
        source: The source that handed it over; None for an AT modem.
        level: How far that source is trusted.
        synthesised: Its PDUs were encoded by momo from a text.
    """

    seq: int
    id: str
    mode: Mode
    imported: bool
    recovered: bool
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
    source: str | None = None
    level: TrustLevel = TrustLevel.FULL
    synthesised: bool = False


class Payment(Struct, frozen=True):
    """Money received, read from one trusted message.

    Attributes:
        payer_proven: The payer's number comes from the network. A number that the payer could have typed is only shown.
        decider: The only one that may match it: `branch` (the shop that read it), or `hub` (that shop's hub).
        double_of: At a hub, the payment of another branch with the same network ID that counts instead; of two that name each
            other a person must choose one. A withdrawn payment, whose approval was taken back, and a distrusted one name
            themselves: they count nowhere and leave their network ID to another message.
        branch_id: At a hub, the branch that it is a copy of; None for the shop's own.
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
    decider: str = "branch"
    double_of: str | None = None
    branch_id: str | None = None

    @property
    def decided_here(self) -> bool:
        """Whether this shop may match it: one of its own that it did not hand up, or one that a branch handed up to it."""
        return (self.decider == "hub") == (self.branch_id is not None) and self.double_of is None

    @property
    def is_distrusted(self) -> bool:
        """Whether it paid an order of a hub, and came with a key that was stolen."""
        return self.double_of == self.id and self.standing == "used"

    @property
    def placed(self) -> bool:
        """Whether it came to one of the shop's numbers.

        A test payment counts as placed without one, so that rules can be tried before the sandbox has numbers.
        """
        return self.payment_method_id is not None or self.mode is Mode.TEST

    @property
    def proven_phone(self) -> str | None:
        """The payer's number if it comes from the network, else None."""
        return self.payer_phone if self.payer_proven else None


class Transaction(Struct, frozen=True):
    """A payment request and its outcome, or the holder of a payment that belongs to no payment request."""

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
    settled_at: int | None = None
    settled_by: str | None = None
    settlement: str | None = None
    settles: str | None = None
    made_for: str | None = None
    branch_id: str | None = None

    @property
    def of_branch(self) -> str | None:
        """At a hub, the branch with this transaction in its lists: as a copy, or made by a user or API key of the branch; else None."""
        return self.branch_id or self.made_for

    @property
    def in_settlement(self) -> bool:
        """Whether it is settled, or is the holder of a payment that settles another one."""
        return self.settled_at is not None or self.settles is not None

    @property
    def reference(self) -> str:
        """The public reference: `svc_trx_` and the hex of the UUID."""
        return reference_of(self.id)


class Reversal(Struct, frozen=True):
    """A payment that the network took back; `amount_minor` is None if its message names no amount."""

    seq: int
    message_id: str
    mode: Mode
    provider: str
    original_telco_id: str
    amount_minor: int | None
    at: int
    created_at: int


class Review(Struct, frozen=True):
    """A held message or payment that an operator must decide."""

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
    branch_id: str | None = None


class WaitingApproval(Struct, frozen=True):
    """An approval in the dashboard that is carried out at `due_at` unless it is undone; `confirmed`: with the password."""

    review_id: str
    reference: str | None
    user_name: str
    role: Role
    confirmed: bool
    due_at: int


class ApprovedPayer(Struct, frozen=True):
    """A name that an operator approved for a number: a receipt with that name and no number counts as from that number."""

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


class Rule(Struct, frozen=True):
    """One version of a routing rule; `seq` identifies the version and `id` the rule.

    Attributes:
        filter: Compact JSON of an object (`daemon/core/webhooks/rules.py`).
        replaced_at: When a newer version replaced it or it was deleted; None for the current version.
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


class Delivery(Struct, frozen=True):
    """One event for one endpoint, with the state of its attempts."""

    seq: int
    id: str
    webhook_id: str
    endpoint_id: str
    event: str
    subject: int
    revision: int
    transaction_id: str
    test: bool
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
    clock_waits: int = 0


class Event(Struct, frozen=True):
    """One journal event."""

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


class NoticeRow(Struct, frozen=True):
    """A notice: one cause in one hour.

    Attributes:
        count: How often it happened.
        told: How many of those were sent, or were shown and need no sending.
        words: Key and values of `text` as JSON; None if it has no key.
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
    words: str | None = None
