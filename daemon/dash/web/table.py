"""The rows of the tables of pages and actions, and the search for the row of an address."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

from msgspec import Struct

from daemon.core.access.callers import ALLOWED, Operation
from daemon.dash.web.visit import Outcome, PageAnswer, Visit
from daemon.wire import Role

Show = Callable[[Visit], Awaitable[PageAnswer]]
Act = Callable[[Visit], Awaitable[Outcome]]
_PLACE: Final = re.compile(r"\{(\w+)\}")


class DashPage(Struct, frozen=True):
    """One page.

    Attributes:
        path: Below `/dash`, with `{places}`, such as `/dash/payments/{id}`.
        title: Key of its title in the words; also its word in the menu.
        roles: The roles that may see it.
        show: Reads its data and returns its template and values.
        menu: Group of the menu that it stands in; empty for a page that others link to.
        live: The events that make an open page fetch itself again: `now`, `review`, `line`, `delivery`.
        command: The same thing in the terminal; `{places}` are filled from the address.
        public: It is shown without a session.
        bare: It has no menu and does not show the user's name: a screen for customers.
        shared: The part that an open page fetches again is the same for all users of a role in a language, and has no form:
            it is made once for each commit, for all tabs.
    """

    path: str
    title: str
    roles: frozenset[Role]
    show: Show
    menu: str = ""
    live: tuple[str, ...] = ()
    command: str = ""
    public: bool = False
    bare: bool = False
    shared: bool = False


class Action(Struct, frozen=True):
    """One thing that a form does.

    Attributes:
        path: The address that the form posts to, with `{places}`.
        operation: The permission that it needs, by the table in `daemon/core/access/callers.py`; None is the login.
        act: Does it and returns the next address, or a page that is shown once.
        command: The same thing in the terminal, with `{places}`; empty where a terminal has nothing to do with it.
    """

    path: str
    operation: Operation | None
    act: Act
    command: str = ""

    @property
    def roles(self) -> frozenset[Role]:
        """The roles that may do it."""
        return frozenset(Role) if self.operation is None else ALLOWED[self.operation]


Row = TypeVar("Row", DashPage, Action)


class Table(Generic[Row]):
    """Finds the row of an address; rows without places are preferred."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._plain: dict[str, Row] = {row.path: row for row in rows if "{" not in row.path}
        self._patterns: list[tuple[re.Pattern[str], Row]] = [
            (re.compile(_PLACE.sub(r"(?P<\1>[^/]+)", re.sub(r"[.]", r"\.", row.path))), row)
            for row in rows
            if "{" in row.path
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
