"""Read the idempotency key from the header or the body and compute its fingerprint."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from daemon.api.http.body import canonical
from daemon.api.http.service import Call
from daemon.core.errors import Refusal
from daemon.core.inputs import Idempotency
from daemon.core.limits import IDEMPOTENCY_KEY_CHARACTERS_MAX
from daemon.wire import IDEMPOTENCY_HEADER, ErrorCode

FIELD: Final = "idempotency_key"
_HEADER: Final = IDEMPOTENCY_HEADER.lower().encode()


def claim(call: Call, body: Mapping[str, Any], *, field: bool = False) -> Idempotency | None:
    """Return the idempotency key of a call with its scope and fingerprint, None if it has no key.

    Args:
        call: The call.
        body: Its body.
        field: The operation also accepts the key as a field of the body.

    Raises:
        Refusal: IDEMPOTENCY_KEY_INVALID or IDEMPOTENCY_KEY_CONFLICT.
    """
    # All of them: two different headers are a conflict.
    keys: list[object] = [_text(value) for name, value in call.scope["headers"] if name == _HEADER]
    if field:
        keys.append(body.get(FIELD))
    given = {key for key in map(_checked, keys) if key is not None}
    if len(given) > 1:
        raise Refusal(ErrorCode.IDEMPOTENCY_KEY_CONFLICT)
    if not given:
        return None
    covered = {name: value for name, value in body.items() if not field or name != FIELD}
    caller = call.caller
    return Idempotency(
        scope=" ".join(
            (
                str(caller.mode or "any"),
                caller.key_id or "session",
                call.scope["method"],
                call.scope["path"],
            )
        ),
        key=given.pop(),
        fingerprint=hashlib.sha256(canonical(covered)).hexdigest(),
    )


def _text(octets: bytes) -> str:
    """Return the text of a header: UTF-8, as in the body, else Latin-1, in which HTTP/1.1 was written."""
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return octets.decode("latin-1")


def _checked(key: object) -> str | None:
    if key is None:
        return None
    if (
        not isinstance(key, str)
        or not 0 < len(key) <= IDEMPOTENCY_KEY_CHARACTERS_MAX
        or "\0" in key
    ):
        raise Refusal(ErrorCode.IDEMPOTENCY_KEY_INVALID)
    return key
