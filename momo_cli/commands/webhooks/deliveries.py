"""Commands about deliveries, and the check of a received webhook."""

import base64
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, Final

from daemon.wire import DeliveryStatus, EventKind, Mode, Path
from momo_cli import exit_codes
from momo_cli.errors import Failure, usage
from momo_cli.frame.command import command
from momo_cli.inputs.ids import DELIVERIES, endpoint_id, id_of, ids_of
from momo_cli.inputs.parameters import (
    ALL_ROWS,
    DRY_RUN,
    FAIL_IF_ANY,
    IDS,
    LIMIT,
    OF_ENDPOINT,
    OFFSET,
    PAYLOAD,
    SINCE_EVENT,
    argument,
    flag,
    option,
)
from momo_cli.inputs.typed_values import file_errors, period
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Answer, Field, Head, Row, dumps, unchanged, view_of
from momo_cli.show.batch import OUTCOME_VIEW, Batch, one_by_one, run_batch, typed_ids
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, clock, list_faults, list_heading, state, with_test_mark
from momo_cli.socket.client import Client, path_of
from momo_cli.text import at, clean, warnings_of
from momo_cli.views.transactions import (
    DELIVERY_FIELDS,
    DELIVERY_VIEW,
    answer_text,
    attempt_lines,
    delivery_lines,
    follow_events,
)

_LIST_VIEW: Final = view_of(
    *DELIVERY_FIELDS,
    Head("STATUS", lambda row, _: with_test_mark(state(row.get("status")), row)),
    Head("EVENT", lambda row, _: clean(row.get("event")).removeprefix("transaction.")),
    Head("TRIES", lambda row, _: str(row.get("attempt_count") or 0), right=True),
    Head("ANSWER", lambda row, _: answer_text(row) or "—"),
    Head("WHEN", lambda row, t: ago(row.get("delivered_at") or row.get("created_at"), t)),
    Head("WEBHOOK ID", lambda row, _: clean(row.get("webhook_id")), cut=True),
    Head("ID", lambda row, _: clean(row.get("id")), cut=True),
)
_WATCH_VIEW: Final = view_of(
    "event_id=id event",
    *(
        Field(field.name, f"data.{field.name}")
        for field in DELIVERY_FIELDS
        if field.name != "event"
    ),
    "kind=data.event",
    Head("WHEN", lambda row, t: clock(_when(row), t)),
    Head("STATUS", lambda row, _: with_test_mark(state(at(row, "data.status")), row["data"])),
    Head("EVENT", lambda row, _: clean(at(row, "data.event")).removeprefix("transaction.")),
    Head("TRIES", lambda row, _: str(at(row, "data.attempt_count") or 0), right=True),
    Head("ANSWER", lambda row, _: answer_text(row["data"]) or "—"),
    Head("ID", lambda row, _: clean(at(row, "data.id")), cut=True),
    id="data.id",
)
_ATTEMPT_VIEW: Final = view_of(
    "run number started_at finished_at duration_ms response_status_code",
    "error_code=error.code error_message=error.message counted",
    id="number",
)
_PAGE: Final = 200

_DELIVERY = argument("ID", "The delivery.")
_STATUS = option("pending, retrying, delivered or failed.")


@command("deliveries list", view=_LIST_VIEW)
def list_(
    client: Client,
    terminal: Terminal,
    endpoint: str | None = OF_ENDPOINT,
    status: str | None = _STATUS,
    event: str | None = option("NAME", "Only of this event: forwarded, completed, expired ..."),
    limit: int = LIMIT,
    offset: int = OFFSET,
    kind: str | None = option("all", "all: also deliveries to webhook URLs of transactions."),
    every: bool = ALL_ROWS,
    fail_if_any: bool = FAIL_IF_ANY,
) -> Answer:
    """The newest come first, each with the endpoint's response. Those of the sandbox are listed too; --sandbox lists them
    alone. --fail-if-any does not count them, unless --sandbox or --endpoint names them.

    Examples:
        momo deliveries list
        momo deliveries list --status failed --fail-if-any --quiet
        momo deliveries list --all -o csv --fields webhook_id,status,response_status_code
    """
    status = _checked(status)
    if kind not in (None, "all"):
        raise usage("--kind takes only the word all")
    of_endpoint = None if endpoint is None else endpoint_id(client, endpoint)
    query = {"endpoint_id": of_endpoint, "status": status, "kind": kind, "event": _event(event)}
    if client.sandbox:
        query["mode"] = Mode.TEST
    elif fail_if_any and endpoint is None:
        query["mode"] = Mode.LIVE  # deliveries of the sandbox do not count
    if every and not fail_if_any:
        rows = client.rows(Path.DELIVERIES, query, page=_PAGE, offset=offset)
        return Answer(rows=rows, stream=not terminal.human, summary=True)
    reply = client.get(Path.DELIVERIES, **query, limit=limit, offset=offset)
    found = reply.data or []
    named = f"{status} " if status else ""
    where = " of the sandbox" if client.sandbox else ""
    return Answer(
        *reply.parts,
        heading=list_heading(reply, "deliveries", offset=offset, kind=status),
        empty=f"No {named}deliveries{where}.",
        next=[f"momo deliveries show {found[0]['id']}"] if fail_if_any and found else [],
        exit_code=exit_codes.FINDINGS if fail_if_any and found else exit_codes.OK,
        faults=list_faults(reply, f"{named}delivery", f"{named}deliveries", wanted=fail_if_any),
    )


def _event(name: str | None) -> str | None:
    """Return the event kind, which may be typed without `transaction.`; fail (exit 2) if there is none."""
    if name is None:
        return None
    kind = f"transaction.{name.lower().removeprefix('transaction.')}"
    if kind not in set(EventKind):
        known = ", ".join(each.removeprefix("transaction.") for each in EventKind)
        raise usage(f"--event: {name!r} is not one of {known}")
    return kind


def _checked(status: str | None) -> str | None:
    """Return the status in lower case; fail (exit 2) if there is no such status."""
    if status is None:
        return None
    if status.lower() not in set(DeliveryStatus):
        raise usage(f"--status: {status!r} is not one of {', '.join(DeliveryStatus)}")
    return status.lower()


@command("deliveries watch", view=_WATCH_VIEW)
def watch(
    client: Client,
    terminal: Terminal,
    endpoint: str | None = OF_ENDPOINT,
    status: str | None = _STATUS,
    since: str | None = SINCE_EVENT,
) -> Answer:
    """Each end and each failed attempt is one line, until Ctrl-C. Failed attempts that will be repeated are polled every
    15 seconds. --json writes one JSON document per line:
    {"type":"item","event":"delivery.delivered","id":...,"data":{the delivery}}.

    Examples:
        momo deliveries watch
        momo deliveries watch --endpoint 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --status failed
    """
    status = _checked(status)
    of_endpoint = None if endpoint is None else endpoint_id(client, endpoint)
    if terminal.human:
        terminal.note("Watching. Ctrl-C ends it.")
    rows = (
        row
        for row in _items(client, terminal, of_endpoint, since)
        if of_endpoint in (None, row["data"].get("endpoint_id"))
        and status in (None, row["data"].get("status"))
    )
    return Answer(rows=rows, stream=True)


def _when(row: Row) -> object:
    data = row["data"]
    return row.get("at") or data.get("delivered_at") or data.get("failed_at")


def _items(
    client: Client, terminal: Terminal, endpoint: str | None, since: str | None
) -> Iterator[dict[str, Any]]:
    # Attempts that failed before the watch began are not shown.
    attempts = {row["id"]: row["attempt_count"] for row in _retrying(client, endpoint)}
    only = [] if endpoint is None else ["--endpoint", endpoint]
    resume = shlex.join(["momo", "deliveries", "watch", *only])
    for event in follow_events(client, None, since, resume=resume):
        if event is not None and event.kind.startswith("delivery."):
            delivery_id = str(at(event.data, "details.delivery_id"))
            # If it is erased already, the event's own data stand for it.
            data = client.find(path_of(Path.DELIVERY, id=delivery_id)) or {
                "id": delivery_id,
                "endpoint_id": event.data.get("endpoint_id"),
                "transaction_id": event.data.get("transaction_id"),
                "event": at(event.data, "details.event"),
                "response_status_code": at(event.data, "details.code"),
            }
            when = event.data.get("at")
            yield {"event": event.kind, "id": event.id, "at": when, "data": data}
        if event is not None:
            continue
        found = _retrying(client, endpoint)
        now = terminal.now().isoformat()
        for row in found:
            if attempts.get(row["id"]) != row["attempt_count"]:
                yield {"event": "delivery.retrying", "id": None, "at": now, "data": row}
        attempts = {row["id"]: row["attempt_count"] for row in found}


def _retrying(client: Client, endpoint: str | None) -> list[dict[str, Any]]:
    """Return the deliveries that wait for a retry; none while the daemon does not run."""
    query = {"endpoint_id": endpoint, "status": DeliveryStatus.RETRYING, "kind": "all"}
    try:
        found: list[dict[str, Any]] = client.get(Path.DELIVERIES, **query, limit=_PAGE).data or []
    except Failure as failure:
        if failure.http_status and failure.http_status < 500:
            raise
        return []
    return found


@command("deliveries show", view=DELIVERY_VIEW)
def show(
    client: Client,
    terminal: Terminal,
    delivery: str = _DELIVERY,
    payload: bool = PAYLOAD,
    attempts: bool = flag("Also each attempt."),
) -> Answer:
    """It shows the endpoint, the response and the next attempt.

    Examples:
        momo deliveries show 4c6f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --payload --attempts
    """
    delivery = id_of(client, DELIVERIES, delivery)
    reply = client.get(path_of(Path.DELIVERY, id=delivery))
    shown = delivery_lines(reply.data, terminal)
    if attempts and terminal.human:
        every = client.get(path_of(Path.DELIVERY_ATTEMPTS, id=delivery))
        shown += attempt_lines(every.data, terminal)
    body = [dumps(reply.data.get("payload"))] if payload else []
    next_ = [f"momo deliveries attempts {clean(reply.data.get('id'))}"]
    if reply.data.get("status") in ("delivered", "failed"):
        next_.append(f"momo deliveries redeliver {clean(reply.data.get('id'))}")
    return Answer(*reply.parts, lines=shown, verbatim=body, next=next_)


@command("deliveries attempts", view=_ATTEMPT_VIEW)
def attempts(
    client: Client,
    terminal: Terminal,
    delivery: str = _DELIVERY,
    limit: int = LIMIT,
    offset: int = OFFSET,
) -> Answer:
    """The attempts of all its runs are listed, oldest first.

    Examples:
        momo deliveries attempts 4c6f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6
    """
    path = path_of(Path.DELIVERY_ATTEMPTS, id=id_of(client, DELIVERIES, delivery))
    reply = client.get(path, limit=limit, offset=offset)
    lines = attempt_lines(reply.data or [], terminal)
    return Answer(*reply.parts, lines=lines, empty="No attempt yet.")


def _is_one(ids: Sequence[str]) -> bool:
    return len(ids) == 1 and ids[0].strip() != "-"


@command(
    "deliveries redeliver",
    view=lambda *, ids, dry_run, **_: (
        DELIVERY_VIEW if dry_run or _is_one(ids or ()) else OUTCOME_VIEW
    ),
)
def redeliver(
    client: Client,
    terminal: Terminal,
    ids: list[str] | None = IDS,
    failed: bool = flag("All failed deliveries of --endpoint."),
    endpoint: str | None = option("ID", "With --failed."),
    since: str | None = option("--from", "With --failed: from this time."),
    until: str | None = option("--to", "With --failed: last day, or the time of the end."),
    dry_run: bool = DRY_RUN,
) -> Answer:
    """Delivered and failed ones can be sent again. Each keeps its webhook id, so that a receiver recognises a webhook that
    it had already. Name them by id, or take all failed deliveries of an endpoint with --failed --endpoint. With
    --dry-run nothing is sent. Exit 9: some were refused.

    Examples:
        momo deliveries redeliver --failed --endpoint b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --dry-run
        momo deliveries list --status failed -o id | momo deliveries redeliver -
    """
    if bool(ids) == failed:
        raise usage("name the deliveries, or take them with --failed --endpoint ID")
    if failed and endpoint is None:
        raise usage("--failed needs --endpoint ID")
    if not failed and (endpoint or since or until or dry_run):
        raise usage("--endpoint, --from, --to and --dry-run go with --failed")
    if ids and _is_one(ids):
        delivery = id_of(client, DELIVERIES, ids[0])
        reply = client.post_once(path_of(Path.REDELIVER, id=delivery))
        return Answer(
            *reply.parts,
            lines=["It will be sent again.", *delivery_lines(reply.data, terminal)],
            notes=warnings_of(reply.body),
            next=[f"momo deliveries show {delivery} --attempts"],
        )
    if endpoint is None:
        named = ids_of(client, DELIVERIES, typed_ids(ids or (), terminal))
        return _redeliver(client, terminal, named)
    query = {
        "endpoint_id": endpoint_id(client, endpoint),
        "status": "failed",
        **period(since, until, terminal),
    }
    rows = list(client.rows(Path.DELIVERIES, query, page=_PAGE))[::-1]  # oldest first
    if dry_run:
        return Answer(
            rows=rows,
            lines=[f"{len(rows)} failed deliveries would be sent again."],
            empty="No failed deliveries.",
            stream=True,
            summary=True,
        )
    question = f"Send {len(rows)} failed deliveries again?"
    if rows and terminal.human and not terminal.confirm(question):
        return unchanged()
    return _redeliver(client, terminal, [str(row.get("id")) for row in rows])


def _redeliver(client: Client, terminal: Terminal, ids: list[str]) -> Answer:
    def send(delivery: str) -> dict[str, Any]:
        client.post_once(path_of(Path.REDELIVER, id=delivery))
        return {}

    outcomes = one_by_one(ids, send)
    work = Batch(outcomes, len(ids), "Sending", "requeued")
    return run_batch(terminal, work, ("momo deliveries list",))


@command("deliveries curl", view=view_of("url headers body", id="url"))
def curl(
    client: Client,
    delivery: str = _DELIVERY,
    url: str | None = option("The address; default: the endpoint's, if it is an https address."),
) -> Answer:
    """The command sends the delivery again, with a signature of this moment. A verifying receiver accepts it for five
    minutes. It does not contain the secret. --url sends it elsewhere, such as to a server on your computer. momo itself
    sends nothing, and its log of the delivery does not change.

    Examples:
        momo deliveries curl 4c6f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --url http://127.0.0.1:3000/hook | sh
    """
    path = path_of(Path.LOCAL_DELIVERY_SIGNED, id=id_of(client, DELIVERIES, delivery))
    reply = client.call("POST", path)
    address = url or str(reply.data["url"])
    if not address.startswith(("http://", "https://")):
        kind = address.partition(":")[0]
        why = f"the endpoint is {kind}: on this machine, which curl cannot reach; name an address with --url"
        again = f"momo deliveries curl {delivery} --url http://127.0.0.1:3000/hook"
        raise usage(why, again)
    text = curl_command(reply.data, address)
    return Answer(*reply.parts, verbatim=text.splitlines(), plain=text)


def curl_command(signed: dict[str, Any], url: str) -> str:
    """Return the command; each value is quoted as one argument of the shell."""
    parts = ["curl --silent --show-error --include --request POST", "--globoff"]
    headers = [f"{name}: {value}" for name, value in signed["headers"].items()]
    parts += [f"--header {shlex.quote(header)}" for header in headers]
    # --data-raw, because --data would read a file where the text begins with @.
    parts += [f"--data-raw {shlex.quote(str(signed['body']))}", f"--url {shlex.quote(url)}"]
    return " \\\n  ".join(parts)


_SECRETS_MAX: Final = 20


@command("deliveries verify", view=view_of("valid timestamp age_s fresh problems", id="valid"))
def verify(
    terminal: Terminal,
    request: str = argument("FILE|-", "The request, or with --headers only its body."),
    secret_file: str = option("FILE", "The signing secret; several: one per line.", default=...),
    headers: str | None = option("FILE", "The header lines, `Name: value`."),
    at: int | None = option("SECONDS", "When it was received, in Unix seconds; default: now."),
) -> Answer:
    """Use it for a webhook that your server got. If it is not genuine, the usual mistake that explains it is named. The
    file holds the request as it was received: header lines, an empty line, then the exact bytes of the body. Or give
    the body alone, and the headers with --headers. Needs no daemon and no shop. Exit 6: a receiver must reject it.

    Examples:
        momo deliveries verify request.txt --secret-file hook.secret
        momo deliveries verify body.json --headers headers.txt --secret-file hook.secret --at 1767225610
    """
    body = _bytes(terminal, request, "FILE")
    if headers is None:
        head, body = _split(body)
    else:
        head = _bytes(terminal, headers, "--headers").decode("utf-8", "replace")
    secrets = _bytes(terminal, secret_file, "--secret-file").decode("utf-8", "replace")
    given = {
        "headers": _headers(head),
        "body": base64.b64encode(body).decode(),
        "secrets": secrets.splitlines()[:_SECRETS_MAX],
        "at": at,
    }
    done = run_verb(terminal, "verify", stdin=dumps(given))
    code = exit_codes.OK if done.data["valid"] else exit_codes.FINDINGS
    found = [terminal.style("✗ not verified", "red")]
    if done.data["valid"]:
        found = [f"{terminal.style('✓ genuine', 'green')}, signed {done.data['age_s']} s ago"]
    elif done.data["fits"]:
        found = [terminal.style("! genuine, but not fresh", "yellow")]
    found += [f"  {one['scheme']}: secret {one['secret']}" for one in done.data["fits"]]
    found += [f"  {clean(problem)}" for problem in done.data["problems"]]
    return Answer(*done.parts, lines=found, exit_code=code)


def _bytes(terminal: Terminal, path: str, name: str) -> bytes:
    if path == "-":
        return terminal.stdin.buffer.read()
    with file_errors(f"{name}: {path}"), open(path, "rb") as file:  # noqa: PTH123  # pathlib is not needed here
        return file.read()


def _split(raw: bytes) -> tuple[str, bytes]:
    """Split headers and body at the first empty line."""
    for end in (b"\r\n\r\n", b"\n\n"):
        head, found, body = raw.partition(end)
        if found:
            return head.decode("utf-8", "replace"), body
    raise usage("FILE has no empty line between headers and body; or give --headers FILE")


def _headers(text: str) -> dict[str, str]:
    """Return the header lines. A request line before them is left out: it has a space before its first colon."""
    found = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and " " not in name.strip():
            found[name.strip()] = value.strip()
    return found
