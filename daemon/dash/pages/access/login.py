"""Log in: name and password, then the code of the second factor; or a one-time link. Log out."""

from typing import Final
from urllib.parse import urlsplit

from daemon.core.errors import Refusal
from daemon.core.model import User
from daemon.dash.web.sending import is_own_machine
from daemon.dash.web.visit import Goto, Outcome, Shown, Visit
from daemon.flows.access import browser
from daemon.runtime.page_response import header
from daemon.store.payments import payment_list
from daemon.store.payments.payment_list import PaymentFilter
from daemon.wire import ErrorCode, Role

LOGIN: Final = "access/login.html"
CODE: Final = "access/code.html"
_START: Final = "/dash"


async def show(visit: Visit) -> Shown | Goto:
    """Show the form; a user with a session is redirected to the first page."""
    if visit.who is not None:
        return Goto(_START)
    return Shown(LOGIN, {"name": "", "to": _target(visit.query.get("to", ""))})


async def log_in(visit: Visit) -> Outcome:
    """Check name and password."""
    name = visit.form.get("name", "").strip().lower()
    to = _target(visit.form.get("to", ""))
    try:
        user = await browser.check_password(
            visit.env, visit.address, name, visit.form.get("password", "")
        )
    except Refusal as refusal:
        values = {"name": name, "to": to, "problem": _problem(visit, refusal)}
        return Shown(LOGIN, values, status=refusal.spec.http_status)
    if user.totp_sealed is None:
        return await _opened(visit, user, "password", to)
    half = await browser.seal_half(visit.env, user)
    return Shown(CODE, {"half": half, "to": to})


async def show_code(_visit: Visit) -> Goto:
    """The form of the code is the answer of the first form, so a reload begins again."""
    return Goto("/dash/login")


async def send_code(visit: Visit) -> Outcome:
    """Check the code of the second factor."""
    half, to = visit.form.get("half", ""), _target(visit.form.get("to", ""))
    user = await browser.unseal_half(visit.env, half)
    if user is None:
        return Goto("/dash/login", "said_login_again")
    try:
        await browser.check_code(visit.env, visit.address, user, visit.form.get("code", ""))
    except Refusal as refusal:
        values = {"half": half, "to": to, "problem": _problem(visit, refusal)}
        return Shown(CODE, values, status=refusal.spec.http_status)
    return await _opened(visit, user, "password", to)


async def enter(visit: Visit) -> Goto:
    """Use a one-time link."""
    own = is_own_machine(visit.scope, visit.address)
    user = await browser.enter(visit.env, visit.query.get("link", ""), own_machine=own)
    if user is None:
        return Goto("/dash/login", "said_link_over")
    return await _opened(visit, user, "link", await _first_page(visit, user))


async def _first_page(visit: Visit, user: User) -> str:
    """Return the page after a link: the one in it, else for the owner the first run until a payment was seen."""
    if visit.query.get("to"):
        return _target(visit.query["to"])
    if user.role is not Role.OWNER:
        return _START
    seen, _more = await visit.env.store.look(
        lambda reader: payment_list.listed(reader, PaymentFilter(), limit=1)
    )
    return _START if seen else "/dash/first"


async def log_out(visit: Visit) -> Outcome:
    """End the present session."""
    session = visit.caller.browser
    assert session is not None
    await browser.end_session(visit.env, visit.caller, session.id)
    return Goto("/dash/login", "said_logged_out", cookie="")


async def _opened(visit: Visit, user: User, how: str, to: str) -> Goto:
    agent = header(visit.scope, b"user-agent")
    token = await browser.open_session(visit.env, user, visit.address, agent, how)
    return Goto(to, cookie=token)


def _problem(visit: Visit, refusal: Refusal) -> str:
    t = visit.words
    if refusal.code is ErrorCode.TOO_MANY_ATTEMPTS:
        minutes = -(-int(refusal.extras["retry_after"]) // 60)
        return t.number("login_too_many", minutes)
    left = int(refusal.extras.get("attempts_remaining", 0))
    wrong = "login_code" if refusal.code is ErrorCode.SECOND_FACTOR_REQUIRED else "login_wrong"
    return f"{t(wrong)} {t.number('login_left', left)}"


def _target(to: str) -> str:
    """Return where to go after the login: only pages of the dashboard are allowed."""
    parts = urlsplit(to)
    inside = parts.path == _START or parts.path.startswith(f"{_START}/")
    plain = to.isascii() and to.isprintable() and "\\" not in to and " " not in to
    if parts.scheme or parts.netloc or not inside or not plain or ".." in parts.path:
        return _START
    return to
