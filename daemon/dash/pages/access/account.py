"""One's own account: password, second factor, the browsers that are logged in, language."""

from typing import Final

from daemon.core.access import sessions as browser_sessions
from daemon.core.errors import FieldError, Refusal
from daemon.core.model import BrowserSession
from daemon.dash.parts.confirming import confirmed
from daemon.dash.web.visit import Goto, Outcome, Shown, Visit
from daemon.flows.access import browser
from daemon.runtime.qr import qr_svg
from daemon.runtime.words import LANGUAGES
from daemon.store.access import users
from daemon.store.engine import Reader
from daemon.wire import ErrorCode

HERE: Final = "/dash/account"


async def show(visit: Visit) -> Shown:
    """Show the account."""
    assert visit.who is not None
    user_id = visit.who.user.id

    def read(reader: Reader) -> tuple[list[BrowserSession], int]:
        return users.sessions_of(reader, user_id), users.recovery_codes_left(reader, user_id)

    sessions, codes = await visit.env.store.read(read)
    open_now = [one for one in sessions if not browser_sessions.is_over(one, visit.now)]
    return Shown(
        "access/account.html", {"sessions": open_now, "codes": codes, "here": visit.who.session.id}
    )


async def change_password(visit: Visit) -> Outcome:
    """Set the own password; every session ends, this one too."""
    new = visit.form.get("password", "")
    try:
        if new != visit.form.get("again", ""):
            visit.fail(FieldError("again", "invalid", visit.words("password_differs")))
        else:
            current = visit.form.get("current", "")
            await browser.change_password(visit.env, visit.caller, current, new)
            return Goto("/dash/login", "said_password_changed", cookie="")
    except Refusal as refusal:
        if refusal.code not in (ErrorCode.VALIDATION_ERROR, ErrorCode.INVALID_PASSWORD):
            raise
        if refusal.code is ErrorCode.INVALID_PASSWORD:
            visit.fail(FieldError("current", "invalid", visit.words("password_wrong")))
        else:
            visit.refuse(refusal)
    shown = await show(visit)
    return Shown(shown.template, shown.values, status=422)


async def end_session(visit: Visit) -> Outcome:
    """End one browser session."""
    await browser.end_session(visit.env, visit.caller, visit.places["id"])
    return Goto(HERE, "said_session_ended")


async def show_second_factor(visit: Visit) -> Shown:
    """Show a new seed as QR code and as text, with the field for its first code."""
    return await _second_factor(visit, 200)


async def switch_on(visit: Visit) -> Outcome:
    """Switch the second factor on and show the recovery codes, once."""
    if not await confirmed(visit):
        return await _second_factor(visit, 422)
    try:
        setup, code = visit.form.get("setup", ""), visit.form.get("code", "")
        codes = await browser.switch_on(visit.env, visit.caller, setup, code)
    except Refusal as refusal:
        if refusal.code is not ErrorCode.SECOND_FACTOR_REQUIRED:
            raise
        visit.fail(FieldError("code", "invalid", visit.words("code_wrong")))
        return await _second_factor(visit, 422)
    return Shown("access/codes.html", {"codes": codes}, visit.words("recovery_codes"))


async def switch_off(visit: Visit) -> Outcome:
    """Switch the second factor off."""
    if not await confirmed(visit):
        shown = await show(visit)
        return Shown(shown.template, shown.values, status=422)
    await browser.switch_off(visit.env, visit.caller)
    return Goto(HERE, "said_second_factor_off")


async def set_language(visit: Visit) -> Outcome:
    """Store the language of this browser and go back."""
    language = visit.form.get("language", "")
    if language in LANGUAGES:
        await browser.set_language(visit.env, visit.caller, language)
    return Goto(HERE)


async def _second_factor(visit: Visit, status: int) -> Shown:
    shop = visit.shop.name if visit.shop is not None else "momo"
    seed, address, sealed = await browser.new_second_factor(visit.env, visit.caller, shop)
    groups = " ".join(seed[place : place + 4] for place in range(0, len(seed), 4))
    values = {"seed": groups, "qr": qr_svg(address), "setup": sealed}
    return Shown("access/second_factor.html", values, status=status)
