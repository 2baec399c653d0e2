"""Log in and out, and one's own account: password, second factor, the browsers that are logged in, language.

One logs in with name and password, then the code of the second factor; or with a one-time link.
"""

from typing import Final
from urllib.parse import urlsplit

from daemon.core.access.sessions import is_over
from daemon.core.errors import Refusal
from daemon.core.model import BrowserSession, User
from daemon.dash.parts.confirming import confirm
from daemon.dash.web.sending import is_own_machine
from daemon.dash.web.visit import Goto, Outcome, Shown, Visit
from daemon.flows.access import browser
from daemon.runtime.page_response import header, qr_svg
from daemon.runtime.words import LANGUAGES
from daemon.store.access import users
from daemon.store.engine import Reader
from daemon.store.payments import payment_list
from daemon.store.payments.payment_list import PaymentFilter
from daemon.wire import ErrorCode, Mode, Role

HERE: Final = "/dash/account"
LOGIN: Final = "/dash/login"
_START: Final = "/dash"


async def show_login(visit: Visit) -> Shown | Goto:
    """Show the form; a user with a session is redirected to the first page."""
    if visit.who is not None:
        return Goto(_START)
    return Shown("access/login.html", {"name": "", "to": _target(visit.query.get("to", ""))})


async def log_in(visit: Visit) -> Outcome:
    """Check name and password."""
    name = visit.form.get("name", "").strip().lower()
    to = _target(visit.form.get("to", ""))
    try:
        user = await browser.check_password(visit.env, visit.address, name, visit.form.get("password", ""))
    except Refusal as refusal:
        values = {"name": name, "to": to, "problem": _problem(visit, refusal)}
        return Shown("access/login.html", values, status=refusal.spec.http_status)
    if user.totp_sealed is None:
        return await _opened(visit, user, "password", to)
    return Shown("access/code.html", {"half": await browser.seal_half(visit.env, user), "to": to})


async def show_code(_visit: Visit) -> Goto:
    """The form of the code is the answer of the first form, so a reload begins again."""
    return Goto(LOGIN)


async def send_code(visit: Visit) -> Outcome:
    """Check the code of the second factor."""
    half, to = visit.form.get("half", ""), _target(visit.form.get("to", ""))
    user = await browser.unseal_half(visit.env, half)
    if user is None:
        return Goto(LOGIN, "said_login_again")
    try:
        await browser.check_code(visit.env, visit.address, user, visit.form.get("code", ""))
    except Refusal as refusal:
        values = {"half": half, "to": to, "problem": _problem(visit, refusal)}
        return Shown("access/code.html", values, status=refusal.spec.http_status)
    return await _opened(visit, user, "password", to)


async def enter(visit: Visit) -> Goto:
    """Use a one-time link; it leads to the page in it, else the owner to the first run until a payment was seen."""
    if visit.scope["method"] == "HEAD":
        # A program that only looks whether the address exists, such as the preview of a messenger.
        return Goto(LOGIN)
    own = is_own_machine(visit.scope, visit.address)
    user = await browser.enter(visit.env, visit.query.get("link", ""), own_machine=own)
    if user is None:
        return Goto(LOGIN, "said_link_over")
    to = _target(visit.query.get("to", ""))
    if not visit.query.get("to") and user.role is Role.OWNER:
        seen, _more = await visit.env.store.look(lambda reader: payment_list.listed(reader, PaymentFilter(), limit=1))
        to = _START if seen else "/dash/first"
    return await _opened(visit, user, "link", to)


async def log_out(visit: Visit) -> Outcome:
    """End the present session."""
    session = visit.caller.browser
    assert session is not None
    await browser.end_session(visit.env, visit.caller, session.id)
    return Goto(LOGIN, "said_logged_out", cookie="")


async def _opened(visit: Visit, user: User, how: str, to: str) -> Goto:
    agent = header(visit.scope, b"user-agent")
    token = await browser.open_session(visit.env, user, visit.address, agent, how)
    return Goto(to, cookie=token)


def _problem(visit: Visit, refusal: Refusal) -> str:
    t = visit.words
    if refusal.code is ErrorCode.TOO_MANY_ATTEMPTS:
        return t.number("login_too_many", -(-int(refusal.extras["retry_after"]) // 60))
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


async def show(visit: Visit) -> Shown:
    """Show the account."""
    assert visit.who is not None
    user_id = visit.who.user.id

    def read(reader: Reader) -> tuple[list[BrowserSession], int]:
        return users.sessions_of(reader, user_id), users.recovery_codes_left(reader, user_id)

    sessions, codes = await visit.env.store.read(read)
    open_now = [one for one in sessions if not is_over(one, visit.now)]
    return Shown("access/account.html", {"sessions": open_now, "codes": codes, "here": visit.who.session.id})


async def change_password(visit: Visit) -> Outcome:
    """Set the own password; every session ends, this one too."""
    current, new = visit.form.get("current", ""), visit.form.get("password", "")
    if new != visit.form.get("again", ""):
        visit.wrong("again", "password_differs")
    with (
        visit.shows(ErrorCode.INVALID_PASSWORD, field="current", key="password_wrong"),
        visit.shows(ErrorCode.VALIDATION_ERROR),
    ):
        await browser.change_password(visit.env, visit.caller, current, new)
    return Goto(LOGIN, "said_password_changed", cookie="")


async def end_session(visit: Visit) -> Outcome:
    """End one browser session."""
    if not await browser.end_session(visit.env, visit.caller, visit.places["id"]):
        raise Refusal(ErrorCode.ROUTE_NOT_FOUND)
    return Goto(HERE, "said_session_ended")


async def show_second_factor(visit: Visit) -> Shown:
    """Show a new seed as QR code and as text, with the field for its first code."""
    seed, address, sealed = await browser.new_second_factor(visit.env, visit.caller, visit.shop_name)
    groups = " ".join(seed[place : place + 4] for place in range(0, len(seed), 4))
    values = {"seed": groups, "qr": qr_svg(address), "setup": sealed}
    return Shown("access/second_factor.html", values)


async def switch_on(visit: Visit) -> Outcome:
    """Switch the second factor on and show the recovery codes, once."""
    await confirm(visit)
    setup, code = visit.form.get("setup", ""), visit.form.get("code", "")
    with visit.shows(ErrorCode.SECOND_FACTOR_REQUIRED, field="code", key="code_wrong"):
        codes = await browser.switch_on(visit.env, visit.caller, setup, code)
    return Shown("access/codes.html", {"codes": codes}, visit.words("recovery_codes"))


async def switch_off(visit: Visit) -> Outcome:
    """Switch the second factor off."""
    await confirm(visit)
    await browser.switch_off(visit.env, visit.caller)
    return Goto(HERE, "said_second_factor_off")


async def set_language(visit: Visit) -> Outcome:
    """Store the language of this browser and go back."""
    language = visit.form.get("language", "")
    if language in LANGUAGES:
        await browser.set_language(visit.env, visit.caller, language)
    return Goto(HERE)


async def set_mode(visit: Visit) -> Outcome:
    """Let the pages of this browser show real money or the sandbox; both begin at the start."""
    session = visit.caller.browser
    assert session is not None
    mode = Mode.TEST if visit.form.get("mode") == Mode.TEST else Mode.LIVE
    await visit.env.store.write(lambda tx: users.set_mode(tx, session.id, mode))
    return Goto(_START)
