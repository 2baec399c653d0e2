"""The loaded dashboard: find the row of an address, check the permission, and send the answer.

The order for a page is session, role, read, fill. The order for an action is origin, session, form token, role, key of the
form, flow; an action writes only after all checks have passed.
"""

import asyncio
import contextlib
import traceback
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

from jinja2 import pass_context
from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from daemon.core.access import sessions
from daemon.core.access.callers import caller_address, of_user, require
from daemon.core.errors import Refusal, Unavailable, needed
from daemon.core.inputs import HttpAnswer as Kept
from daemon.core.inputs import Idempotency, Repeated
from daemon.core.limits import MINUTE_US
from daemon.core.model import Shop
from daemon.core.names import network_name, provider_name
from daemon.dash.parts.message_text import actor_name, visible
from daemon.dash.parts.order import TONES
from daemon.dash.tables import ACTIONS, PAGES
from daemon.dash.web.frame import ROOT, Frame, Look
from daemon.dash.web.sending import check_origin, claim_form, cookie_of, file_answer, is_secure, own_headers, response
from daemon.dash.web.stream import PartCache, TabStream
from daemon.dash.web.visit import (
    Action,
    FormWrong,
    Goto,
    LivePart,
    LoggedIn,
    Machine,
    Outcome,
    Page,
    PageAnswer,
    Shown,
    Table,
    Visit,
)
from daemon.dash.web.words import Words
from daemon.env import Env
from daemon.runtime.page_response import header, read_form, zipped
from daemon.runtime.words import LANGUAGES, choose_language, zone_of
from daemon.store import idempotency
from daemon.store import shop as shops
from daemon.store.access import users
from daemon.store.branches.scope import seen_by, store_of
from daemon.store.engine import Reader
from daemon.store.lines import devices
from daemon.store.payments import reviews
from daemon.wire import ErrorCode, Mode

BROWSER_SEEN_EVERY_US: Final = 5 * MINUTE_US
"""The last use of a browser session is written at most this often."""
EVENTS: Final = "/dash/events"
LOGIN: Final = "/dash/login"
FORM_BYTES_MAX: Final = 3_000_000
"""A statement or a backup of messages is uploaded as text in a form, in which most signs take three bytes."""
LOGIN_BYTES_MAX: Final = 20_000
"""The largest form of a visitor without a login."""
_GET: Final = frozenset({"GET", "HEAD"})


class Site:
    """The dashboard of one running shop."""

    def __init__(self, env: Env, machine: Machine, stopping: asyncio.Event) -> None:
        """Import every page, read every file and compile every template."""
        self._env = env
        self._machine = machine
        self._pages: Table[Page] = Table(PAGES)
        self._actions: Table[Action] = Table(ACTIONS)
        self._look = Look.load()
        self._look.environment.globals |= {
            "text": visible,
            "tones": TONES,
            "network_of": network_name,
            "provider_of": provider_name,
            "who": pass_context(lambda context, actor: actor_name(context["v"], actor)),
        }
        self._frame = Frame(self._look, PAGES)
        self._client_header = env.config.pages.client_header.lower().encode()
        self._hub = TabStream(env, machine, stopping)
        self._parts = PartCache()
        self._running: dict[tuple[str, str], asyncio.Event] = {}

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; every error is a page in plain sentences."""
        path = scope["path"].rstrip("/") or "/"
        if path.startswith(ROOT) and scope["method"] in _GET:
            name, own = path.removeprefix(ROOT), own_headers(self._env)
            await file_answer(self._look, name, own).send(scope, send)
            return
        secure = is_secure(scope, self._env)
        visit = self._visit(scope, path, secure=secure)
        try:
            await self._know(visit)
            if path == EVENTS:
                await self._stream(visit, receive, send)
                return
            answer: PageAnswer
            if scope["method"] == "POST":
                answer = await self._act(visit, receive)
            elif scope["method"] in _GET:
                answer = await self._show(visit)
            else:
                raise Refusal(ErrorCode.METHOD_NOT_ALLOWED)  # noqa: TRY301 -- its page is made below
        except (Refusal, Unavailable) as error:
            answer = self._frame.error(visit, error)
        except Exception as error:  # noqa: BLE001 -- the visitor gets a page, the log the place
            self._log(error, scope)
            answer = self._frame.error(visit, Refusal(ErrorCode.INTERNAL_ERROR))
        html = ""
        if isinstance(answer, Shown):
            answer, html = self._filled(visit, answer)
        await response(scope, self._env, answer, html, secure=secure).send(scope, send)

    def _visit(self, scope: Scope, path: str, *, secure: bool) -> Visit:
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), True, errors="replace"))
        client = scope.get("client")
        address = caller_address(client[0] if client else "", scope["headers"], self._client_header)
        language = choose_language(LANGUAGES, query.get("lang", ""), header(scope, b"accept-language"))
        return Visit(
            env=self._env, machine=self._machine, scope=scope, path=path, places={}, query=query,
            words=Words(language, zone_of("")), shop=None, who=None,
            cookie=cookie_of(scope, self._env, secure=secure), secure=secure, address=address,
            now=self._env.clock.now_us(),
        )  # fmt: skip

    async def _know(self, visit: Visit) -> None:
        """Read the shop and the session of the cookie, in one snapshot."""
        sha256 = sessions.hash_token(visit.cookie)

        def read(reader: Reader) -> tuple[Shop | None, LoggedIn | None, Mode, int]:
            found = users.session_with(reader, sha256) if visit.cookie else None
            shop, mode = shops.get(reader), Mode.LIVE
            if found is None:
                return shop, None, mode, 0
            session, user = found
            if user.disabled_at is not None or sessions.is_over(session, visit.now):
                return shop, None, mode, 0
            if session.mode is not None:
                mode = session.mode
            elif devices.are_simulated(reader):
                mode = Mode.TEST
            # By its id a user may see what is of the sandbox; nobody in the sandbox touches real money.
            caller = of_user(user, session, Mode.TEST if mode is Mode.TEST else None)
            waiting = reviews.count_open(seen_by(reader, caller), mode)
            return shop, LoggedIn(user, session, caller), mode, waiting

        visit.shop, visit.who, visit.mode, visit.reviews_open = await self._env.store.look(read)
        zone = zone_of(visit.shop.timezone if visit.shop else "")
        language = visit.words.language
        if visit.who is not None:
            language = visit.who.session.language or language
            session = visit.who.session
            if visit.now - session.seen_at >= BROWSER_SEEN_EVERY_US or visit.now < session.seen_at:
                # Pages can be read while nothing can be written, such as with a full disk.
                with contextlib.suppress(Unavailable):
                    await self._env.store.write(lambda tx: users.touch(tx, session.id, visit.now))
        visit.words = Words(language, zone)

    async def _show(self, visit: Visit) -> PageAnswer:
        page, visit.places = needed(self._pages.find(visit.path), ErrorCode.ROUTE_NOT_FOUND)
        if page.public:
            return await page.show(visit)
        if visit.who is None:
            back = f"{visit.path}?{urlencode(visit.query)}" if visit.query else visit.path
            return Goto(LOGIN if visit.path == "/dash" else f"{LOGIN}?to={quote(back, safe='')}")
        if visit.who.user.role not in page.roles:
            raise Refusal(ErrorCode.ROLE_REQUIRED)
        if not visit.sees(page):
            raise Refusal(ErrorCode.HEAD_OFFICE_ONLY)
        self._narrow(visit)
        if page.real:
            visit.mode = Mode.LIVE
        if not (page.shared and _is_fragment(visit) and not visit.query):
            return await page.show(visit)

        async def part() -> LivePart:
            shown = await page.show(visit)
            assert isinstance(shown, Shown), "a page that changes is a page"
            body = self._frame.page(visit, page, shown, fragment=True).encode()
            return LivePart(body, zipped(body))

        return await self._parts.get(visit, part)

    def _narrow(self, visit: Visit) -> None:
        """Let a user of one branch read only what is of this branch."""
        if visit.caller.branch_id is not None:  # a copy does not see later changes of the settings
            visit.env = replace(self._env, store=store_of(self._env.store, visit.caller))

    async def _act(self, visit: Visit, receive: Receive) -> Outcome:
        check_origin(visit.scope)
        action, visit.places = needed(self._actions.find(visit.path), ErrorCode.ROUTE_NOT_FOUND)
        if action.operation is not None and visit.who is None:
            # The user comes back to the page with the form.
            _page, at = self._page_of(action, visit.path)
            return Goto(f"{LOGIN}?to={quote(at, safe='')}", "said_session_over")
        most = LOGIN_BYTES_MAX if visit.who is None else FORM_BYTES_MAX
        body = needed(await read_form(receive, most), ErrorCode.PAYLOAD_TOO_LARGE)
        visit.form = dict(parse_qsl(body.decode("latin-1"), True, errors="replace"))
        who = "" if visit.who is None else visit.who.session.id
        claim = claim_form(visit.form, visit.cookie, visit.path, who)
        if visit.who is not None and action.operation is not None:
            require(visit.caller, action.operation)
            self._narrow(visit)
            if visit.practises and self._page_of(action, visit.path)[0].real:
                visit.mode = Mode.LIVE
                visit.fail("", "mode_real_refused")
                return await self._form_again(visit, action)
        visit.idempotency = Idempotency(f"{claim.scope} flow", claim.key, claim.fingerprint)
        return await self._once(visit, action, claim)

    async def _once(self, visit: Visit, action: Action, claim: Idempotency) -> Outcome:
        """Run an action once for its form; a second submission gets the same place to go to."""
        store, key = self._env.store, (claim.scope, claim.key)
        while (running := self._running.get(key)) is not None:
            await running.wait()
        done = self._running[key] = asyncio.Event()
        try:
            earlier = await store.write(lambda tx: idempotency.reserve(tx, claim, visit.now))
            if earlier is not None:
                return _repeated(earlier)
            try:
                outcome = await action.act(visit)
            except Repeated as repeated:
                outcome = _repeated(repeated.answer)
            except FormWrong:
                await store.write(lambda tx: idempotency.release(tx, claim))
                return await self._form_again(visit, action)
            except (Refusal, Unavailable):
                await store.write(lambda tx: idempotency.release(tx, claim))
                raise
            if isinstance(outcome, Shown) and outcome.status >= HTTPStatus.BAD_REQUEST:
                await store.write(lambda tx: idempotency.release(tx, claim))
            else:
                # Never the text of a page, which may contain a secret.
                kept = outcome.kept() if isinstance(outcome, Goto) else Kept(HTTPStatus.OK, b"")
                await store.write(lambda tx: idempotency.settle(tx, claim, kept))
            return outcome
        finally:
            del self._running[key]
            done.set()

    async def _form_again(self, visit: Visit, action: Action) -> Shown:
        """Return the page of a form that was refused, with what was typed and the errors."""
        page, at = self._page_of(action, visit.path)
        visit.here = "" if at == visit.path else at
        shown = await page.show(visit)
        assert isinstance(shown, Shown), "a form is no file"
        return replace(shown, status=HTTPStatus.UNPROCESSABLE_ENTITY)

    def _page_of(self, action: Action, path: str) -> tuple[Page, str]:
        """Return the page with the form of an action, and its address."""
        at = action.form or path
        while (found := self._pages.find(at)) is None:
            at = at.rpartition("/")[0]
        return found[0], at

    async def _stream(self, visit: Visit, receive: Receive, send: Send) -> None:
        if visit.scope["method"] != "GET":
            raise Refusal(ErrorCode.METHOD_NOT_ALLOWED)
        if visit.who is None:
            raise Refusal(ErrorCode.SESSION_REQUIRED)
        # The page may show a row of the other mode.
        visit.mode = Mode.TEST if visit.query.get("mode", visit.mode) == Mode.TEST else Mode.LIVE
        await self._hub.run(visit, receive, send)

    def _filled(self, visit: Visit, answer: Shown) -> tuple[Shown, str]:
        """Return the page with its cookie, and its text; if it cannot be filled the page of that error."""
        if not visit.cookie and answer.cookie is None:
            # The forms of a visitor need a cookie too. A login replaces it by that of the session.
            token = self._env.entropy.bytes(sessions.TOKEN_BYTES).hex()
            visit.cookie, answer = token, replace(answer, cookie=token)
        elif answer.cookie:
            visit.cookie = answer.cookie
        fragment = _is_fragment(visit)
        found = self._pages.find(visit.here or visit.path)
        page = None if found is None else found[0]
        try:
            return answer, self._frame.page(visit, page, answer, fragment=fragment)
        except Exception as error:  # noqa: BLE001 -- the visitor gets a page, the log the place
            self._log(error, visit.scope)
            answer = self._frame.error(visit, Refusal(ErrorCode.INTERNAL_ERROR))
            return answer, self._frame.page(visit, None, answer, fragment=fragment)

    def _log(self, error: Exception, scope: Scope) -> None:
        # Do not log the message: it may quote data of a person.
        frames = traceback.extract_tb(error.__traceback__)
        self._machine.log.error(
            "dash.fault",
            method=scope["method"],
            error=type(error).__name__,
            where=[f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
        )


def _is_fragment(visit: Visit) -> bool:
    """Return whether the script asks for the part of the page that changes."""
    return header(visit.scope, b"x-fragment") == "1"


def _repeated(earlier: Kept) -> Outcome:
    """Return the outcome of a form that was sent before."""
    if earlier.status == HTTPStatus.SEE_OTHER:
        path, _, said = earlier.body.decode().partition(" ")
        return Goto(path, said)
    text = "form_shown_before" if earlier.status else "form_unfinished"
    return Shown("message.html", {"headline": text, "more": f"{text}_more"}, status=409)
