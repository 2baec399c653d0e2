"""Send answers with the headers of the dashboard; read cookie, language and protection of a request.

Three walls keep a form of another site out: the cookie is SameSite=Strict, `Origin` and `Sec-Fetch-Site` must be our own, and
each form has a token made from the cookie for its path. The random number of the token is the form's idempotency key.
"""

import hmac
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import quote, urlsplit

from starlette.requests import cookie_parser
from starlette.types import Scope

from daemon.core.access import sessions
from daemon.core.access.callers import is_loopback_address
from daemon.core.access.sessions import FORMS, read_form_token
from daemon.core.errors import Refusal, needed
from daemon.core.inputs import Idempotency
from daemon.dash.web.frame import FIELD, POLICY, Look
from daemon.dash.web.visit import Download, Goto, LivePart, Shown
from daemon.env import Env
from daemon.runtime.page_response import PRIVATE, STRICT_TRANSPORT, Header, PageResponse, header
from daemon.wire import ErrorCode

HEADERS: Final[tuple[Header, ...]] = (
    *(one for one in PRIVATE if one[0] != b"referrer-policy"),
    # With `no-referrer` browsers send `Origin: null` with our own forms.
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", POLICY),
)
_FOREVER: Final[tuple[Header, ...]] = (
    (b"cache-control", b"public, max-age=31536000, immutable"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_MANIFEST: Final = b"application/manifest+json"
_IN_ADDRESS: Final = "%/:?#[]@!$&'()*+,;=~"
"""Characters that stand as they are in an address (RFC 3986, section 2.2), and the `%` of a quoted character."""


def is_secure(scope: Scope, env: Env) -> bool:
    """Return whether the browser uses HTTPS: with our own certificate, or through a proxy on this machine."""
    if scope.get("scheme") == "https":
        return True
    public = urlsplit(env.config.http.public_base_url)
    host = urlsplit(f"//{header(scope, b'host')}").hostname
    return public.scheme == "https" and host is not None and host == public.hostname


def is_own_machine(scope: Scope, address: str) -> bool:
    """Return whether the visitor sits at this machine: no proxy stands between."""
    client = scope.get("client")
    forwarded = header(scope, b"forwarded") or header(scope, b"x-forwarded-for")
    own = is_loopback_address(client[0] if client else "") and is_loopback_address(address)
    return own and not forwarded


def cookie_of(scope: Scope, env: Env, *, secure: bool) -> str:
    """Return the token in the cookie, "" if there is none."""
    return cookie_parser(header(scope, b"cookie")).get(sessions.cookie_name(env.home, secure=secure), "")


def own_headers(env: Env) -> tuple[Header, ...]:
    """Return the headers of a shop that has a certificate: a browser stays with HTTPS."""
    return (STRICT_TRANSPORT,) if env.config.http.tls_cert else ()


def file_answer(look: Look, name: str, own: tuple[Header, ...]) -> PageResponse:
    """Return a file of the look, with the headers `own`; the manifest is made from the others."""
    if name == "manifest.json":
        icons = [
            {"src": look.names[f"icon-{size}.png"], "sizes": f"{size}x{size}", "type": "image/png"}
            for size in (192, 512)
        ]
        manifest = {
            "name": "momo",
            "short_name": "momo",
            "start_url": "/dash",
            "scope": "/dash",
            "display": "standalone",
            "background_color": "#f6f7f5",
            "theme_color": "#0b5c3f",
            "icons": icons,
        }
        return PageResponse(200, json.dumps(manifest).encode(), own, _MANIFEST, HEADERS)
    found = look.files.get(name)
    if found is None:
        return PageResponse(404, b"", own, b"text/plain", HEADERS)
    return PageResponse(200, found.body, own, found.content_type, _FOREVER)


def response(
    scope: Scope, env: Env, answer: Goto | Download | LivePart | Shown, html: str, *, secure: bool
) -> PageResponse:
    """Return an answer as it is sent; `html` is the filled page of a `Shown`.

    The script that sends a form goes to the next page by itself, so that it need not load it twice.
    """
    own = own_headers(env)
    if isinstance(answer, LivePart):
        return PageResponse(HTTPStatus.OK, answer.body, own, base=HEADERS, zipped=answer.zipped)
    if isinstance(answer, Download):
        disposition = f'attachment; filename="{answer.name}"'.encode()
        headers = (*own, (b"content-disposition", disposition))
        return PageResponse(200, answer.body, headers, answer.content_type.encode(), HEADERS)
    if answer.cookie is not None:
        cookie = sessions.set_cookie(env.home, answer.cookie, secure=secure)
        own = (*own, (b"set-cookie", cookie.encode()))
    if isinstance(answer, Shown):
        return PageResponse(answer.status, html.encode(), own, base=HEADERS)
    # The sentence that the next page shows is in the address by its key.
    path = answer.path
    if answer.said:
        path += ("&" if "?" in path else "?") + f"said={answer.said}"
    by_script = header(scope, b"x-form") == "1"
    status = HTTPStatus.OK if by_script else HTTPStatus.SEE_OTHER
    to = b"x-goto" if by_script else b"location"
    # A place of the address may hold any character; a quoted one stays quoted.
    return PageResponse(status, b"", (*own, (to, quote(path, safe=_IN_ADDRESS).encode())), base=HEADERS)


def check_origin(scope: Scope) -> None:
    """Reject a POST that another site made."""
    site, origin = header(scope, b"sec-fetch-site"), header(scope, b"origin")
    is_ours = site in {"", "same-origin"} and (
        not origin or urlsplit(origin).netloc.lower() == header(scope, b"host").lower()
    )
    # Every browser of the last years sends Origin with a POST; without both headers it is no browser's form.
    if not is_ours or not (origin or site):
        raise Refusal(ErrorCode.FORM_REFUSED)


def claim_form(form: Mapping[str, str], cookie: str, path: str, who: str) -> Idempotency:
    """Return the idempotency key of a form; reject one without the token of this browser, session and form.

    `who` is the id of the session, empty before the login.
    """
    nonce = needed(read_form_token(cookie, path, form.get(FIELD, "")), ErrorCode.FORM_REFUSED)
    fields = sorted((name, text) for name, text in form.items() if name != FIELD)
    # Keyed by the token, which is not stored: a PIN or password among the fields could otherwise be found by trying them all.
    fingerprint = hmac.digest(cookie.encode(), json.dumps(fields).encode(), "sha256").hex()
    return Idempotency(f"{FORMS}{who} {path}", nonce, fingerprint)
