"""What the API's description says of an operation, written over its handler.

    @described("Cancel a request", "transaction", reads=read, errors=(ErrorCode.TRANSACTION_NOT_FOUND,))
    async def cancel(call: Call) -> Reply:

The rest comes from elsewhere: path, method and scopes from the route, fields and limits from running the reader
(`recorder.py`), the answer's shape from `core/schemas.py`, what refusals look like from the error table, the longer text
from the handler's docstring. Every answer that a test of `tests/api` gets is held to the outcome.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from daemon.api.fields import Fields, Query
from daemon.api.service import Handler
from daemon.wire import ErrorCode


@dataclass(frozen=True, slots=True)
class Description:
    """What is said of one operation.

    Attributes:
        title: A few words; the operation's id is made of them, so they stay.
        answer: The name of the answer's schema in `core/schemas.py`, or `STREAM`.
        reads: Reads the body; it asks `Fields` for everything that the operation takes, then calls `done`.
        query: The same for the query string.
        errors: The refusals of this very operation. Those of keys, scopes, rates, bodies and idempotency are added.
        example: A body that the operation takes.
        body_optional: It may be left out whole.
        idempotent: It takes an `Idempotency-Key`.
        key_field: It takes that key as a field of the body too.
        status: Of success.
    """

    title: str
    answer: str
    reads: Callable[[Fields], object] | None = None
    query: Callable[[Query], object] | None = None
    errors: tuple[ErrorCode, ...] = ()
    example: Mapping[str, Any] = field(default_factory=dict)
    body_optional: bool = False
    idempotent: bool = False
    key_field: bool = False
    status: int = 200

    @property
    def id(self) -> str:
        """The `operationId`."""
        return self.title.lower().replace(" ", "_").replace("'", "")


STREAM: Final = "stream"
DESCRIPTIONS: Final[dict[Handler, Description]] = {}


def described(title: str, answer: str, **more: Any) -> Callable[[Handler], Handler]:
    """Describe the handler that follows; `more` are the other attributes of `Description`."""

    def keep(handler: Handler) -> Handler:
        DESCRIPTIONS[handler] = Description(title, answer, **more)
        return handler

    return keep


def nothing(fields: Fields) -> None:
    """Read no field: for operations whose body may be left out and holds nothing."""
    fields.done()
