"""Check that a POST comes from a form of this dashboard, and that a form does its thing once.

Three walls: the cookie is SameSite=Strict, `Origin` and `Sec-Fetch-Site` must be our own, and each form has a token made
from the cookie for its path. The random number of the token is the form's idempotency key.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from starlette.types import Scope

from daemon.core.access.sessions import FORMS, read_form_token
from daemon.core.errors import Refusal
from daemon.core.inputs import Idempotency
from daemon.runtime.page_response import header
from daemon.wire import ErrorCode

FIELD: Final = "form_token"


def check_origin(scope: Scope) -> None:
    """Reject a POST that another site made.

    Raises:
        Refusal: FORM_REFUSED.
    """
    site = header(scope, b"sec-fetch-site")
    if site and site != "same-origin":
        raise Refusal(ErrorCode.FORM_REFUSED)
    origin = header(scope, b"origin")
    # Every browser of the last years sends Origin with a POST; without both headers it is no browser's form.
    if not origin and not site:
        raise Refusal(ErrorCode.FORM_REFUSED)
    if origin and urlsplit(origin).netloc.lower() != header(scope, b"host").lower():
        raise Refusal(ErrorCode.FORM_REFUSED)


def claim_form(form: Mapping[str, str], cookie: str, path: str, who: str) -> Idempotency:
    """Return the idempotency key of a form.

    Args:
        form: The fields of the form.
        cookie: The token in the cookie.
        path: The address that the form was posted to.
        who: The id of the session, empty before the login.

    Raises:
        Refusal: FORM_REFUSED if the form has no token, or one of another browser, session or form.
    """
    nonce = read_form_token(cookie, path, form.get(FIELD, ""))
    if nonce is None:
        raise Refusal(ErrorCode.FORM_REFUSED)
    fields = sorted((name, text) for name, text in form.items() if name != FIELD)
    fingerprint = hashlib.sha256(json.dumps(fields).encode()).hexdigest()
    return Idempotency(f"{FORMS}{who} {path}", nonce, fingerprint)
