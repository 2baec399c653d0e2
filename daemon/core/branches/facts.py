"""The facts that a branch sends to its hub: rows as they are now, in the order of its feed. Pure.

A hub checks each row before it stores it: every value has the type that the program reads it with. The thief of a branch's key can
send false rows of that branch; they must not break a page at head office. A hub checks thousands of rows a second, so the rules
of each column are worked out once.
"""

import functools
import gzip
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from enum import Enum
from typing import Annotated, Any, Final, NotRequired, TypedDict, get_type_hints

import msgspec
from msgspec import Meta, Struct

from daemon.core.errors import FieldError, Refusal, invalid
from daemon.core.limits import DAY_US
from daemon.core.model import Message, Payment, PaymentMethod, Reversal, Review, Transaction
from daemon.core.webhooks.signing import normalise_url
from daemon.wire import ErrorCode, Mode, ReviewReason, SettlementKind
from parsers.money import EXPONENTS, render
from parsers.providers import PROVIDERS

SUMS: Final = "sums"
"""The kind of row by which a branch compares itself with its hub: number and sum of payments by day."""
USES: Final = "uses"
"""The kind by which it compares which order each payment paid."""
FACTS_MAX: Final = 500
"""Facts in one request."""
BYTES_MAX: Final = 1024 * 1024
"""Of one request as JSON, except that one fact may be larger."""
BYTES_FIRST: Final = 256 * 1024
"""Of the first request, before the speed of the connection is known."""
METHODS_MAX: Final = 500
"""Numbers that a shop names when it joins."""
EPOCH: Final = 1 << 40
"""Numbers of a feed in one epoch."""
EPOCHS: Final = 1 << 22
"""Epochs of a branch: versions stay below 64 bits."""
_NOT_SENT: Final = {"seq", "branch_id", "double_of", "made_for"}


class HubDecision(Struct, frozen=True):
    """What the hub decided about a payment that was handed up, as it told the branch with the command `id`.

    Attributes:
        id: Of the command.
        subject: The id of the payment.
        status: Of the hub's transaction that the payment pays; `REVIEW`: a person at the hub must decide.
        reference: That transaction's reference; None without one.
        origin: `request`, or `open` for a sale without an order.
        same_as: The id of the same payment of another branch, which counts.
    """

    id: str
    subject: str
    status: str
    reference: str | None = None
    origin: str | None = None
    same_as: str | None = None


DECISION: Final = "decision"
"""The kind of row by which a branch gets the hub's decisions again."""


def _names(model: type[Struct]) -> tuple[str, ...]:
    return tuple(name for name in model.__struct_fields__ if name not in _NOT_SENT)


MODELS: Final[Mapping[str, type[Struct]]] = {
    "method": PaymentMethod,
    "message": Message,
    "payment": Payment,
    "transaction": Transaction,
    "review": Review,
    "reversal": Reversal,
    DECISION: HubDecision,
}
"""Kind of row -> its model. Messages are sent with the rows that name them; decisions are the hub's."""
TABLES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "method": ("payment_methods", tuple(n for n in _names(PaymentMethod) if n != "sim_seq")),
    "payment": ("payments", _names(Payment)),
    "transaction": ("transactions", _names(Transaction)),
    "review": ("reviews", _names(Review)),
    "reversal": ("reversals", _names(Reversal)),
}
"""Kind of fact -> its table, and the columns that are sent. Other kinds are only shown at the hub."""
MESSAGE: Final = _names(Message)
"""The columns of the message that payments, reviews and reversals name; without `[hub] send_texts` its text is empty."""
KEYS: Final = {"reversal": "message_id"}
"""The column that a fact of this kind is known by; others have `id`."""


Value = str | int | float | bool | None
Cell = Value | list[Value] | dict[str, Value]
"""A value in a row. No column is a list or an object; a fact with one is kept aside, and the feed goes on."""


class Fact(Struct, frozen=True, omit_defaults=True):
    """One row of a branch.

    Attributes:
        seq: Its number in the feed.
        row: The columns by name; None: the row is gone.
        message: The columns of its message, if it has one.
    """

    seq: int
    kind: Annotated[str, Meta(min_length=1, max_length=40)]
    id: Annotated[str, Meta(min_length=1, max_length=200)]
    row: dict[str, Cell] | None
    message: dict[str, Cell] | None = None

    def version(self, epoch: int) -> int:
        """Return the version of the copy: larger for every later state of the row."""
        return epoch * EPOCH + self.seq


DAYS_MAX: Final = 366
"""Days of which a branch tells number and sum before it sends them."""
LAST_DAY: Final = 2_932_896
"""9999-12-31, the last day that a date can be, counted from 1970-01-01."""


class DaySum(TypedDict):
    """Number and sum of the payments of a day in one mode and currency; `day` is counted from 1970-01-01."""

    day: Annotated[int, Meta(ge=0, le=LAST_DAY)]
    mode: Mode
    currency: Annotated[str, Meta(pattern=f"^({'|'.join(EXPONENTS)})$")]
    count: Annotated[int, Meta(ge=0, lt=1 << 62)]
    amount_minor: Annotated[int, Meta(ge=0, lt=1 << 62)]


def date_of(day: int) -> str:
    """Return the date of a day counted from 1970-01-01, such as `2026-11-20`."""
    return str(date(1970, 1, 1) + timedelta(days=day))


def day_json(one: DaySum) -> dict[str, Any]:
    """Return the sums of a day as the API shows them."""
    named = {"mode": one["mode"], "currency": one["currency"], "count": one["count"]}
    return {**named, "day": date_of(one["day"]), "amount": render(one["amount_minor"], one["currency"])}


class SyncRequest(Struct, frozen=True):
    """One request of a branch. Members that a newer branch adds are ignored.

    Attributes:
        turn: Larger than in each earlier request.
        after: The feed up to here is acknowledged, as the branch knows.
        upto: The end of the feed that `facts` cover.
        outcomes: The outcome of each command, by its id.
        stale: The hub answered the last request with BRANCH_STALE.
        version: The branch's version of momo.
        now: Its clock.
        begin: The feed of this epoch begins behind it; None from an older branch.
        brings: The real payments that this request and those behind it bring, by the network's day, the newest first: in the first
            request after a join or a restore, or after an hour without the hub.
    """

    epoch: Annotated[int, Meta(ge=0, lt=EPOCHS)]
    turn: Annotated[int, Meta(ge=0, lt=1 << 62)]
    after: Annotated[int, Meta(ge=0, lt=EPOCH)]
    upto: Annotated[int, Meta(ge=0, lt=EPOCH)]
    facts: Annotated[Sequence[Fact], Meta(max_length=FACTS_MAX)]
    outcomes: Mapping[str, Mapping[str, Cell]]
    now: Annotated[int, Meta(ge=0, lt=1 << 62)]
    stale: bool = False
    version: Annotated[str, Meta(max_length=40)] = ""
    begin: Annotated[int, Meta(ge=0, lt=EPOCH)] | None = None
    brings: Annotated[Sequence[DaySum], Meta(max_length=DAYS_MAX)] = ()


def packed(body: SyncRequest | Mapping[str, Any]) -> bytes:
    """Return the body of a call to the hub: JSON, gzipped."""
    return gzip.compress(msgspec.json.encode(body), compresslevel=6)


_DECODE: Final = msgspec.json.Decoder(SyncRequest).decode
_PLACE: Final = re.compile(r"(?P<why>.*?(?: field `(?P<missing>\w+)`)?)(?: - at `\$\.?(?P<name>\w*).*)?")


def decode(body: bytes) -> SyncRequest:
    """Read the JSON of a request.

    Raises:
        Refusal: INVALID_JSON, VALIDATION_ERROR.
    """
    try:
        request = _DECODE(body)
    except msgspec.ValidationError as error:
        raise _wrong(error) from None
    except (ValueError, RecursionError) as error:
        why = f"The request body is not valid JSON: {error}."
        raise Refusal(ErrorCode.INVALID_JSON, why) from None
    if any(not request.after < fact.seq <= request.upto for fact in request.facts):
        raise invalid([FieldError("facts", "invalid", "must have numbers after `after`, up to `upto`")])
    names = (name for fact in request.facts for name in (fact.kind, fact.id))
    if any("\0" in name for name in (request.version, *request.outcomes, *names)):  # PostgreSQL stores no NUL
        raise invalid([FieldError("facts", "invalid", "has a NUL in a name")])
    return request


def _wrong(error: msgspec.ValidationError) -> Refusal:
    match = _PLACE.fullmatch(str(error))
    assert match is not None, "it matches anything"
    name = match["name"] or match["missing"] or "body"
    return invalid([FieldError(name, "invalid", match["why"])])


_MONEY_MAX: Final = 10**13
"""Minor units; 900,000 rows of it add up to less than 64 bits hold."""
_LATEST_US: Final = LAST_DAY * DAY_US
_WHOLE_MAX: Final = 1 << 53


class _Details(TypedDict, total=False):
    payment_id: str | None
    message_id: str | None
    doubts: list[str] | None


class _Settlement(TypedDict):
    kind: SettlementKind
    amount_minor: int
    notes: str | None
    holder: NotRequired[str | None]


_FORMS: Final[Mapping[str, Callable[[str], object]]] = {
    "meta": msgspec.json.Decoder(dict).decode,
    "fields": msgspec.json.Decoder(dict[str, str | None]).decode,
    "details": msgspec.json.Decoder(_Details).decode,
    "reasons": msgspec.json.Decoder(list).decode,
    "settlement": msgspec.json.Decoder(_Settlement).decode,
    "webhook_url": normalise_url,
}
"""The reader of the values of a column; it raises ValueError for a value that the program could not read later."""
_KNOWN: Final = {"currency": {*EXPONENTS}, "provider": {*PROVIDERS}, "reason": {one.value for one in ReviewReason}}
_Rule = tuple[str, bool, type, Callable[[Any], bool], str]
"""A column, whether it may be NULL, the type of its values in JSON, what else must hold of one, and the fault if it does not."""


def fault_of(kind: str, row: Mapping[str, Any]) -> str:
    """Return the first column of a row that this version cannot read, with the reason; empty if it can read all."""
    for name, optional, of, holds, why in _rules(kind):
        value = row.get(name)
        if value is None:
            if not optional and name in row:
                return f"{name} is missing"
        elif type(value) is not of or not holds(value):
            return f"{name} {why}"
    if kind == "transaction" and row.get("svc_code" if row.get("origin") == "open" else "merged_into") is not None:
        return "origin does not fit the rest"
    if kind == "review" and row.get("state") in ("approved", "rejected") and row.get("decided_at") is None:
        return "decided_at is missing"
    return ""


@functools.cache
def _rules(kind: str) -> tuple[_Rule, ...]:
    hints = get_type_hints(MODELS[kind])
    return tuple(_rule(name, hints[name]) for name in MODELS[kind].__struct_fields__)


def _rule(name: str, hint: Any) -> _Rule:
    parts = getattr(hint, "__args__", (hint,))
    (of,) = (part for part in parts if part is not type(None))
    optional = len(parts) > 1
    if of is bool:
        return name, optional, int, lambda value: 0 <= value <= 1, "is not 0 or 1"
    if of is int:
        low, high = _range(name)
        return (name, optional, int, lambda value: low <= value <= high, "is no number that it can be")
    if name in _FORMS:
        return name, optional, str, functools.partial(_has_form, _FORMS[name]), "does not have its form"
    known = {one.value for one in of} if issubclass(of, Enum) else _KNOWN.get(name)
    if known is not None:
        return (name, optional, str, known.__contains__, "has a value that this version does not know")
    return name, optional, str, _is_text, "is not text"


def _range(name: str) -> tuple[int, int]:
    if name.endswith("_minor"):
        return -_MONEY_MAX, _MONEY_MAX
    return (0, _LATEST_US - 1) if name == "at" or name.endswith("_at") else (-_WHOLE_MAX, _WHOLE_MAX)


def _is_text(value: str) -> bool:
    return "\0" not in value


def _has_form(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except (ValueError, RecursionError):
        return False
    return "\0" not in text
