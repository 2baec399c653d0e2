"""One request of one user, the argument of the handlers of pages and actions; their results; and the rows of their tables.

A result is a page to show, an address to go to, or a file.
"""

import contextlib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Generic, NoReturn, Protocol, TypeVar

from markupsafe import Markup, escape
from msgspec import Struct, field
from starlette.routing import compile_path
from starlette.types import Scope

from daemon.core.access import sessions
from daemon.core.access.callers import ALLOWED, READERS, Caller, Operation, allows
from daemon.core.errors import Refusal
from daemon.core.inputs import HttpAnswer, Idempotency, Keep, Source
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.model import BrowserSession, Shop, User
from daemon.core.names import group_digits, mask_number, national_format
from daemon.core.text import Text
from daemon.dash.web.words import Words
from daemon.env import Env
from daemon.sender.address_guard import Resolver
from daemon.sender.connect import SystemResolver
from daemon.wire import ErrorCode, Mode, Places, Role
from parsers.money import render


class FaultLog(Protocol):
    """The log of the daemon, as far as the dashboard needs it."""

    def error(self, event: str, **fields: Any) -> None:
        """Write one line; `fields` must not contain bodies, names, numbers or secrets."""


def nothing() -> None:
    """Do nothing."""


async def no_modem_answers(_device_id: str) -> bool:
    """Return False: there are no modems."""
    return False


class Machine(Struct, frozen=True):
    """Dependencies besides the environment, provided by the composition root.

    `channels` are those of notices to the owner; `inspect` asks a modem for its state by its device id, False if it does
    not answer; `restart` ends the daemon so that it starts again, once the answer is sent; `deliver` sends an SMS to the
    simulated phone of a network, part by part, and is None while none is attached.
    """

    log: FaultLog
    phone_states: Callable[[], Sequence[ModemHealth]]
    places: Places
    channels: Sequence[str] = ()
    resolver: Resolver = field(default_factory=SystemResolver)
    inspect: Callable[[str], Awaitable[bool]] = no_modem_answers
    restart: Callable[[], None] = nothing
    deliver: Callable[[str, Sequence[str]], Awaitable[Source]] | None = None


class Shown(Struct, frozen=True):
    """A page to show. A `title` replaces that of the table, and is shown as it is.

    The cookie is the token to store in it; "" removes it; None leaves it.
    """

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    status: int = 200
    cookie: str | None = None


class Goto(Struct, frozen=True):
    """Go to an address below `/dash` with GET; the page shows the sentence with the key `said` at its top, if any."""

    path: str
    said: str = ""
    cookie: str | None = None

    def kept(self) -> HttpAnswer:
        """Return the form in which it is stored for a form that is sent again."""
        return HttpAnswer(HTTPStatus.SEE_OTHER, f"{self.path} {self.said}".encode())


class Download(Struct, frozen=True):
    """A file, such as a CSV of a list."""

    name: str
    body: bytes
    content_type: str = "text/csv; charset=utf-8"


class LivePart(Struct, frozen=True):
    """The part of a page that changes, filled already, and the same compressed."""

    body: bytes
    zipped: bytes


Outcome = Shown | Goto
PageAnswer = Shown | Goto | Download | LivePart


class FormWrong(Exception):
    """A form is refused: its page is shown again, with what the user typed and with `Visit.errors`."""


class LoggedIn(Struct, frozen=True):
    """The user, the browser session, and the caller that flows are called with."""

    user: User
    session: BrowserSession
    caller: Caller


class Visit(Struct):
    """One request.

    Attributes:
        path: The address without query, below `/dash`.
        places: The values of the `{places}` of the row's path.
        form: The fields of the form, empty for a page.
        words: The words of the visitor's language.
        shop: None before the setup.
        who: The user with the session; None on public pages.
        cookie: The token in the cookie; "" if there is none.
        secure: The browser uses HTTPS.
        now: Microseconds, read once.
        mode: Whether the page shows real money or the sandbox: the mode of its one row, else that of the session.
        idempotency: The form's key for flows that take one; None for a page.
        errors: Errors in the fields of a refused form, by name.
        reviews_open: How many reviews wait for a decision.
        here: The address of the page of a refused form, if the form was posted to another one.
    """

    env: Env
    machine: Machine
    scope: Scope
    path: str
    places: Mapping[str, str]
    query: Mapping[str, str]
    words: Words
    shop: Shop | None
    who: LoggedIn | None
    cookie: str
    secure: bool
    address: str
    now: int
    mode: Mode = Mode.LIVE
    form: Mapping[str, str] = field(default_factory=dict)
    idempotency: Idempotency | None = None
    errors: dict[str, str] = field(default_factory=dict)
    here: str = ""
    reviews_open: int = 0

    @property
    def caller(self) -> Caller:
        """The caller for flows."""
        assert self.who is not None, "public pages call no flow that needs a caller"
        return self.who.caller

    async def kept(self, place: Goto | Callable[[Any], Goto], flow: Callable[[Keep[Any]], Awaitable[Any]]) -> Goto:
        """Return the place to go to after a flow, kept for the form in the commit of the effect."""
        to: Callable[[Any], Goto] = (lambda _: place) if isinstance(place, Goto) else place
        return to(await flow(Keep(self.idempotency, lambda value: to(value).kept())))

    @property
    def shop_name(self) -> str:
        """The shop's name, `momo` before the setup."""
        return "momo" if self.shop is None else self.shop.name

    @property
    def needs_password(self) -> bool:
        """Whether a dangerous form has to ask for the user's own password."""
        return self.who is None or not sessions.is_confirmed(self.who.session, self.now)

    @property
    def role(self) -> Role | None:
        """The role of the user."""
        return None if self.who is None else self.who.user.role

    def sees(self, page: "Page") -> bool:
        """Return whether a page is for the user: some are not for users of one branch."""
        return page.of_branch or self.who is None or self.who.caller.branch_id is None

    def may(self, operation: Operation) -> bool:
        """Return whether the user may do an operation: for showing a button, never instead of the check in the flow."""
        return self.who is not None and allows(self.who.caller, operation) and not self.only_looks

    @property
    def practises(self) -> bool:
        """Whether the user is in test mode; the page may show real money then, if its row is of it."""
        return self.who is not None and self.who.caller.mode is Mode.TEST

    @property
    def only_looks(self) -> bool:
        """Whether the page shows real money to a user in test mode. Such a page changes nothing."""
        return self.practises and self.mode is Mode.LIVE

    def token(self, path: str) -> str:
        """Return a new token for a form that posts to `path`."""
        nonce = self.env.entropy.bytes(sessions.NONCE_BYTES)
        return sessions.form_token(self.cookie, path, nonce)

    def money(self, minor: int | None, currency: str = "GHS") -> str:
        """Return an amount with its currency as the language writes it, such as `GHS 1,209.47` or `1 209,47 GHS`; it does not break."""
        if minor is None:
            return "—"
        return self.money_text(render(minor, currency), currency)

    def money_text(self, amount: str, currency: str) -> str:
        """Return an amount that is text already, such as `3118.50`, as `money` does."""
        sign = "\N{MINUS SIGN}" if amount.startswith("-") else ""
        whole, point, part = amount.removeprefix("-").partition(".")
        marks = self.words("money_marks")
        written = f"{int(whole):,}".replace(",", marks[0]) + point.replace(".", marks[1]) + part
        return self.words("money", currency=currency, amount=sign + written)

    def written(self, sentence: str) -> str:
        """Return a sentence of the program with its amounts as `money` writes them."""
        return _AMOUNT.sub(lambda found: self.money_text(found[2], found[1]), sentence)

    def phone(self, number: str | None) -> str:
        """Return a phone number as this user may see it: whole, or masked for cashiers; "" for none."""
        if number is None:
            return ""
        return self.own_number(number) if self.role in READERS else mask_number(number) or ""

    def own_number(self, number: str | None) -> str:
        """Return a number of the shop, which everybody may see; "" for none."""
        return "" if number is None else group_digits(national_format(number))

    @property
    def sees_sums(self) -> bool:
        """Whether the user may see the sum of the day and what the wallet holds."""
        return self.role is not Role.CASHIER or self.env.config.access.cashiers_see_sums

    def refuse(self, refusal: Refusal) -> None:
        """Take over the errors of a refused form, for showing it again with them."""
        details: list[Any] = refusal.extras.get("details") or []
        for one in details:
            self.errors[str(one["field"])] = self.cite(one["message"])
        if not details:
            key, t = f"error_{refusal.code.lower()}", self.words
            known = f"{t(key)}. {t(f'{key}_more')}" if t.has(key) else ""
            self.errors[""] = known or self.cite(f"{refusal.message} {refusal.hint}")

    def cite(self, text: Text | str, before: str = "") -> str:
        """Return a sentence of the program for an error; one without words in the visitor's language is marked as English."""
        told = escape(self.words.told(text))
        if self.words.is_foreign(text):
            told = Markup('<span lang="en">{}</span>').format(told)
        return Markup("{} {}").format(before, told) if before else told

    def fail(self, field: str, key: str, **places: Any) -> None:
        """Note that a field is wrong, with a text of the words; the field "" is the whole form."""
        self.errors[field] = self.words(key, **places)

    def wrong(self, field: str, key: str, **places: Any) -> NoReturn:
        """Show the form again because a field is wrong."""
        self.fail(field, key, **places)
        raise FormWrong

    def check(self) -> None:
        """Show the form again if a field of it is wrong."""
        if self.errors:
            raise FormWrong

    @contextlib.contextmanager
    def shows(self, *codes: ErrorCode, field: str = "", key: str = "") -> Iterator[None]:
        """Show the form again if a flow refuses with one of the codes; `field` gets an error that names no field.

        With `key` it gets that text instead of the errors.
        """
        try:
            yield
        except Refusal as refusal:
            if refusal.code not in codes:
                raise
            if key:
                self.wrong(field, key)
            self.refuse(refusal)
            if field and field not in self.errors and "" in self.errors:
                self.errors[field] = self.errors.pop("")
            raise FormWrong from refusal


Show = Callable[[Visit], Awaitable[PageAnswer]]
Act = Callable[[Visit], Awaitable[Outcome]]
_AMOUNT: Final = re.compile(r"\b([A-Z]{3}) ([0-9]{1,15}\.[0-9]{2})(?!\.?[0-9])")


class Page(Struct, frozen=True):
    """One page.

    Attributes:
        path: Below `/dash`, with `{places}`, such as `/dash/payments/{id}`.
        title: Key of its title in the words; also its word in the menu.
        command: The same thing in the terminal; `{places}` are filled from the address.
        menu: `main` for an entry of the menu, or its group on one of the two pages that the menu leads to; empty for a
            page that others link to.
        menu_roles: The roles that have it there; None is all that may see it.
        live: The events that make an open page fetch itself again: `now`, `review`, `line`, `delivery`.
        real: It is about real money only, also in test mode, where its forms are refused.
        public: It is shown without a session.
        bare: It has no menu and does not show the user's name: a screen for customers.
        shared: The part that an open page fetches again is the same for all users of a role in a language, and has no
            form: it is made once for each commit, for all tabs.
        of_branch: Also for users of one branch; it shows only rows that such a user sees.
    """

    path: str
    title: str
    roles: frozenset[Role]
    show: Show
    command: str = ""
    menu: str = ""
    menu_roles: frozenset[Role] | None = None
    live: tuple[str, ...] = ()
    public: bool = False
    bare: bool = False
    shared: bool = False
    of_branch: bool = False
    real: bool = False


class Action(Struct, frozen=True):
    """One thing that a form does.

    Attributes:
        operation: The permission that it needs, by the table in `daemon/core/access/callers.py`; None is the login.
        act: Does it and returns the next address, or a page that is shown once.
        command: The same thing in the terminal, with `{places}`; empty where a terminal has nothing to do with it.
        form: Path of the page with its form; empty if that is the page at the same address, or the nearest one above.
    """

    path: str
    operation: Operation | None
    act: Act
    command: str = ""
    form: str = ""

    @property
    def roles(self) -> frozenset[Role]:
        """The roles that may do it."""
        return frozenset(Role) if self.operation is None else ALLOWED[self.operation]


Row = TypeVar("Row", Page, Action)


class Table(Generic[Row]):
    """Finds the row of an address; rows without places are preferred."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._plain: dict[str, Row] = {row.path: row for row in rows if "{" not in row.path}
        self._patterns: list[tuple[re.Pattern[str], Row]] = [
            (compile_path(row.path)[0], row) for row in rows if "{" in row.path
        ]

    def find(self, path: str) -> tuple[Row, dict[str, str]] | None:
        """Return the row of a path and the values of its places; None if there is none."""
        row = self._plain.get(path)
        if row is not None:
            return row, {}
        for pattern, candidate in self._patterns:
            found = pattern.fullmatch(path)
            if found is not None:
                return candidate, found.groupdict()
        return None
