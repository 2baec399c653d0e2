"""A webhook endpoint: its row, its answer, and the bodies that create and change it."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Final, Self

from msgspec import Meta, Struct

from daemon.core.limits import TEXT_CHARACTERS_MAX, URL_CHARACTERS_MAX
from daemon.core.shape import (
    MASKED,
    PUBLIC,
    STORED_JSON,
    Count,
    Flag,
    Id,
    NoTime,
    On,
    Time,
    about,
    marked,
    members,
    sample,
    shown,
)
from daemon.wire import EventKind, Mode


class Endpoint(Struct, frozen=True):
    """A webhook receiver, made by the shop (`endpoint`) or by the `webhook_url` of a transaction (`implicit`).

    Attributes:
        backlog_seq: Its deliveries up to this one are a backlog: they waited for the end of an outage or a pause.
    """

    seq: int
    id: Annotated[str, PUBLIC]
    kind: Annotated[str, PUBLIC]
    mode: Annotated[Mode, PUBLIC]
    url: Annotated[str, MASKED]
    url_normalised: Annotated[str, MASKED]
    description: Annotated[str, MASKED]
    events: Annotated[str, PUBLIC]
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


class EndpointAnswer(Struct, frozen=True):
    """The endpoint object; the secret is never part of it."""

    id: Id
    url: Annotated[str, sample("https://shop.example/momo", "HTTPS, publicly reachable")]
    description: Annotated[str, sample("the till")]
    is_active: Annotated[On, about("false: delivery is paused")]
    is_sandbox: Annotated[Flag, about("it receives test payments only")]
    auto_paused_at: Annotated[NoTime, about("when repeated failures stopped it")]
    last_success_at: Time | None
    last_failure_at: NoTime
    consecutive_failures: Count
    created_at: Time
    updated_at: Time
    catch_all: Annotated[On, about("it takes the payments that no rule claims")]
    events: Annotated[list[Annotated[EventKind, sample(EventKind.FORWARDED)]], STORED_JSON]
    include_raw: Annotated[Flag, about("payloads hold the text of the SMS")]

    @classmethod
    def of(cls, row: Endpoint, **more: Any) -> Self:
        """Return the answer of an endpoint; `more` are further members of a shape that extends it."""
        return shown(cls, row, is_sandbox=row.mode is Mode.TEST, **more)


def _once(kinds: tuple[EventKind, ...]) -> tuple[EventKind, ...]:
    return tuple(dict.fromkeys(kinds))


_Url = Annotated[
    str,
    sample("https://shop.example/momo", "https, publicly reachable"),
    Meta(min_length=1, max_length=URL_CHARACTERS_MAX),
]
_Label = Annotated[
    str,
    sample("two loaves", "a label for people", max_length=TEXT_CHARACTERS_MAX),
    marked(empty=True),
]
_CatchAll = Annotated[bool, sample(True, "receives payments that match no rule of any endpoint")]
_Events = Annotated[
    tuple[EventKind, ...],
    sample(["transaction.forwarded", "transaction.completed"], "the event kinds to send"),
    Meta(max_length=2 * len(EventKind)),
    marked(then=_once),
]
_IncludeRaw = Annotated[bool, sample(False, "include the text of the SMS in payloads")]


class NewEndpoint(Struct, frozen=True):
    """The body that creates an endpoint."""

    url: _Url
    description: _Label = ""
    is_sandbox: Annotated[bool, sample(False, "receives test payments only")] = False
    catch_all: _CatchAll = True
    include_raw: _IncludeRaw = False
    events: _Events = (EventKind.FORWARDED,)

    @property
    def mode(self) -> Mode:
        """The mode of its payments."""
        return Mode.TEST if self.is_sandbox else Mode.LIVE


class EndpointChanges(Struct, frozen=True):
    """The body that changes an endpoint: at least one member; None leaves it unchanged, an empty description removes it."""

    known: ClassVar = ("is_sandbox",)

    description: _Label | None = None
    url: _Url | None = None
    is_active: (
        Annotated[
            bool,
            sample(False, "false pauses delivery; true resumes it and sends waiting deliveries"),
        ]
        | None
    ) = None
    catch_all: _CatchAll | None = None
    events: _Events | None = None
    include_raw: _IncludeRaw | None = None

    @staticmethod
    def check(
        given: Mapping[str, Any], body: Mapping[str, Any], fail: Callable[[str, str, str], Any]
    ) -> None:
        """Refuse another mode, and a body that changes nothing."""
        del given
        if body.get("is_sandbox") is not None:
            fail("is_sandbox", "invalid", "cannot be changed after the endpoint is created")
        elif all(body.get(name) is None for name in CHANGE_FIELDS):
            fail("body", "required", f"must hold at least one of {', '.join(CHANGE_FIELDS)}")


CHANGE_FIELDS: Final = tuple(each.name for each in members(EndpointChanges))
