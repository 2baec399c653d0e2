"""The answers of a hub to a branch, as far as the branch relies on them, and how much the branch sends in one request. Pure."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict, TypeVar

import msgspec
from msgspec import Meta, Struct

from daemon.core.branches.facts import BYTES_MAX, EPOCH, EPOCHS, KEYS, Cell, DaySum, fault_of
from daemon.core.errors import MomoError

PAUSE_MAX_S: Final = 300.0

Number = Annotated[int, Meta(ge=0, lt=EPOCH)]
"""A number of the feed."""
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class AnswerError(MomoError):
    """The answer is not one of a hub."""


class HubCommand(TypedDict):
    """A command of the hub."""

    id: Name
    kind: Name
    subject: Annotated[str, Meta(max_length=200)]
    body: dict[str, Any]
    by: NotRequired[str | None]


class Want(Struct, frozen=True):
    """The hub lost the facts after this number."""

    from_seq: Number


class ExchangeAnswer(Struct, frozen=True):
    """The answer to one exchange. Members that a newer hub adds are ignored.

    Attributes:
        acked: The hub has everything up to this number.
        left: The branch was leaving, and nothing is left to do.
        held: The hub held the request open as long as it could.
    """

    acked: Number
    commands: Sequence[HubCommand] = ()
    want: Want | None = None
    left: bool = False
    held: bool = False
    pause_ms: Annotated[float, Meta(ge=0)] = 0.0

    @property
    def pause_s(self) -> float:
        """How long the branch should wait, at most five minutes."""
        return min(self.pause_ms / 1000, PAUSE_MAX_S)


Epoch = Annotated[int, Meta(ge=0, lt=EPOCHS)]


class KnownBranch(TypedDict):
    """What a hub has of a branch that joins again."""

    epoch: Epoch
    acked: Number


class Joined(Struct, frozen=True):
    """The answer to a branch that joins.

    Attributes:
        branch_id: Its id at the hub.
        name: Its name.
        hub: The name of the hub's shop.
        decides: Whether the branch decides its own payments.
        epoch: The one that begins.
        known: What the hub has of the epoch before.
        key: The API key, once; empty in the answer to a trial.
    """

    branch_id: Name
    name: Name
    hub: str
    decides: Literal["all", "nothing"]
    epoch: Epoch
    known: KnownBranch | None = None
    key: str = ""


class FeedPage(Struct, frozen=True):
    """Rows of a branch that its hub gives back; `next` is where the following page begins, None behind the last one."""

    rows: Sequence[dict[str, Cell]]
    next: Number | None
    epoch: Epoch


class DaySums(Struct, frozen=True):
    """The sums of all days that a branch asked for."""

    rows: Sequence[DaySum]


class Uses(Struct, frozen=True):
    """The ids of payments, each with that of the order that it paid."""

    rows: Sequence[tuple[str, str]]


T = TypeVar("T")


def read(data: dict[str, Any], shape: type[T]) -> T:
    """Return the answer of this shape in the member `data` of an answer.

    Raises:
        AnswerError: It is not understood.
    """
    try:
        # Encoded again, because it may have numbers and characters that no JSON of ours has.
        return msgspec.json.decode(msgspec.json.encode(data), type=shape)
    except (ValueError, RecursionError) as error:
        raise AnswerError(f"the hub's answer is not understood: {error}") from error


def read_page(data: dict[str, Any], kind: str) -> FeedPage:
    """Return a page of rows of this kind.

    Raises:
        AnswerError: It is not understood, or has a row that this version of the program could not read.
    """
    page, key = read(data, FeedPage), KEYS.get(kind, "id")
    for row in page.rows:
        if type(row.get(key)) is not str or type(row.get("version", 0)) is not int:
            raise AnswerError(f"the hub's answer is not understood: a {kind} without {key} or version")
        if fault := fault_of(kind, row):
            raise AnswerError(
                f"the hub's {kind} {row[key]} is not understood: {fault}; is this version of momo older than the hub's?"
            )
    return page


AIM_S: Final = 5.0
"""A request should take this long at most: a hub gives up one that comes for more than 15 s."""
BYTES_MIN: Final = 4 * 1024
SMALLER: Final = 4
"""After a failure the next request has at most this part of the size."""


def after_answer(limit: int, size: int, took_s: float) -> int:
    """Return the new limit in bytes of JSON, after a request of `size` was answered.

    A request may have been smaller than the limit, so a quick answer only raises it, to twice at most, and a slow one only
    lowers it.
    """
    fits = int(size * AIM_S / max(took_s, 0.001))
    wanted = min(max(limit, fits), 2 * limit) if took_s < AIM_S else min(limit, fits)
    return min(max(wanted, BYTES_MIN), BYTES_MAX)


def after_failure(limit: int, size: int) -> int:
    """Return the new limit after a request of `size` was not answered; the line may be too narrow for it."""
    return max(min(limit, size // SMALLER), BYTES_MIN)
