"""Names shared by daemon and CLI: paths, headers, the socket's path, statuses and error codes. No behaviour."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

VERSION: Final = "0.1.0"
"""The version of momo, as in pyproject.toml: reading it from the installed package would cost memory and time at each start."""

PROTOCOL: Final = "1"
"""Protocol version on the Unix socket; both sides send it, and a difference gives one warning."""

PROTOCOL_HEADER: Final = "X-Momo-Protocol"
VERSION_HEADER: Final = "X-Momo-Version"
TIMEZONE_HEADER: Final = "X-Momo-Timezone"
"""On the socket: the shop's time zone, in which the CLI reads and shows times."""
REQUEST_ID_HEADER: Final = "X-Request-Id"
API_VERSION_HEADER: Final = "Svc-Version"
API_VERSION: Final = "1"
MODE_HEADER: Final = "Svc-Mode"
"""For the socket and sessions, which see both modes: `test` runs a call in the sandbox, like a test key."""
IDEMPOTENCY_HEADER: Final = "Idempotency-Key"
IDEMPOTENCY_REPLAYED_HEADER: Final = "Idempotency-Replayed"
SOCKET_HOST: Final = "local-momo.sock"
"""The Host that momo itself sends on the Unix socket; `localhost` is accepted too."""

HOME_VARIABLE: Final = "MOMO_HOME"
SOCKET_VARIABLE: Final = "MOMO_SOCKET"
DATABASE_NAME: Final = "momo.db"
UNSHOWN_NAME: Final = "keys-not-shown"
"""In the shop's folder while `momo setup` has made keys that it has not shown yet."""
CONFIG_NAME: Final = "config.toml"
LOCK_NAME: Final = "momo.lock"
SOCKET_NAME: Final = "momo.sock"
SOCKET_PATH_BYTES_MAX: Final = 107
"""Linux gives sun_path 108 bytes, the last of them NUL (unix(7))."""

DEFAULT_HTTP: Final = "127.0.0.1:8420"


class Path(StrEnum):
    """Every path of the API, with `{placeholders}`."""

    INITIALIZE = "/v1/transactions/initialize"
    TRANSACTIONS = "/v1/transactions"
    TRANSACTION = "/v1/transactions/{reference}"
    TRANSACTION_BY_CODE = "/v1/transactions/by-svc/{svc_code}"
    TRANSACTION_BY_CLIENT_REF = "/v1/transactions/by-client-ref/{client_ref}"
    RECONCILE = "/v1/transactions/{reference}/reconcile"
    TRANSACTION_EVENTS = "/v1/transactions/{reference}/events"
    CANCEL = "/v1/transactions/{reference}/cancel"
    SETTLE = "/v1/transactions/{reference}/settle"
    EVENTS = "/v1/events"
    TEST_PAYMENTS = "/v1/test/payments"
    LOGIN = "/v1/auth/login"
    LOGOUT = "/v1/auth/logout"
    PASSWORD = "/v1/auth/password"
    KEYS = "/v1/keys"
    KEY = "/v1/keys/{id}"
    KEY_ROTATE = "/v1/keys/{id}/rotate"
    REVIEWS = "/v1/reviews"
    REVIEW = "/v1/reviews/{id}"
    REVIEW_APPROVE = "/v1/reviews/{id}/approve"
    REVIEW_REJECT = "/v1/reviews/{id}/reject"
    REVIEW_UNDO = "/v1/reviews/{id}/undo"
    APPROVED_PAYERS = "/v1/approved-payers"
    APPROVED_PAYER = "/v1/approved-payers/{id}"
    PAYMENT_METHODS = "/v1/payment-methods"
    PAYMENT_METHOD = "/v1/payment-methods/{id}"
    WALLET = "/v1/payment-methods/{id}/wallet"
    USSD = "/v1/payment-methods/{id}/ussd"
    CLAIM_UNPLACED = "/v1/payment-methods/{id}/claim-unplaced"
    SIMS = "/v1/payment-methods/sims"
    SIM = "/v1/sims/{device_id}:{slot_index}"
    LINES = "/v1/open-collections/lines"
    ENDPOINTS = "/v1/open-collections/endpoints"
    ENDPOINT = "/v1/open-collections/endpoints/{id}"
    ENDPOINT_TEST = "/v1/open-collections/endpoints/{id}/test"
    ENDPOINT_SECRET = "/v1/open-collections/endpoints/{id}/secret"
    ENDPOINT_ROTATE = "/v1/open-collections/endpoints/{id}/rotate-secret"
    ACCOUNT_SECRET = "/v1/webhooks/secret"
    ACCOUNT_ROTATE = "/v1/webhooks/rotate-secret"
    RULES = "/v1/open-collections/endpoints/{id}/rules"
    RULE = "/v1/open-collections/endpoints/{id}/rules/{rule_id}"
    RULES_TEST = "/v1/open-collections/rules/test"
    ROUTING = "/v1/open-collections/payments/{id}/routing"
    DELIVERIES = "/v1/open-collections/deliveries"
    DELIVERY = "/v1/open-collections/deliveries/{id}"
    DELIVERY_ATTEMPTS = "/v1/open-collections/deliveries/{id}/attempts"
    REDELIVER = "/v1/open-collections/deliveries/{id}/redeliver"
    REPLAY = "/v1/open-collections/replay"
    GAP = "/v1/open-collections/gap"
    DEAD_LETTERS = "/v1/webhooks/dead-letters"
    DEAD_LETTERS_REPLAY = "/v1/webhooks/dead-letters/replay-batch"
    DEAD_LETTER = "/v1/webhooks/dead-letters/{id}"
    DEAD_LETTER_DISMISS = "/v1/webhooks/dead-letters/{id}/dismiss"
    DEAD_LETTER_REPLAY = "/v1/webhooks/dead-letters/{id}/replay"
    OPENAPI = "/v1/openapi.json"
    DOCS = "/docs"
    DOCS_ERRORS = "/docs/errors"
    MANUAL = "/docs/manual"
    MANUAL_PICTURE = "/docs/img/{name}"
    MANUAL_PAGE = "/docs/{folder}/{name}"
    HEALTH = "/healthz"
    METRICS = "/metrics"
    LOCAL_STATUS = "/local/v1/status"
    LOCAL_SHUTDOWN = "/local/v1/shutdown"
    LOCAL_SETUP = "/local/v1/setup"
    LOCAL_PASSWORD = "/local/v1/password"
    LOCAL_USERS = "/local/v1/users"
    LOCAL_USER = "/local/v1/users/{name}"
    LOCAL_USER_RESET = "/local/v1/users/{name}/reset"
    LOCAL_DASHBOARD_LINK = "/local/v1/dashboard-link"
    LOCAL_NOTICES = "/local/v1/notices"
    LOCAL_NOTICES_SEEN = "/local/v1/notices/seen"
    LOCAL_NOTICES_TEST = "/local/v1/notices/test"
    LOCAL_SOURCE_PASSWORD = "/local/v1/source-password"
    LOCAL_SMTP_PASSWORD = "/local/v1/smtp-password"
    LOCAL_SIM_PIN = "/local/v1/sims/pin"
    LOCAL_SIM_UNTOLD = "/local/v1/sims/untold"
    LOCAL_SIM_SMSCS = "/local/v1/sims/smscs"
    LOCAL_SIM_TRUST = "/local/v1/sims/trust"
    LOCAL_SIM_TEST_PAYMENT = "/local/v1/sims/test-payment"
    LOCAL_MODEMS = "/local/v1/modems"
    SOURCE_POST = "/v1/sources/{name}"
    LOCAL_SOURCES = "/local/v1/sources"
    LOCAL_SOURCE = "/local/v1/sources/{name}"
    LOCAL_SOURCE_KEY = "/local/v1/sources/{name}/key"
    LOCAL_MODEM = "/local/v1/modems/{id}"
    LOCAL_MODEM_TEST = "/local/v1/modems/{id}/test"
    LOCAL_MODEM_TEXTS = "/local/v1/modems/{id}/texts"
    LOCAL_MODEM_TEXT = "/local/v1/modems/{id}/texts/{text_id}"
    LOCAL_DOCTOR = "/local/v1/doctor"
    LOCAL_LOGS = "/local/v1/logs"
    LOCAL_MESSAGES = "/local/v1/messages"
    LOCAL_MESSAGE = "/local/v1/messages/{id}"
    LOCAL_MESSAGE_CONFIRM = "/local/v1/messages/{id}/confirm-wording"
    LOCAL_REPARSE = "/local/v1/messages/reparse"
    LOCAL_IMPORT = "/local/v1/messages/import"
    LOCAL_TEMPLATES = "/local/v1/templates"
    LOCAL_REPLACE = "/local/v1/transactions/{reference}/replace"
    LOCAL_SEND_CODE = "/local/v1/transactions/{reference}/send-code"
    LOCAL_CHECKOUT = "/local/v1/checkout/{reference}"
    LOCAL_REPORT = "/local/v1/report"
    LOCAL_REPORT_MAIL = "/local/v1/report/mail"
    LOCAL_SHIFTS = "/local/v1/shifts"
    LOCAL_SHIFT = "/local/v1/shifts/{shift_id}"
    LOCAL_SHIFT_CLOSE = "/local/v1/shifts/{shift_id}/close"
    LOCAL_EXPORT = "/local/v1/export/{what}"
    LOCAL_PHONES_SHOWN = "/local/v1/phones-shown"
    LOCAL_STATEMENT = "/local/v1/statement"
    LOCAL_PRUNE = "/local/v1/prune"
    LOCAL_PAYER = "/local/v1/payer/export"
    LOCAL_PAYER_FORGET = "/local/v1/payer/forget"
    LOCAL_LISTEN = "/local/v1/listen"
    LOCAL_LISTENER = "/local/v1/listen/{id}"
    LOCAL_LISTENER_OUTCOMES = "/local/v1/listen/{id}/outcomes"
    BRANCH_JOIN = "/v1/branch/join"
    BRANCH_SYNC = "/v1/branch/sync"
    BRANCH_ROWS = "/v1/branch/rows"
    BRANCH_LEAVE = "/v1/branch/leave"
    LOCAL_HUB = "/local/v1/hub"
    LOCAL_HUB_INVITES = "/local/v1/hub/invites"
    LOCAL_HUB_DISTRUST = "/local/v1/hub/distrust"
    LOCAL_HUB_ACCEPT = "/local/v1/hub/accept"
    LOCAL_HUB_RELEASE = "/local/v1/hub/payments/{id}/release"
    LOCAL_HUB_COMMANDS = "/local/v1/hub/commands"
    LOCAL_BRANCH = "/local/v1/branch"
    LOCAL_BRANCH_LEAVE = "/local/v1/branch/leave"
    LOCAL_BRANCH_RESTORE = "/local/v1/branch/restore"
    LOCAL_DELIVERY_SIGNED = "/local/v1/deliveries/{id}/signed"


class Mode(StrEnum):
    """Live money or the sandbox; they are completely separate."""

    LIVE = "live"
    TEST = "test"


class TransactionStatus(StrEnum):
    """The statuses of a transaction."""

    PENDING = "PENDING"
    PROCESSING = "PROCESSING"
    SUCCESS = "SUCCESS"
    PARTIAL = "PARTIAL"
    OVERPAID = "OVERPAID"
    EXPIRED = "EXPIRED"
    MANUAL_REVIEW = "MANUAL_REVIEW"
    CANCELLED = "CANCELLED"


class DeliveryStatus(StrEnum):
    """The statuses of a webhook delivery."""

    PENDING = "pending"
    RETRYING = "retrying"
    DELIVERED = "delivered"
    FAILED = "failed"


class ShopRole(StrEnum):
    """The role of a shop (docs/operators/hub.md)."""

    ALONE = "alone"
    BRANCH = "branch"
    """Sends its rows to a hub."""
    HUB = "hub"
    """Has branches."""


class MessageState(StrEnum):
    """The result for one SMS."""

    PAYMENT = "payment"
    NOT_PAYMENT = "not_payment"
    UNPARSED = "unparsed"
    INCOMPLETE = "incomplete"
    HELD = "held"
    HISTORICAL = "historical"
    DUPLICATE = "duplicate"


class SourceKind(StrEnum):
    """Where messages come from (`[[sources]]` in config.toml)."""

    MODEM = "modem"
    """AT modems."""
    HILINK = "hilink"
    """A stick that keeps its messages behind its own web address."""
    MODEMMANAGER = "modemmanager"
    """All modems of ModemManager, over D-Bus."""
    POST = "post"
    """An app that posts the SMS of an Android phone."""


class TrustLevel(StrEnum):
    """How far the messages of a source are trusted (docs/shop/sources.md)."""

    FULL = "full"
    """PDUs as the network sent them, with the SMSC."""
    PARTIAL = "partial"
    """Sender, text and a time. The SMSC is unknown."""
    REPORTED = "reported"
    """Messages as an app reports them, without their PDUs."""


class EventKind(StrEnum):
    """The webhook event kinds."""

    FORWARDED = "transaction.forwarded"
    COMPLETED = "transaction.completed"
    EXPIRED = "transaction.expired"
    REVIEW_REQUIRED = "transaction.review_required"
    UPDATED = "transaction.updated"
    REVERSED = "transaction.reversed"


class Scope(StrEnum):
    """The permissions of an API key."""

    TRANSACTIONS_READ = "transactions:read"
    TRANSACTIONS_WRITE = "transactions:write"
    TRANSACTIONS_INITIALIZE = "transactions:initialize"
    WEBHOOKS_MANAGE = "webhooks:manage"
    PAYMENT_METHODS_READ = "payment_methods:read"
    PAYMENT_METHODS_MANAGE = "payment_methods:manage"
    KEYS_MANAGE = "keys:manage"
    BRANCH = "branch"
    """Of the key that a branch gets when it joins."""


class Role(StrEnum):
    """The role of a user of the dashboard; `daemon/core/access/callers.py` has the table of permissions."""

    OWNER = "owner"
    MANAGER = "manager"
    CASHIER = "cashier"
    VIEWER = "viewer"


class SettlementKind(StrEnum):
    """How a person ended what a short or too large payment left open."""

    REST_RECEIVED = "rest_received"
    WAIVED = "waived"
    CHANGE_GIVEN = "change_given"


class ReviewReason(StrEnum):
    """The reason of a review."""

    PAYER_MISMATCH = "payer_mismatch"
    PAYER_UNKNOWN = "payer_unknown"
    TELCO_ID_MISMATCH = "telco_id_mismatch"
    UNKNOWN_SENDER = "unknown_sender"
    DOUBTFUL_MESSAGE = "doubtful_message"
    """Of the network's own sender, but something in it is wrong."""
    BALANCE_BREAK = "balance_break"
    NO_TELCO_ID = "no_telco_id"
    ID_CONFLICT = "id_conflict"
    AMBIGUOUS_CODE = "ambiguous_code"
    EXTRA_PAYMENT = "extra_payment"
    CANCELLED_REQUEST = "cancelled_request"
    LATE = "late"
    NEAR_MISS = "near_miss"
    AMBIGUOUS_PARTS = "ambiguous_parts"


class FaultCause(StrEnum):
    """The causes that make the service unavailable: `cause` of an UNAVAILABLE error and of a problem in the status."""

    STARTING = "starting"
    STANDBY = "standby"
    """Another daemon writes to the same database server; this one takes over when that one ends."""
    DISK_FULL = "disk_full"
    DATABASE_BUSY = "database_busy"
    DATABASE_READ_ONLY = "database_read_only"
    DATABASE_UNREADABLE = "database_unreadable"
    DATABASE_DAMAGED = "database_damaged"
    DATABASE_MISSING = "database_missing"
    DATABASE_REPLACED = "database_replaced"
    MESSAGE_JOURNAL_UNREADABLE = "message_journal_unreadable"
    NOT_LISTENING = "not_listening"
    """An address of the API is not free yet, or its folder or certificate is not there; it is tried again."""
    CA_FILE_UNREADABLE = "ca_file_unreadable"
    """Webhooks wait until the CAs of the settings can be read."""
    SECRETS_LOCKED = "secrets_locked"
    """Webhooks wait until the master key opens their signing secrets."""
    LOOP_FAILS = "loop_fails"
    """A loop of the daemon ends by a bug, and is started again; the other loops work."""


class ErrorCode(StrEnum):
    """Every `error.code` of the API and of the CLI itself."""

    MALFORMED_REQUEST = "MALFORMED_REQUEST"
    INVALID_JSON = "INVALID_JSON"
    UNAUTHORIZED = "UNAUTHORIZED"
    INSUFFICIENT_SCOPE = "INSUFFICIENT_SCOPE"
    SESSION_REQUIRED = "SESSION_REQUIRED"
    SECRET_KEY_REQUIRED = "SECRET_KEY_REQUIRED"
    LIVE_KEY_REQUIRED = "LIVE_KEY_REQUIRED"
    INVALID_PASSWORD = "INVALID_PASSWORD"
    SECOND_FACTOR_REQUIRED = "SECOND_FACTOR_REQUIRED"
    ROLE_REQUIRED = "ROLE_REQUIRED"
    HEAD_OFFICE_ONLY = "HEAD_OFFICE_ONLY"
    FORM_REFUSED = "FORM_REFUSED"
    OPEN_COLLECTIONS_DISABLED = "OPEN_COLLECTIONS_DISABLED"
    TRANSACTION_NOT_FOUND = "TRANSACTION_NOT_FOUND"
    NO_MATCHING_TRANSACTION = "NO_MATCHING_TRANSACTION"
    ENDPOINT_NOT_FOUND = "ENDPOINT_NOT_FOUND"
    DELIVERY_NOT_FOUND = "DELIVERY_NOT_FOUND"
    PAYMENT_METHOD_NOT_FOUND = "PAYMENT_METHOD_NOT_FOUND"
    DEAD_LETTER_NOT_FOUND = "DEAD_LETTER_NOT_FOUND"
    RULE_NOT_FOUND = "RULE_NOT_FOUND"
    REVIEW_NOT_FOUND = "REVIEW_NOT_FOUND"
    APPROVED_PAYER_NOT_FOUND = "APPROVED_PAYER_NOT_FOUND"
    DEVICE_NOT_FOUND = "DEVICE_NOT_FOUND"
    MESSAGE_NOT_FOUND = "MESSAGE_NOT_FOUND"
    NOTICE_NOT_FOUND = "NOTICE_NOT_FOUND"
    KEY_NOT_FOUND = "KEY_NOT_FOUND"
    USER_NOT_FOUND = "USER_NOT_FOUND"
    ROUTE_NOT_FOUND = "ROUTE_NOT_FOUND"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    UNSUPPORTED_MEDIA_TYPE = "UNSUPPORTED_MEDIA_TYPE"
    MISDIRECTED_REQUEST = "MISDIRECTED_REQUEST"
    HEADERS_TOO_LARGE = "HEADERS_TOO_LARGE"
    TRANSACTION_ID_ALREADY_USED = "TRANSACTION_ID_ALREADY_USED"
    ALREADY_VERIFIED = "ALREADY_VERIFIED"
    LINES_NOT_READY = "LINES_NOT_READY"
    SIM_ALREADY_ASSIGNED = "SIM_ALREADY_ASSIGNED"
    PAYMENT_METHOD_EXISTS = "PAYMENT_METHOD_EXISTS"
    USER_EXISTS = "USER_EXISTS"
    METHOD_HAS_NO_SIM = "METHOD_HAS_NO_SIM"
    USSD_IN_USE = "USSD_IN_USE"
    DELIVERY_NOT_REDELIVERABLE = "DELIVERY_NOT_REDELIVERABLE"
    DEAD_LETTER_ALREADY_REPLAYED = "DEAD_LETTER_ALREADY_REPLAYED"
    ENDPOINT_DELETED = "ENDPOINT_DELETED"
    ENDPOINT_LIMIT = "ENDPOINT_LIMIT"
    ROTATION_LIMIT = "ROTATION_LIMIT"
    TRANSACTION_NOT_CANCELLABLE = "TRANSACTION_NOT_CANCELLABLE"
    NOT_SETTLEABLE = "NOT_SETTLEABLE"
    ALREADY_SETTLED = "ALREADY_SETTLED"
    NO_CHECKOUT_PAGE = "NO_CHECKOUT_PAGE"
    PAYMENT_HANDED_UP = "PAYMENT_HANDED_UP"
    BELONGS_TO_BRANCH = "BELONGS_TO_BRANCH"
    HUB_DECIDES = "HUB_DECIDES"
    NOT_A_HUB = "NOT_A_HUB"
    NOT_A_BRANCH = "NOT_A_BRANCH"
    BRANCH_EXISTS = "BRANCH_EXISTS"
    BRANCH_NOT_FOUND = "BRANCH_NOT_FOUND"
    BRANCH_DISPUTED = "BRANCH_DISPUTED"
    BRANCH_STALE = "BRANCH_STALE"
    INVITATION_INVALID = "INVITATION_INVALID"
    HUB_REFUSED = "HUB_REFUSED"
    BRANCH_ASKED = "BRANCH_ASKED"
    REVIEW_ALREADY_DECIDED = "REVIEW_ALREADY_DECIDED"
    DECISION_NOT_UNDOABLE = "DECISION_NOT_UNDOABLE"
    PAYMENT_REVERSED = "PAYMENT_REVERSED"
    PAYER_STILL_OPEN = "PAYER_STILL_OPEN"
    IDEMPOTENCY_IN_PROGRESS = "IDEMPOTENCY_IN_PROGRESS"
    AMOUNT_MISMATCH = "AMOUNT_MISMATCH"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    AMBIGUOUS_TRANSACTION_ID = "AMBIGUOUS_TRANSACTION_ID"
    URL_NOT_ALLOWED = "URL_NOT_ALLOWED"
    SIM_NOT_FOUND = "SIM_NOT_FOUND"
    NETWORK_MISMATCH = "NETWORK_MISMATCH"
    REPLAY_WINDOW_TOO_LARGE = "REPLAY_WINDOW_TOO_LARGE"
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED"
    IDEMPOTENCY_KEY_CONFLICT = "IDEMPOTENCY_KEY_CONFLICT"
    IDEMPOTENCY_KEY_INVALID = "IDEMPOTENCY_KEY_INVALID"
    TOO_MANY_ATTEMPTS = "TOO_MANY_ATTEMPTS"
    RATE_LIMITED = "RATE_LIMITED"
    INTERNAL_ERROR = "INTERNAL_ERROR"
    UNAVAILABLE = "UNAVAILABLE"
    # Used by the programs themselves, never by the HTTP API.
    NOT_SET_UP = "NOT_SET_UP"
    DAEMON_DOWN = "DAEMON_DOWN"
    LOCKED = "LOCKED"
    DISK_FULL = "DISK_FULL"
    SERVICE_NOT_INSTALLED = "SERVICE_NOT_INSTALLED"
    NOT_PERMITTED = "NOT_PERMITTED"
    USAGE = "USAGE"
    CONFIG_INVALID = "CONFIG_INVALID"
    DATABASE_DAMAGED = "DATABASE_DAMAGED"
    DATABASE_NEWER = "DATABASE_NEWER"
    DATABASE_FOREIGN = "DATABASE_FOREIGN"
    BACKUP_NOT_FOUND = "BACKUP_NOT_FOUND"
    BACKUP_FAILED = "BACKUP_FAILED"
    CERTIFICATE_NOT_FOUND = "CERTIFICATE_NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Places:
    """The paths of one shop, the same in both programs."""

    home: str
    """The folder of the database (`MOMO_HOME`, or the XDG data folder of the profile)."""
    config: str
    database: str
    lock: str
    socket: str
    state: str
    log: str
    master_key: str
    self_contained: bool
    """True when `MOMO_HOME` is set: everything in one folder, master key in a file by default."""


def places(environ: Mapping[str, str], uid: int, temporary: str) -> Places:
    """Return the paths of a shop for this environment (`MOMO_HOME`, `MOMO_PROFILE`, `XDG_*`, `HOME`).

    Nothing is created or read. `temporary` is the temporary directory, for sockets with a too long path.
    """
    home = environ.get(HOME_VARIABLE, "")
    if home:
        home = home.rstrip("/") or "/"
        config, state, log = f"{home}/{CONFIG_NAME}", f"{home}/state", f"{home}/log"
        socket = f"{home}/run/{SOCKET_NAME}"
    else:
        user = environ.get("HOME", "")
        profile = environ.get("MOMO_PROFILE", "") or "default"
        data_home = environ.get("XDG_DATA_HOME") or f"{user}/.local/share"
        state_home = environ.get("XDG_STATE_HOME") or f"{user}/.local/state"
        config_home = environ.get("XDG_CONFIG_HOME") or f"{user}/.config"
        run_home = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{uid}"
        home = f"{data_home}/momo/{profile}"
        config = f"{config_home}/momo/{profile}.toml"
        state = f"{state_home}/momo/{profile}"
        log = f"{state}/log"
        name = SOCKET_NAME if profile == "default" else f"{profile}.sock"
        socket = f"{run_home}/momo/{name}"
    if len(socket.encode()) > SOCKET_PATH_BYTES_MAX:
        import hashlib  # noqa: PLC0415  # help must start fast, and few homes have so long a path

        digest = hashlib.sha256(home.encode()).hexdigest()[:16]
        socket = f"{temporary.rstrip('/')}/momo-{uid}/{digest}.sock"
    return Places(
        home=home,
        config=config,
        database=f"{home}/{DATABASE_NAME}",
        lock=f"{home}/{LOCK_NAME}",
        socket=socket,
        state=state,
        log=log,
        master_key=f"{home}/master.key",
        self_contained=bool(environ.get(HOME_VARIABLE)),
    )


def receiver_of(url: str) -> str:
    """Return the short name of an endpoint's URL: its host with the port; a program or folder whole."""
    return url.partition("://")[2].partition("/")[0].partition("?")[0] or url


def python_argv(wire_file: str, module: str, *arguments: str) -> list[str]:
    """Return the command line that runs a module of this program, such as `daemon`, with this process's Python.

    Packages that pip installed (a venv, pipx, uv tool, the .deb) are found by that Python itself. Others (a checkout, a
    zipapp, a folder on PYTHONPATH) are named by their path, so the command also works in another folder and without
    this process's environment. The current folder is not searched: it could hold a module of the same name. `wire_file`
    is the absolute path of this module; it may be inside a zip file.
    """
    code = wire_file.rsplit("/", 2)[0]
    if code.startswith(f"{sys.prefix}/") and code.endswith("-packages"):
        return [sys.executable, "-P", "-m", module, *arguments]
    run = (
        f"import sys, runpy; sys.path.insert(0, {code!r}); "
        f"runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    )
    return [sys.executable, "-P", "-c", run, *arguments]
