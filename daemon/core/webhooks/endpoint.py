"""A webhook endpoint: its row, its answer, and the bodies that create and change it."""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, ClassVar, Final, Self

from msgspec import Meta, Struct

from daemon.core import shape
from daemon.core.limits import TEXT_CHARACTERS_MAX, URL_CHARACTERS_MAX
from daemon.core.reading import Wrong
from daemon.core.shape import STORED_JSON, about, marked, members, sample, shown
from daemon.wire import EventKind, Mode

HEADERS_MAX: Final = 10
HEADER_BYTES_MAX: Final = 1024
HEADER_PURPOSE: Final = "webhook-header"
"""The purpose under which the vault seals a header's value."""
KEPT: Final = "***"
"""Stands for a stored value: in answers, and in a change that keeps it."""
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}", re.ASCII)
"""RFC 9110, section 5.6.2."""
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]+", re.ASCII)
_OURS: Final = re.compile(
    r"webhook-.*|x-svc-.*|content-.*|proxy.*|sec-.*|user-agent|host|connection|keep-alive|te|trailer|transfer-encoding"
    r"|upgrade|expect|date|accept-encoding|http2-settings",
    re.ASCII | re.IGNORECASE,
)
"""Headers of webhooks, of HTTP/1.1 itself, and those that a proxy acts on. A command gets a header as an environment
variable, where `Proxy` would be `HTTP_PROXY`."""


class Endpoint(Struct, frozen=True):
    """A webhook receiver, made by the shop (`endpoint`) or by the `webhook_url` of a transaction (`implicit`).

    Attributes:
        backlog_seq: Its deliveries up to this one are a backlog: they waited for the end of an outage or a pause.
        headers: JSON of the headers of its own: name to value, sealed for `HEADER_PURPOSE`.
    """

    seq: int
    id: str
    kind: str
    mode: Mode
    url: str
    url_normalised: str
    description: str
    events: str
    catch_all: bool
    include_raw: bool
    is_active: bool
    created_at: int
    updated_at: int
    auto_paused_at: int | None = None
    last_success_at: int | None = None
    last_failure_at: int | None = None
    consecutive_failures: int = 0
    link_failures: int = 0
    deleted_at: int | None = None
    backlog_seq: int = 0
    headers: str = "{}"


def _without_values(headers: str) -> dict[str, str]:
    return dict.fromkeys(json.loads(headers), KEPT)


class EndpointAnswer(Struct, frozen=True):
    """The endpoint object; the secret is never part of it."""

    id: shape.Id
    url: Annotated[str, sample("https://shop.example/momo", "HTTPS, publicly reachable")]
    description: Annotated[str, sample("the till")]
    is_active: Annotated[shape.On, about("false: delivery is paused")]
    is_sandbox: Annotated[shape.Flag, about("it receives test payments only")]
    auto_paused_at: Annotated[shape.NoTime, about("when repeated failures stopped it")]
    last_success_at: shape.Time | None
    last_failure_at: shape.NoTime
    consecutive_failures: shape.Count
    created_at: shape.Time
    updated_at: shape.Time
    catch_all: Annotated[shape.On, about("it takes the payments that no rule claims")]
    events: Annotated[list[Annotated[EventKind, sample(EventKind.FORWARDED)]], STORED_JSON]
    include_raw: Annotated[shape.Flag, about("payloads hold the text of the SMS")]
    headers: Annotated[
        dict[str, str],
        sample(
            {"X-Shop": "***"},
            "sent with each webhook; a value is never shown",
            schema={"additionalProperties": {"type": "string"}},
        ),
        marked(show=_without_values),
    ]

    @classmethod
    def of(cls, row: Endpoint, **more: Any) -> Self:
        """Return the answer of an endpoint; `more` are further members of an answer that extends it."""
        return shown(cls, row, is_sandbox=row.mode is Mode.TEST, **more)


def _once(kinds: tuple[EventKind, ...]) -> tuple[EventKind, ...]:
    return tuple(dict.fromkeys(kinds))


_Url = Annotated[
    str,
    sample("https://shop.example/momo", "https, publicly reachable"),
    Meta(min_length=1, max_length=URL_CHARACTERS_MAX),
]
_Label = Annotated[str, sample("two loaves", "a label for people", max_length=TEXT_CHARACTERS_MAX), marked(empty=True)]
_CatchAll = Annotated[bool, sample(True, "receives payments that match no rule of any endpoint")]
_Events = Annotated[
    tuple[EventKind, ...],
    sample(
        ["transaction.forwarded", "transaction.completed"],
        "the event kinds to send; by default `transaction.forwarded` alone, so that a reversal is not told",
    ),
    Meta(max_length=2 * len(EventKind)),
    marked(then=_once),
]


def _headers(given: dict[str, Any], *, may_keep: bool = False) -> dict[str, str] | list[Wrong]:
    """Return the headers as they are stored, or what is wrong with them."""
    wrong = [Wrong("too_long", f"has more than {HEADERS_MAX} headers")] * (len(given) > HEADERS_MAX)
    names: set[str] = set()
    for name, value in given.items():
        where = f".{name[:TEXT_CHARACTERS_MAX]}"
        # A command gets both names in one environment variable.
        same = name.lower().replace("_", "-")
        if not _HEADER_NAME.fullmatch(name):
            wrong.append(Wrong("invalid", "is not the name of a header", where))
        elif _OURS.fullmatch(same):
            wrong.append(Wrong("invalid", "is a header that momo or HTTP itself sets", where))
        elif same in names:
            wrong.append(Wrong("invalid", "is there twice", where))
        elif not isinstance(value, str):
            wrong.append(Wrong("wrong_type", "must be a string", where))
        elif not value.strip() or (value.strip() == KEPT and not may_keep):
            wrong.append(Wrong("required", "has no value", where))
        elif len(value.encode()) > HEADER_BYTES_MAX:
            wrong.append(Wrong("too_long", f"is larger than {HEADER_BYTES_MAX} bytes", where))
        elif not _HEADER_VALUE.fullmatch(value):
            wrong.append(Wrong("invalid", "has a character that no header may have", where))
        names.add(same)
    return wrong or {name: value.strip() for name, value in given.items()}


_HEADERS: Final = sample(
    {"Authorization": "Bearer 7f3a"},
    "headers of your own, name to value: at most 10, 1 kB each",
    schema={"additionalProperties": {"type": "string"}, "maxProperties": HEADERS_MAX},
)
_IncludeRaw = Annotated[bool, sample(False, "include the text of the SMS in payloads")]


class NewEndpoint(Struct, frozen=True):
    """The body that creates an endpoint."""

    url: _Url
    description: _Label = ""
    is_sandbox: Annotated[bool, sample(False, "receives test payments only")] = False
    catch_all: _CatchAll = True
    include_raw: _IncludeRaw = False
    events: _Events = (EventKind.FORWARDED,)
    headers: Annotated[dict[str, str], _HEADERS, marked(then=_headers)] | None = None

    @property
    def mode(self) -> Mode:
        """The mode of its payments."""
        return Mode.TEST if self.is_sandbox else Mode.LIVE


class EndpointChanges(Struct, frozen=True):
    """The body that changes an endpoint: at least one member; None leaves it unchanged, an empty description removes it."""

    known: ClassVar = ("is_sandbox",)

    description: _Label | None = None
    url: _Url | None = None
    is_active: Annotated[
        bool | None, sample(False, "false pauses delivery; true resumes it and sends waiting deliveries")
    ] = None
    catch_all: _CatchAll | None = None
    events: _Events | None = None
    include_raw: _IncludeRaw | None = None
    headers: Annotated[
        dict[str, str] | None,
        _HEADERS,
        about(
            "headers of your own in place of those there are, name to value: at most 10, 1 kB each; "
            f"the value `{KEPT}` keeps the stored one; with a `url` at another host those that are not given again go"
        ),
        marked(then=partial(_headers, may_keep=True)),
    ] = None

    @staticmethod
    def check(given: Mapping[str, Any], body: Mapping[str, Any], fail: Callable[[str, str, str], Any]) -> None:
        """Refuse another mode, and a body that changes nothing."""
        del given
        if body.get("is_sandbox") is not None:
            fail("is_sandbox", "invalid", "cannot be changed after the endpoint is created")
        elif all(body.get(name) is None for name in CHANGE_FIELDS):
            fail("body", "required", f"must hold at least one of {', '.join(CHANGE_FIELDS)}")


CHANGE_FIELDS: Final = tuple(each.name for each in members(EndpointChanges))
