"""Results of a page or an action: a page to show, an address to go to, or a file."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from msgspec import Struct, field

from daemon.core.inputs import Answer


class Shown(Struct, frozen=True):
    """A page to show.

    Attributes:
        template: File below `daemon/dash/look/`.
        values: Values for the template, besides those of every template (docs/dashboard.md).
        title: Replaces the title of the table; text that is shown as it is.
        status: HTTP status.
        cookie: The token to store in the cookie; "" removes it; None leaves it.
    """

    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    status: int = 200
    cookie: str | None = None


class Goto(Struct, frozen=True):
    """Go to a page of the dashboard with GET.

    Attributes:
        path: Address below `/dash`.
        said: Key of a sentence in the words that the page shows at its top; empty for none.
        cookie: As in `Shown`.
    """

    path: str
    said: str = ""
    cookie: str | None = None

    def kept(self) -> Answer:
        """Return the form in which it is stored for a form that is sent again."""
        return Answer(HTTPStatus.SEE_OTHER, f"{self.path} {self.said}".encode())


class Download(Struct, frozen=True):
    """A file, such as a CSV of a list."""

    name: str
    body: bytes
    content_type: str = "text/csv; charset=utf-8"


class Part(Struct, frozen=True):
    """The part of a page that changes, filled already, and the same compressed."""

    body: bytes
    zipped: bytes


Outcome = Shown | Goto
PageAnswer = Shown | Goto | Download | Part
