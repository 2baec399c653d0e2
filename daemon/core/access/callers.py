"""Callers and their permissions: API keys with scopes, and users of the dashboard with a role. Pure.

Only users of the dashboard have a role. API keys have scopes, and the session token of the API and the Unix socket are
the owner's, so no role is asked for them. The last uses of keys are noted in memory and stored at intervals, so that no call
costs a write.

Also the address of a caller, and the rate limit of API keys: a token bucket for each key. It counts microseconds of refill time as
integers, not fractions of calls, so that there is no loss by rounding.
"""

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from ipaddress import IPv6Address, ip_address
from typing import Annotated, Final, Literal, NamedTuple, Self

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.access.sessions import SessionToken
from daemon.core.errors import Refusal
from daemon.core.ids import BASE62, base62
from daemon.core.json_values import timestamp_or_none
from daemon.core.limits import MINUTE_US, SECOND_US
from daemon.core.model import ApiKey, BrowserSession, User
from daemon.core.shape import Id, NoTime, Time, sample, shown
from daemon.wire import ErrorCode, Mode, Role, Scope

_KEY: Final = re.compile(r"svc_(live|test)_(sk|pk)_([0-9A-Za-z]{32})([0-9A-Za-z]{6})", re.ASCII)
_RANDOM_LENGTH: Final = 32

ALL_SCOPES: Final = frozenset(Scope)
KEY_SCOPES: Final = ALL_SCOPES - {Scope.KEYS_MANAGE, Scope.BRANCH}
"""Scopes that a key may be given. Keys themselves are managed only by sessions and on the socket; a branch gets its key
when it joins."""

BRANCH_KEY_SCOPES: Final = frozenset({
    Scope.TRANSACTIONS_READ, Scope.TRANSACTIONS_WRITE, Scope.TRANSACTIONS_INITIALIZE, Scope.PAYMENT_METHODS_READ,
})  # fmt: skip
"""Those of a key of one branch."""

_IMPLIED: Final = {
    Scope.TRANSACTIONS_WRITE: frozenset({Scope.TRANSACTIONS_INITIALIZE}),
    Scope.PAYMENT_METHODS_MANAGE: frozenset({Scope.PAYMENT_METHODS_READ}),
}


class KeyKind(StrEnum):
    """Kind of an API key. A secret key is for servers; a publishable key may only initialize."""

    SECRET = "secret"  # noqa: S105 -- a kind of key, no key
    PUBLISHABLE = "publishable"


class CallerKind(StrEnum):
    """How a caller authenticated."""

    NOBODY = "nobody"
    KEY = "key"
    SESSION = "session"
    SOCKET = "socket"
    BROWSER = "browser"


class KeyParts(Struct, frozen=True):
    """The parts of a well-formed key with a correct checksum. Only the database knows whether it exists."""

    mode: Mode
    kind: KeyKind
    hint: str
    """Prefix and last four characters, for lists."""


class Caller(Struct, frozen=True):
    """A caller of the API.

    Attributes:
        mode: The mode it is bound to; None for the socket and sessions, which see both.
        scopes: The scopes granted to it; `may` adds the implied ones.
        key_id: The id of the API key, None for others.
        publishable: It uses a publishable key.
        name: Name in the journal: `key:<id>`, `session`, `socket:<uid>`, `user:<name>`.
        owner: It is the owner: a session, on the socket the user that runs momo, or root, in a browser the owner.
        session: The session of a session token, None for others.
        role: The role of a user of the dashboard, None for others.
        browser: The session of a user of the dashboard, None for others.
        branch_id: At a hub, the only branch that a user or a key sees; None for all.
    """

    kind: CallerKind
    mode: Mode | None
    scopes: frozenset[Scope]
    key_id: str | None
    publishable: bool
    name: str
    owner: bool = False
    session: SessionToken | None = None
    role: Role | None = None
    browser: BrowserSession | None = None
    branch_id: str | None = None

    @property
    def lines_mode(self) -> Mode:
        """The mode of the lines that it sees: test only for a caller that is bound to the sandbox."""
        return self.mode or Mode.LIVE

    def may(self, scope: Scope) -> bool:
        """Return whether the caller has this scope, or one that implies it."""
        return scope in self.scopes or scope in with_implied(self.scopes)


ANONYMOUS: Final = Caller(CallerKind.NOBODY, None, frozenset(), None, False, "nobody")
"""An anonymous caller: logins and the checkout page."""
SESSION: Final = Caller(CallerKind.SESSION, None, ALL_SCOPES, None, False, "session", owner=True)


def of_user(user: User, session: BrowserSession, mode: Mode | None = None) -> Caller:
    """Return the caller for a user of the dashboard. It has all scopes, because the role decides its permissions."""
    return replace(of_role(user.name, user.role), mode=mode, browser=session, branch_id=user.branch_id)


def of_role(user_name: str, role: Role) -> Caller:
    """Return the caller for a user whose decision is carried out later, without the browser."""
    return Caller(
        CallerKind.BROWSER, None, ALL_SCOPES, None, False, f"user:{user_name}", owner=role is Role.OWNER, role=role
    )


def make_key(mode: Mode, kind: KeyKind, below: Callable[[int], int]) -> str:
    """Return a new key: prefix, 32 random base-62 characters, 6 of their CRC-32.

    `below` returns a random number below its argument.
    """
    short = "sk" if kind is KeyKind.SECRET else "pk"
    body = "".join(BASE62[below(62)] for _position in range(_RANDOM_LENGTH))
    return f"svc_{mode}_{short}_{body}{_checksum(body)}"


def parse_key(text: str) -> KeyParts | None:
    """Return the parts of a key; None when it is malformed or mistyped."""
    match = _KEY.fullmatch(text)
    if match is None or _checksum(match.group(3)) != match.group(4):
        return None
    kind = KeyKind.SECRET if match.group(2) == "sk" else KeyKind.PUBLISHABLE
    prefix = f"svc_{match.group(1)}_{match.group(2)}_"
    return KeyParts(Mode(match.group(1)), kind, f"{prefix}...{text[-4:]}")


def hash_key(text: str) -> str:
    """Return the stored form of a key: SHA-256, hex. A key has 190 bits, so a slow hash would add no protection."""
    return hashlib.sha256(text.encode()).hexdigest()


def with_implied(scopes: frozenset[Scope]) -> frozenset[Scope]:
    """Return the scopes with those that they imply."""
    return scopes.union(*(_IMPLIED.get(scope, frozenset()) for scope in scopes))


def _checksum(body: str) -> str:
    return base62(zlib.crc32(body.encode()), 6)


EVERYBODY: Final = frozenset(Role)
READERS: Final = frozenset({Role.OWNER, Role.MANAGER, Role.VIEWER})
"""Roles that see whole phone numbers and may export."""
COUNTER: Final = frozenset({Role.OWNER, Role.MANAGER, Role.CASHIER})
"""Roles that serve customers."""
MANAGERS: Final = frozenset({Role.OWNER, Role.MANAGER})
OWNER: Final = frozenset({Role.OWNER})


class Operation(StrEnum):
    """Everything that a user can do and that is more than reading a page."""

    OWN_ACCOUNT = "own_account"
    """Change the own password, second factor, sessions and language."""
    CREATE_TRANSACTION = "create_transaction"
    CANCEL_TRANSACTION = "cancel_transaction"
    SEND_CODE = "send_code"
    """Send a customer the SMS with the code once more."""
    RECONCILE = "reconcile"
    SETTLE = "settle"
    """Settle a short transaction with a second payment that came."""
    SETTLE_BY_HAND = "settle_by_hand"
    """Settle with cash, waive what is missing, give change back."""
    KEEP_SHIFT = "keep_shift"
    """Open and close the own shift."""
    CLOSE_SHIFTS = "close_shifts"
    """Close the shift of another person."""
    DECIDE_REVIEW = "decide_review"
    DECIDE_FORGERY = "decide_forgery"
    """Approve or reject a receipt that may be forged."""
    MANAGE_PAYERS = "manage_payers"
    MANAGE_MESSAGES = "manage_messages"
    """Read messages again, confirm a wording, import a backup of messages."""
    MANAGE_LINES = "manage_lines"
    """Numbers, SIMs, PINs, service centres and modems; claim unplaced payments."""
    MANAGE_WEBHOOKS = "manage_webhooks"
    """Endpoints and their rules: create, change, pause, test, delete."""
    RESEND = "resend"
    """Redeliver, replay, and replay dead letters."""
    MANAGE_NOTICES = "manage_notices"
    EXPORT = "export"
    COMPARE_STATEMENT = "compare_statement"
    MAIL_REPORT = "mail_report"
    BACK_UP = "back_up"
    ERASE = "erase"
    CHANGE_SETTINGS = "change_settings"
    """Change the settings that are a manager's."""
    CHANGE_OWNERS_SETTINGS = "change_owners_settings"
    """Change all other settings."""
    MANAGE_KEYS = "manage_keys"
    MANAGE_SECRETS = "manage_secrets"
    """Reveal and rotate webhook secrets; store passwords of other services."""
    MANAGE_USERS = "manage_users"
    USE_USSD = "use_ussd"
    """Dial a code and reply to the network's menu, which can move money."""


ALLOWED: Final[Mapping[Operation, frozenset[Role]]] = {
    Operation.OWN_ACCOUNT: EVERYBODY,
    Operation.CREATE_TRANSACTION: COUNTER,
    Operation.CANCEL_TRANSACTION: COUNTER,
    Operation.SEND_CODE: COUNTER,
    Operation.RECONCILE: COUNTER,
    Operation.SETTLE: COUNTER,
    Operation.SETTLE_BY_HAND: MANAGERS,
    Operation.KEEP_SHIFT: COUNTER,
    Operation.CLOSE_SHIFTS: MANAGERS,
    Operation.DECIDE_REVIEW: COUNTER,
    Operation.DECIDE_FORGERY: MANAGERS,
    Operation.MANAGE_PAYERS: MANAGERS,
    Operation.MANAGE_MESSAGES: MANAGERS,
    Operation.MANAGE_LINES: MANAGERS,
    Operation.MANAGE_WEBHOOKS: MANAGERS,
    Operation.RESEND: MANAGERS,
    Operation.MANAGE_NOTICES: MANAGERS,
    Operation.EXPORT: READERS,
    Operation.COMPARE_STATEMENT: MANAGERS,
    Operation.MAIL_REPORT: MANAGERS,
    Operation.BACK_UP: MANAGERS,
    Operation.ERASE: MANAGERS,
    Operation.CHANGE_SETTINGS: MANAGERS,
    Operation.CHANGE_OWNERS_SETTINGS: OWNER,
    Operation.MANAGE_KEYS: OWNER,
    Operation.MANAGE_SECRETS: OWNER,
    Operation.MANAGE_USERS: OWNER,
    Operation.USE_USSD: OWNER,
}


OF_BRANCH: Final = frozenset({
    Operation.OWN_ACCOUNT, Operation.CREATE_TRANSACTION, Operation.CANCEL_TRANSACTION, Operation.SEND_CODE, Operation.EXPORT,
})  # fmt: skip
"""What users and keys of one branch may do, if their role allows it."""


def allows(caller: Caller, operation: Operation) -> bool:
    """Return whether a caller may do an operation; one without a role is no user, and may, unless it is of one branch."""
    of_role = caller.role is None or caller.role in ALLOWED[operation]
    return of_role and (caller.branch_id is None or operation in OF_BRANCH)


def require(caller: Caller, operation: Operation) -> None:
    """Reject an operation that the user's role does not allow, or that is not for users and keys of one branch.

    Raises:
        Refusal: ROLE_REQUIRED, HEAD_OFFICE_ONLY.
    """
    if not allows(caller, operation):
        if caller.branch_id is not None and operation not in OF_BRANCH:
            raise Refusal(ErrorCode.HEAD_OFFICE_ONLY)
        allowed = [role for role in Role if role in ALLOWED[operation]]
        raise Refusal(ErrorCode.ROLE_REQUIRED, role=caller.role, allowed_roles=allowed)


class Use(NamedTuple):
    """One use of a key: time in microseconds, and origin: an IP address or `socket`; None if unknown."""

    at: int
    origin: str | None


class KeyUse:
    """The uses that were noted and not stored yet."""

    def __init__(self) -> None:
        self._noted: dict[str, Use] = {}

    def note(self, key_id: str, now_us: int, origin: str) -> None:
        """Note that a key was used."""
        self._noted[key_id] = Use(now_us, origin)

    def latest(self, key_id: str, written: Use | None) -> Use | None:
        """Return the later one of the noted and the stored use."""
        noted = self._noted.get(key_id)
        if noted is None or written is None:
            return noted if written is None else written
        return written if written.at > noted.at else noted

    def take(self) -> dict[str, Use]:
        """Return the uses to store, and clear them."""
        taken, self._noted = self._noted, {}
        return taken

    def put_back(self, taken: dict[str, Use]) -> None:
        """Note again the uses that could not be stored; uses noted meanwhile are later and win."""
        self._noted = {**taken, **self._noted}


class ApiKeyAnswer(Struct, frozen=True):
    """A key; the key itself is never part of it."""

    id: Id
    name: Annotated[str, sample("web shop")]
    mode: Annotated[Mode, sample(Mode.LIVE)]
    kind: Annotated[KeyKind, sample(KeyKind.SECRET)]
    hint: Annotated[str, sample("svc_live_sk_...x7Qd")]
    scopes: list[Annotated[Scope, sample(Scope.TRANSACTIONS_READ)]]
    state: Annotated[Literal["active", "revoked", "expired"], sample("active")]
    created_at: Time
    expires_at: NoTime
    revoked_at: NoTime
    last_used_at: Time | None
    last_used_from: Annotated[str | None, sample("102.176.10.7", "the address that used it last, or `socket`")]
    branch: Annotated[str | None, sample("kumasi", "at a hub: the only branch that it sees")]

    @classmethod
    def of(cls, row: ApiKey, now_us: int, last_use: Use | None = None) -> Self:
        """Return the answer of a key. `now_us` decides `state`; without `last_use` it is the one in the row."""
        use = last_use or last_written(row)
        state = "active"
        if row.revoked_at is not None:
            state = "revoked"
        elif row.expires_at is not None and now_us >= row.expires_at:
            state = "expired"
        return shown(
            cls,
            row,
            scopes=json.loads(row.scopes),
            state=state,
            last_used_at=timestamp_or_none(None if use is None else use.at),
            last_used_from=None if use is None else use.origin,
        )


def last_written(row: ApiKey) -> Use | None:
    """Return the stored last use of a key; None if there is none."""
    return None if row.last_used_at is None else Use(row.last_used_at, row.last_used_from)


KEYS_MAX: Final = 1024
"""Buckets kept at one time. Full ones are dropped first, because a missing bucket counts as full."""


def plain_address(text: str) -> str:
    """Return an IP address in its usual form; one of IPv4 that a socket of IPv6 shows (`::ffff:192.0.2.1`) as IPv4.

    Raises:
        ValueError: The text is no address.
    """
    address = ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def is_loopback_address(address: str) -> bool:
    """Return whether an address is this machine's own; an empty one is."""
    try:
        return not address or ip_address(address).is_loopback
    except ValueError:
        return False


def forwarded_address(headers: Iterable[tuple[bytes, bytes]], header: bytes) -> str | None:
    """Return the address that a proxy's header names; None if it names none.

    Trust the header only from this machine, because any other client could forge it. The nearest proxy adds the last item,
    and some proxies add it as another line after the client's own.
    """
    told = [value for name, value in headers if name == header]
    return told[-1].decode("latin-1").rpartition(",")[2].strip() if told else None


def caller_address(peer: str, headers: Iterable[tuple[bytes, bytes]], header: bytes) -> str:
    """Return the address that a call came from: the peer's own if no proxy names one."""
    forwarded = forwarded_address(headers, header) if header and is_loopback_address(peer) else None
    if forwarded is None:
        return peer
    try:
        return plain_address(forwarded)
    except ValueError:
        return peer


class RateLimitResult(Struct, frozen=True):
    """Result of the rate limit for one call.

    Attributes:
        allowed: Whether the call may proceed.
        limit: Calls per minute.
        remaining: Calls that are allowed at once after this one.
        reset_s: Seconds until the bucket is full again, rounded up.
        retry_after_s: Seconds until the next call is allowed, rounded up; 0 when one is allowed now.
    """

    allowed: bool
    limit: int
    remaining: int
    reset_s: int
    retry_after_s: int


class Rates:
    """The buckets of all keys with one limit."""

    def __init__(self, per_min: int, burst: int) -> None:
        """Allow each key `per_min` calls a minute and bursts of `burst`; `per_min` 0 means no limit."""
        self._limit = per_min
        self._each_us = MINUTE_US // per_min if per_min else 0
        self._full_us = self._each_us * max(1, burst)
        self._full_at: dict[str, int] = {}

    def take(self, key_id: str, now_us: int) -> RateLimitResult | None:
        """Count one call of a key and return the result; None if there is no limit."""
        if not self._each_us:
            return None
        # A bucket is stored as the time at which it will be full.
        missing = max(0, self._full_at.get(key_id, now_us) - now_us)
        # A clock that was set back locks a key out for no longer than an empty bucket takes to fill.
        missing = min(missing, self._full_us)
        allowed = missing + self._each_us <= self._full_us
        if allowed:
            missing += self._each_us
        if key_id not in self._full_at and len(self._full_at) >= KEYS_MAX:
            self._full_at = {known: at for known, at in self._full_at.items() if at > now_us}
            if len(self._full_at) >= KEYS_MAX:
                self._full_at.clear()
        self._full_at[key_id] = now_us + missing
        wait = max(0, missing + self._each_us - self._full_us)
        return RateLimitResult(
            allowed=allowed,
            limit=self._limit,
            remaining=(self._full_us - missing) // self._each_us,
            reset_s=_seconds(missing),
            retry_after_s=0 if allowed else _seconds(wait),
        )


def _seconds(us: int) -> int:
    return -(-us // SECOND_US)
