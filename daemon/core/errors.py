"""The exceptions that momo raises on purpose; a refusal is a row of `daemon.error_table`, not a class per code.

MomoError
+-- Refusal          a rule said no; carries a `wire.ErrorCode` and its extra fields
+-- Unavailable      the service cannot serve now (disk full, database busy); 503 with `Retry-After`
"""

from dataclasses import dataclass
from typing import Any

from daemon.error_table import ERRORS
from daemon.wire import ErrorCode


class MomoError(Exception):
    """The base of all exceptions that momo raises on purpose."""


class Refusal(MomoError):
    """A rule does not allow the call. Nothing was changed.

    Attributes:
        code: The `error.code`.
        message: The sentence for people.
        hint: One sentence: what to do next.
        extras: Fields that stand both inside `error` and at the top of the body.
        headers: Response headers, such as `Retry-After`.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str | None = None,
        *,
        hint: str | None = None,
        headers: dict[str, str] | None = None,
        **extras: Any,
    ) -> None:
        self.code = code
        self.spec = ERRORS[code]
        self.message = message or self.spec.message
        self.hint = hint or self.spec.hint
        self.extras = extras
        self.headers = headers or {}
        super().__init__(f"{code}: {self.message}")


class Unavailable(MomoError):
    """The database cannot take a write now (disk full, I/O error). Nothing was changed.

    Attributes:
        why: For the log and the operator.
        retry_after_s: For the `Retry-After` header.
    """

    def __init__(self, why: str, retry_after_s: int = 10) -> None:
        self.why = why
        self.retry_after_s = retry_after_s
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One entry of `details` of a VALIDATION_ERROR."""

    field: str
    code: str
    message: str

    def as_json(self) -> dict[str, str]:
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
