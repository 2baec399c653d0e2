"""Descriptions of operations for the OpenAPI document.

    @described("Cancel a transaction", answer(TransactionAnswer), reads=CancelBody, errors="TRANSACTION_NOT_FOUND")
    async def cancel(call: Call) -> Reply:

The other parts have other sources: path, method and scopes come from the route, fields and limits from the declared shapes
(`daemon/core/shape.py`), the errors from the error table, the longer text from the
handler's docstring. Every answer in `tests/api` is validated against the resulting document.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct, field

from daemon.api.http.service import Handler
from daemon.wire import ErrorCode


class AnswerShape(Struct, frozen=True):
    """An answer: `{success: true, data, ...top, meta?}`, or one whole shape (`data` is None)."""

    data: Any
    meta: type[Struct] | None
    top: dict[str, Any]
    whole: type[Struct] | None = None


def answer(data: Any, meta: type[Struct] | None = None, **top: Any) -> AnswerShape:
    """Return `{success: true, data, ...top, meta?}`; `data` is a shape, or a type such as `list[EndpointAnswer]`."""
    return AnswerShape(data, meta, top)


def bare(whole: type[Struct]) -> AnswerShape:
    """Return an answer without `data`, as its shape declares it; a `meta` with warnings may be added."""
    return AnswerShape(None, None, {}, whole)


class OperationDescription(Struct, frozen=True):
    """The description of one operation; its answer is a shape, or `STREAM`.

    Errors of keys, scopes, rates, bodies and idempotency are added to its own. With `key_field` the idempotency key is
    also a field of the body. The `operationId` is derived from the title, so do not change that.
    """

    title: str
    answer: "str | AnswerShape"
    reads: type[Struct] | None = None
    query: type[Struct] | None = None
    errors: tuple[ErrorCode, ...] = ()
    example: Mapping[str, Any] = field(default_factory=dict)
    body_optional: bool = False
    idempotent: bool = False
    key_field: bool = False
    status: int = 200

    @property
    def id(self) -> str:
        """The `operationId`: the title in camel case, without articles, such as `getTransactionByCode`."""
        first, *others = re.sub(r"\b(a|an|the|its)\b|'s\b", "", self.title.lower()).split()
        return first + "".join(word.capitalize() for word in others)


STREAM: Final = "stream"
SCHEMAS_PATH: Final = "#/components/schemas/"
DESCRIPTIONS: Final[dict[Handler, OperationDescription]] = {}


def described(title: str, answer: str | AnswerShape, *, errors: str = "", **more: Any) -> Callable[[Handler], Handler]:
    """Describe the decorated handler; `errors` are codes separated by blanks, `more` the other attributes of the description."""
    codes = tuple(map(ErrorCode, errors.split()))

    def keep(handler: Handler) -> Handler:
        DESCRIPTIONS[handler] = OperationDescription(title, answer, errors=codes, **more)
        return handler

    return keep


class NoFields(Struct, frozen=True):
    """The optional body without members."""


_ID: Final = "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f"
_REFERENCE: Final = "svc_trx_0192f0c17d2a7c3e9a543f2b8c1d4e5f"
PATH_NOTES: Final[dict[str, tuple[str, Any]]] = {
    "postSmsOfPhone.name": ("the source, as named in `[[sources]]`", "phone1"),
    "client_ref": ("your own id; it may contain slashes", "order-1042"),
    "device_id": ("the modem", _ID),
    "id": ("the id", _ID),
    "reference": ("the `reference` of a transaction", _REFERENCE),
    "rule_id": ("the rule's id", _ID),
    "slot_index": ("the SIM's slot, from 0", 0),
    "svc_code": ("the payment code", "A7K2M9"),
    "explainRouting.id": ("the transaction's UUID, or its reference", _ID),
}
"""The note and the example of each parameter of a path, by its name, or by operation and name if it has several meanings."""
