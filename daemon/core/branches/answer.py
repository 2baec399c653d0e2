"""The answer of a hub to one request of a branch, as far as the branch relies on it. Pure."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, NotRequired, TypedDict

import msgspec
from msgspec import Meta, Struct

from daemon.core.branches.facts import EPOCH
from daemon.core.errors import MomoError

PAUSE_MAX_S: Final = 300.0

Number = Annotated[int, Meta(ge=0, lt=EPOCH)]
"""A number of the feed."""
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class AnswerError(MomoError):
    """The answer is not one of a hub."""


class Order(TypedDict):
    """A command of the hub."""

    id: Name
    kind: Name
    subject: Annotated[str, Meta(max_length=200)]
    body: dict[str, Any]
    by: NotRequired[str | None]


class Want(Struct, frozen=True):
    """The hub lost the facts after this number."""

    from_seq: Number


class Answer(Struct, frozen=True):
    """The answer. Members that a newer hub adds are ignored.

    Attributes:
        acked: The hub has everything up to this number.
        left: The branch was leaving, and nothing is left to do.
        held: The hub held the request open as long as it could.
    """

    acked: Number
    commands: Sequence[Order] = ()
    want: Want | None = None
    left: bool = False
    held: bool = False
    pause_ms: Annotated[float, Meta(ge=0)] = 0.0

    @property
    def pause_s(self) -> float:
        """How long the branch should wait, at most five minutes."""
        return min(self.pause_ms / 1000, PAUSE_MAX_S)


_DECODE: Final = msgspec.json.Decoder(Answer).decode


def read(data: dict[str, Any]) -> Answer:
    """Return the answer in the member `data` of an answer.

    Raises:
        AnswerError: It is not understood.
    """
    try:
        # Encoded again, because it may have numbers and characters that no JSON of ours has.
        return _DECODE(msgspec.json.encode(data))
    except (ValueError, RecursionError) as error:
        raise AnswerError(f"the hub's answer is not understood: {error}") from error
