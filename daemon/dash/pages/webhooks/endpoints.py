"""The list of webhook endpoints, and one endpoint: its state, its last answers, its rules, and all that is done with it.

Before the signing secret is shown or rotated the own password is asked; the page leaves after 30 seconds.
"""

import json
from typing import Any, Final, NoReturn

from msgspec import Struct

from daemon.core.access.callers import Operation
from daemon.core.errors import Refusal
from daemon.core.limits import TEXT_CHARACTERS_MAX, URL_CHARACTERS_MAX
from daemon.core.lines.readiness import UNPLACED_WINDOW_US
from daemon.core.reading import read
from daemon.core.webhooks.diagnosis import cause_of
from daemon.core.webhooks.endpoint import (
    HEADER_BYTES_MAX,
    HEADERS_MAX,
    Endpoint,
    EndpointAnswer,
    EndpointChanges,
    NewEndpoint,
)
from daemon.dash.pages.webhooks import common
from daemon.dash.pages.webhooks.common import condition, endpoint_of, name_of, read_text
from daemon.dash.parts.confirming import confirm
from daemon.dash.web.visit import FormWrong, Goto, Outcome, Shown, Visit
from daemon.flows.webhooks import deliver
from daemon.flows.webhooks import endpoints as flow
from daemon.flows.webhooks.endpoints import ENDPOINTS_MAX
from daemon.store.engine import Reader
from daemon.store.webhooks import deliveries as store_deliveries
from daemon.store.webhooks import delivery_log, endpoints, routing
from daemon.store.webhooks.delivery_log import DeliveryFilter
from daemon.wire import ErrorCode, EventKind

HERE: Final = "/dash/webhooks"
DELIVERIES_MAX: Final = 10
_IN_THE_FORM: Final = (ErrorCode.LINES_NOT_READY, ErrorCode.ENDPOINT_LIMIT)


async def show_list(visit: Visit) -> Shown:
    """Show all endpoints."""
    since = visit.now - UNPLACED_WINDOW_US

    def read(reader: Reader) -> tuple[list[Endpoint], dict[str, int], int]:
        return (
            endpoints.in_use(reader, visit.mode),
            delivery_log.waiting_by_endpoint(reader),
            routing.count_unclaimed(reader, visit.mode, since),
        )

    found, waiting, unclaimed = await visit.env.store.read(read)
    rows = [(one, name_of(one), condition(one), waiting.get(one.id, 0)) for one in found]
    return Shown("webhooks/list.html", {"rows": rows, "unclaimed": unclaimed, "full": len(found) >= ENDPOINTS_MAX})


class FormLine(Struct, frozen=True):
    """A line of text in the form of an endpoint. Its words are `words`, and `words` with `_hint`.

    `name` is that in the form and of the endpoint's attribute, `fresh` the value of a new one, which with `once` stays.
    """

    name: str
    words: str
    fresh: Any = ""
    most: int = TEXT_CHARACTERS_MAX
    required: bool = False
    once: bool = False
    shape: str = "line"

    def value_of(self, endpoint: Endpoint) -> Any:
        """Return the value in the form."""
        return getattr(endpoint, self.name)

    def read(self, visit: Visit) -> Any:
        """Return the value that was typed."""
        return read_text(visit, self.name, self.most, required=self.required)

    def fact(self, visit: Visit, endpoint: Endpoint) -> str | None:
        """Return the value on the page of the endpoint; None if it is not among its facts."""
        del visit, endpoint
        return None


class Switch(FormLine, frozen=True):
    """A box to tick."""

    shape: str = "switch"

    def read(self, visit: Visit) -> Any:
        """Return whether it is ticked."""
        return bool(visit.form.get(self.name))

    def fact(self, visit: Visit, endpoint: Endpoint) -> str | None:
        """Return whether it is on."""
        return visit.words("is_on" if self.value_of(endpoint) else "is_off")


class Kinds(FormLine, frozen=True):
    """The kinds of events, a box for each."""

    shape: str = "kinds"

    def value_of(self, endpoint: Endpoint) -> Any:
        """Return the kinds."""
        return json.loads(endpoint.events)

    def read(self, visit: Visit) -> Any:
        """Return the ticked kinds, at least one."""
        kinds = [str(kind) for kind in EventKind if visit.form.get(f"event.{kind}")]
        if not kinds:
            visit.fail("events", "field_events")
        return kinds

    def fact(self, visit: Visit, endpoint: Endpoint) -> str | None:
        """Return the kinds in words."""
        kinds = self.value_of(endpoint)
        return ", ".join(visit.words(f"event_{kind.split('.')[1]}") for kind in kinds)


class Headers(FormLine, frozen=True):
    """The headers of an endpoint, one on each line."""

    shape: str = "lines"

    def value_of(self, endpoint: Endpoint) -> Any:
        """Return the names, with a mark for each stored value."""
        return EndpointAnswer.of(endpoint).headers

    def read(self, visit: Visit) -> Any:
        """Return the names and values."""
        lines = [line.partition(":") for line in visit.form.get(self.name, "").splitlines() if line]
        return {name.strip(): value.strip() for name, _, value in lines}

    def fact(self, visit: Visit, endpoint: Endpoint) -> str | None:
        """Return the names."""
        return ", ".join(self.value_of(endpoint)) or visit.words("hook_headers_none")


INPUTS: Final = (
    FormLine("url", "hook_url", "https://", URL_CHARACTERS_MAX, required=True),
    FormLine("description", "hook_name"),
    Kinds("events", "hook_events", [EventKind.FORWARDED]),
    Switch("catch_all", "catch_all", True),
    Switch("include_raw", "include_raw", False),
    Headers("headers", "hook_headers", {}, most=HEADERS_MAX * (HEADER_BYTES_MAX + 1)),
    Switch("sandbox", "hook_sandbox", False, once=True),
)
"""The fields of an endpoint in the form, in their order; those with a fact stand on its page too."""


async def show_one(visit: Visit) -> Shown:
    """Show one endpoint."""
    endpoint = await endpoint_of(visit)

    def read(reader: Reader) -> dict[str, Any]:
        wanted = DeliveryFilter(endpoint_id=endpoint.id)
        found = delivery_log.listed(reader, wanted, limit=DELIVERIES_MAX).rows
        failed, answered, mend = delivery_log.last_failure(reader, endpoint), None, ""
        if failed is not None:
            answered = common.answer_of(visit, failed.status_code, failed.error_code)
            mend = common.cause_words(visit, "mend", cause_of(failed.status_code, failed.error_code))
        return {
            "waiting": store_deliveries.count_waiting(reader, endpoint.id),
            "rules": routing.rules_of_endpoint(reader, endpoint.id),
            "failure": failed,
            "failed": answered,
            "mend": mend,
            "deliveries": [
                (one, common.answer_of(visit, one.response_status_code, one.error_code)) for one, _ in found
            ],
        }

    return Shown(
        "webhooks/one.html",
        {
            **await visit.env.store.read(read),
            "one": endpoint,
            "name": name_of(endpoint),
            "condition": condition(endpoint),
            "facts": [
                (visit.words(row.words), fact)
                for row in INPUTS
                if not row.once and (fact := row.fact(visit, endpoint)) is not None
            ],
        },
        name_of(endpoint),
    )


async def show_new(visit: Visit) -> Shown:
    """Show the form of a new endpoint."""
    fresh = {row.name: row.fresh for row in INPUTS}
    return _form(visit, None, _read(visit, None) if visit.form else fresh)


async def create(visit: Visit) -> Outcome:
    """Create an endpoint; a user with the permission to see secrets is shown its secret, once."""
    common.needs_open_collections(visit)
    values = _read(visit, None)
    visit.check()
    try:
        await flow.check_endpoint(visit.env, visit.caller, values["url"], visit.machine.resolver)
        new, _ = read(NewEndpoint, {**values, "is_sandbox": values["sandbox"]})
        # The token of the form makes it happen once, so no answer with a secret needs to be kept.
        made = await flow.create(visit.env, visit.caller, new)
    except Refusal as refusal:
        _take(visit, refusal)
    endpoint_id = made.endpoint.id
    if not visit.may(Operation.MANAGE_SECRETS):
        return Goto(f"{HERE}/{endpoint_id}", "said_endpoint_created")
    return _secret(visit, endpoint_id, made.secret, None, "secret_new")


async def show_edit(visit: Visit) -> Shown:
    """Show the form with the values of an endpoint."""
    endpoint = await endpoint_of(visit)
    values = _read(visit, endpoint) if visit.form else _values(endpoint)
    return _form(visit, endpoint, values)


async def edit(visit: Visit) -> Outcome:
    """Change an endpoint."""
    common.needs_open_collections(visit)
    endpoint = await endpoint_of(visit)
    before, values = _values(endpoint), _read(visit, endpoint)
    changed = {name: values[name] for name in before if values[name] != before[name]}
    visit.check()
    try:
        if "url" in changed:
            await flow.check_endpoint(visit.env, visit.caller, changed["url"], visit.machine.resolver)
        if changed:
            changes, _ = read(EndpointChanges, changed)
            await flow.update(visit.env, visit.caller, endpoint.id, changes)
    except Refusal as refusal:
        _take(visit, refusal)
    return Goto(f"{HERE}/{endpoint.id}", "said_endpoint_changed")


async def pause(visit: Visit) -> Goto:
    """Pause an endpoint."""
    return await _switch(visit, "said_endpoint_paused", is_active=False)


async def resume(visit: Visit) -> Goto:
    """Resume an endpoint and send its waiting deliveries."""
    return await _switch(visit, "said_endpoint_resumed", is_active=True)


async def _switch(visit: Visit, said: str, *, is_active: bool) -> Goto:
    common.needs_open_collections(visit)
    endpoint_id = visit.places["id"]
    await flow.update(visit.env, visit.caller, endpoint_id, EndpointChanges(is_active=is_active))
    return Goto(f"{HERE}/{endpoint_id}", said)


async def show_delete(visit: Visit) -> Shown:
    """Show the number of waiting deliveries that a deletion drops, with the form that deletes."""
    endpoint = await endpoint_of(visit)
    waiting = await visit.env.store.read(lambda reader: store_deliveries.count_waiting(reader, endpoint.id))
    values = {
        "one": endpoint,
        "name": name_of(endpoint),
        "waiting": waiting,
        "command": f"momo endpoints delete {endpoint.id}",
    }
    return Shown("webhooks/delete.html", values)


async def delete(visit: Visit) -> Goto:
    """Delete an endpoint."""
    common.needs_open_collections(visit)
    await flow.delete(visit.env, visit.caller, visit.places["id"])
    return Goto(HERE, "said_endpoint_deleted")


async def test(visit: Visit) -> Shown:
    """Send a made-up event and show the endpoint's answer."""
    common.needs_open_collections(visit)
    endpoint = await endpoint_of(visit)
    tried = await deliver.send_test(visit.env, visit.caller, endpoint, visit.machine.resolver)
    values = {
        "one": endpoint,
        "name": name_of(endpoint),
        "tried": tried,
        "command": f"momo endpoints test {endpoint.id}",
    }
    return Shown("webhooks/tested.html", values, visit.words("hook_tested"))


def _values(endpoint: Endpoint) -> dict[str, Any]:
    """Return what the form shows of an endpoint."""
    return {row.name: row.value_of(endpoint) for row in INPUTS if not row.once}


def _read(visit: Visit, endpoint: Endpoint | None) -> dict[str, Any]:
    """Return the fields of the form; errors are in `visit.errors`."""
    return {row.name: row.read(visit) for row in INPUTS if endpoint is None or not row.once}


def _take(visit: Visit, refusal: Refusal) -> NoReturn:
    """Show the form again with a refusal, or raise it."""
    if refusal.code is ErrorCode.URL_NOT_ALLOWED:
        visit.errors["url"] = visit.cite(refusal.message)
    elif refusal.code is ErrorCode.VALIDATION_ERROR:
        for each in refusal.extras["details"]:
            name, _, header = each["field"].partition(".")
            visit.fail(name, "hook_headers_wrong", name=header)
    elif refusal.code in _IN_THE_FORM:
        visit.refuse(refusal)
    else:
        raise refusal
    raise FormWrong from refusal


def _form(visit: Visit, endpoint: Endpoint | None, values: dict[str, Any]) -> Shown:
    shown = {
        "one": endpoint,
        "inputs": [(row, values[row.name]) for row in INPUTS if row.name in values],
        "kinds": [str(kind) for kind in EventKind],
        "command": "momo endpoints add https://shop.example/momo"
        if endpoint is None
        else f"momo endpoints update {endpoint.id}",
    }
    title = visit.words("hook_new" if endpoint is None else "hook_edit")
    return Shown("webhooks/form.html", shown, title)


async def show_secret(visit: Visit) -> Shown:
    """Show the two forms; no secret."""
    endpoint = await endpoint_of(visit)
    command = f"momo endpoints reveal {endpoint.id}"
    values = {"one": endpoint, "name": name_of(endpoint), "command": command}
    return Shown("webhooks/secrets.html", values, visit.words("secret"))


async def reveal(visit: Visit) -> Outcome:
    """Show the present secret, once."""
    endpoint = await endpoint_of(visit)
    await confirm(visit)
    found = await flow.reveal_secret(visit.env, visit.caller, endpoint.id)
    return _secret(visit, endpoint.id, found.secret, found.previous_expires_at, "secret_old")


async def rotate(visit: Visit) -> Outcome:
    """Make a new secret and show it, once."""
    endpoint = await endpoint_of(visit)
    await confirm(visit)
    leaked = bool(visit.form.get("leaked"))
    with visit.shows(ErrorCode.ROTATION_LIMIT, key="secret_limit"):
        found = await flow.rotate_secret(visit.env, visit.caller, endpoint.id, expire_previous=leaked)
    return _secret(visit, endpoint.id, found.secret, found.previous_expires_at, "secret_rotated")


def _secret(visit: Visit, endpoint_id: str, secret: str, until: int | None, why: str) -> Shown:
    """Return the page that shows a secret once; `until` is when the one before ends."""
    command = f"momo endpoints reveal {endpoint_id}"
    values = {"id": endpoint_id, "secret": secret, "until": until, "why": why, "command": command}
    return Shown("webhooks/secret.html", values, visit.words("secret"))
