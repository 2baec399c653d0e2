"""The facts that a branch sends to its hub: rows as they are now, in the order of its feed. Pure."""

import gzip
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from daemon.core.errors import FieldError, invalid
from daemon.core.model import Message, Payment, PaymentMethod, Reversal, Review, Transaction

SUMS: Final = "sums"
"""The kind of row by which a branch compares itself with its hub: number and sum of payments by day."""
FACTS_MAX: Final = 500
"""Facts in one request."""
BYTES_MAX: Final = 1024 * 1024
"""Of one request as JSON, except that one fact may be larger."""
BYTES_FIRST: Final = 256 * 1024
"""Of the first request, before the width of the line is known."""
EPOCH: Final = 1 << 40
"""Numbers of a feed in one epoch."""
EPOCHS: Final = 1 << 22
"""Epochs of a branch: versions stay below 64 bits."""
_BELOW: Final = {"epoch": EPOCHS, "turn": 1 << 62, "after": EPOCH, "upto": EPOCH, "now": 1 << 62}
_NOT_SENT: Final = {"seq", "branch_id", "double_of"}


def _names(model: type[Struct]) -> tuple[str, ...]:
    return tuple(name for name in model.__struct_fields__ if name not in _NOT_SENT)


MODELS: Final[Mapping[str, type[Struct]]] = {
    "method": PaymentMethod,
    "message": Message,
    "payment": Payment,
    "transaction": Transaction,
    "review": Review,
    "reversal": Reversal,
}
"""Kind of row -> its model. Messages are sent with the rows that name them."""
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


class Fact(Struct, frozen=True, omit_defaults=True):
    """One row of a branch.

    Attributes:
        seq: Its number in the feed.
        row: The columns by name; None: the row is gone.
        message: The columns of its message, if it has one.
    """

    seq: int
    kind: str
    id: str
    row: Mapping[str, Any] | None
    message: Mapping[str, Any] | None = None

    def version(self, epoch: int) -> int:
        """Return the version of the copy: larger for every later state of the row."""
        return epoch * EPOCH + self.seq


class SyncRequest(Struct, frozen=True):
    """One request of a branch.

    Attributes:
        turn: Larger than in each earlier request.
        after: The feed up to here is acknowledged, as the branch knows.
        upto: The end of the feed that `facts` cover.
        outcomes: The outcome of each command, by its id.
        stale: The hub answered the last request with BRANCH_STALE.
        version: The branch's version of momo.
        now: Its clock.
    """

    epoch: int
    turn: int
    after: int
    upto: int
    facts: Sequence[Fact]
    outcomes: Mapping[str, Mapping[str, Any]]
    stale: bool
    version: str
    now: int


def packed(request: SyncRequest) -> bytes:
    """Return the body of a request: JSON, gzipped."""
    return gzip.compress(msgspec.json.encode(request), compresslevel=6)


def decode(body: Mapping[str, Any]) -> SyncRequest:
    """Read the JSON of a request; members that a newer branch adds are ignored.

    Raises:
        Refusal: VALIDATION_ERROR.
    """
    numbers = {}
    for name, below in _BELOW.items():
        value = body.get(name)
        if type(value) is not int or not 0 <= value < below:
            raise _wrong(name, "must be a whole number")
        numbers[name] = value
    given, outcomes = body.get("facts"), body.get("outcomes")
    if not isinstance(given, list) or len(given) > FACTS_MAX:
        raise _wrong("facts", f"must be a list of at most {FACTS_MAX}")
    if not isinstance(outcomes, dict) or not all(
        isinstance(v, dict) and "\0" not in k for k, v in outcomes.items()
    ):
        raise _wrong("outcomes", "must be an object of objects")
    facts = [_fact(one) for one in given]
    if any(not numbers["after"] < fact.seq <= numbers["upto"] for fact in facts):
        raise _wrong("facts", "must have numbers after `after`, up to `upto`")
    return SyncRequest(
        **numbers,
        facts=facts,
        outcomes=outcomes,
        stale=body.get("stale") is True,
        version=str(body.get("version", ""))[:40].replace("\0", ""),
    )


def _fact(one: Any) -> Fact:
    row = one.get("row") if isinstance(one, dict) else False
    message = one.get("message") if isinstance(one, dict) else None
    if (
        not isinstance(row, dict | None)
        or not isinstance(message, dict | None)
        or type(one.get("seq")) is not int
        or not all(_is_name(one.get(name)) for name in ("kind", "id"))
    ):
        raise _wrong("facts", "each has seq, kind, id and row")
    return Fact(one["seq"], one["kind"][:40], one["id"][:200], row, message)


def _is_name(value: Any) -> bool:
    """Return whether a value can be stored as a name; PostgreSQL stores no NUL."""
    return isinstance(value, str) and value != "" and "\0" not in value


def _wrong(name: str, why: str) -> Exception:
    return invalid([FieldError(name, "invalid", why)])
