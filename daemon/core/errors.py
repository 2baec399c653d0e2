"""The exceptions that momo raises on purpose; a refusal is a row of `daemon.error_table`, not a class per code.

MomoError
+-- Refusal          a rule said no; carries a `wire.ErrorCode` and its extra fields
+-- Unavailable      the service cannot serve now (disk full, database damaged); 503 with `Retry-After` and `cause`
"""

from typing import Any, TypeVar

from msgspec import Struct

from daemon.core.text import Text
from daemon.error_table import ERRORS
from daemon.wire import ErrorCode, FaultCause

T = TypeVar("T")


class MomoError(Exception):
    """The base of all exceptions that momo raises on purpose."""


class Refusal(MomoError):
    """A rule does not allow the call. Nothing was changed.

    Attributes:
        code: The `error.code`.
        message: The sentence for people.
        hint: The next step, in one sentence.
        extras: Fields that stand both inside `error` and at the top of the body.
        headers: Response headers, such as `Retry-After`.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: Text | str | None = None,
        *,
        hint: str | None = None,
        headers: dict[str, str] | None = None,
        **extras: Any,
    ) -> None:
        self.code = code
        self.spec = ERRORS[code]
        self.message: Text | str = message or self.spec.message
        self.hint = hint or self.spec.hint
        self.extras = extras
        self.headers = headers or {}
        super().__init__(f"{code}: {self.message}")


def needed(found: T | None, code: ErrorCode) -> T:
    """Return what was found; refuse with `code` if that is None."""
    if found is None:
        raise Refusal(code)
    return found


class Unavailable(MomoError):
    """The service cannot do this now, mostly because the database cannot be read or written. Nothing was changed.

    Each call of the store raises it. So whatever reads or writes raises it too, and its docstring says so only if there is
    more to say.

    Attributes:
        text: The sentence, for people.
        why: The same in English, for the log and the API.
        retry_after_s: For the `Retry-After` header.
        cause: For programs, also `cause` in the error body; None if the sentence is all there is.
        next_step: The command or action that ends the cause; empty if it ends by itself.
    """

    def __init__(
        self, text: Text | str, retry_after_s: int = 10, *, cause: FaultCause | None = None, next_step: str = ""
    ) -> None:
        self.text = text
        self.retry_after_s = retry_after_s
        self.cause = cause
        self.next_step = next_step
        super().__init__(text)

    @property
    def why(self) -> str:
        """Return the sentence in English."""
        return str(self.text)


class NotJournaled(Unavailable):
    """The messages are in the database, and the message journal cannot be written: they stay on the phone."""


def only_unavailable(error: BaseException) -> bool:
    """Return whether an error, or every error in an exception group, is an Unavailable."""
    if isinstance(error, BaseExceptionGroup):
        return all(only_unavailable(one) for one in error.exceptions)
    return isinstance(error, Unavailable)


class FieldError(Struct, frozen=True):
    """One entry of `details` of a VALIDATION_ERROR."""

    field: str
    code: str
    message: Text | str

    def as_json(self) -> dict[str, Text | str]:
        """Return the wire form."""
        return {"field": self.field, "code": self.code, "message": self.message}


def invalid(errors: list[FieldError]) -> Refusal:
    """Return the VALIDATION_ERROR that names all wrong fields at once."""
    assert errors
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return Refusal(
        ErrorCode.VALIDATION_ERROR,
        f"{first.field}: {first.message}{more}",
        details=[error.as_json() for error in errors],
    )
