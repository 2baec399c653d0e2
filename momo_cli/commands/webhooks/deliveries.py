"""Commands about deliveries, and the check of a received webhook."""

import base64
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from daemon.wire import DeliveryStatus, EventKind, Mode, Path, receiver_of
from momo_cli import exit_codes
from momo_cli.errors import Failure, known, usage
from momo_cli.frame.command import command
from momo_cli.inputs.ids import DEAD_LETTERS, DELIVERIES, endpoint_id, endpoint_word, id_of, ids_of
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
from momo_cli.inputs.typed_values import check_choice, file_errors, period
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Answer, Field, Head, Row, dumps, unchanged, view_of
from momo_cli.show.batch import OUTCOME_VIEW, Batch, one_by_one, run_batch, typed_ids
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, clock, counted, fact_lines, list_faults, list_heading, money, state, with_test_mark
from momo_cli.socket.client import Client, Reply, path_of
from momo_cli.text import at, clean, warnings_of
from momo_cli.times import parse_stamp, stamp
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
    *(Field(field.name, f"data.{field.name}") for field in DELIVERY_FIELDS if field.name != "event"),
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
    """The newest come first, each with the endpoint's response. Those of the sandbox are listed only with --sandbox, or with
    --endpoint if it is one of the sandbox.

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
    if client.sandbox or endpoint is None:
        query["mode"] = Mode.TEST if client.sandbox else Mode.LIVE
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
    check_choice(kind.partition(".")[2], "--event", [each.removeprefix("transaction.") for each in EventKind])
    return kind


def _checked(status: str | None) -> str | None:
    """Return the status in lower case; fail (exit 2) if there is no such status."""
    found = None if status is None else status.lower()
    check_choice(found, "--status", list(DeliveryStatus))
    return found


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
        if of_endpoint in (None, row["data"].get("endpoint_id")) and status in (None, row["data"].get("status"))
    )
    return Answer(rows=rows, stream=True)


def _when(row: Row) -> object:
    data = row["data"]
    return row.get("at") or data.get("delivered_at") or data.get("failed_at")


def _items(client: Client, terminal: Terminal, endpoint: str | None, since: str | None) -> Iterator[dict[str, Any]]:
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
    client: Client, terminal: Terminal, delivery: str = _DELIVERY, limit: int = LIMIT, offset: int = OFFSET
) -> Answer:
    """The attempts of all its runs are listed, oldest first.

    Examples:
        momo deliveries attempts 4c6f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6
    """
    path = path_of(Path.DELIVERY_ATTEMPTS, id=id_of(client, DELIVERIES, delivery))
    reply = client.get(path, limit=limit, offset=offset)
    lines = attempt_lines(reply.data or [], terminal)
    return Answer(*reply.parts, lines=lines, empty="No attempt yet.")


def _single(ids: Sequence[str] | None) -> str | None:
    """Return the id of a call that names one; None for a list of them, even of one, from stdin."""
    return ids[0] if ids and len(ids) == 1 and ids[0].strip() != "-" else None


@command(
    "deliveries redeliver", view=lambda *, ids, dry_run, **_: DELIVERY_VIEW if dry_run or _single(ids) else OUTCOME_VIEW
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
    if one := _single(ids):
        delivery = id_of(client, DELIVERIES, one)
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
    query = {"endpoint_id": endpoint_id(client, endpoint), "status": "failed", **period(since, until, terminal)}
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


_VIEW: Final = view_of(
    "id delivery_id webhook_id endpoint_id url event transaction_id reason cause error_code",
    "last_status_code attempt_count created_at failed_at replayed_at replay_count resolved_at diagnosis",
    "test dismissed_at notes",
    "amount=payment.amount currency=payment.currency svc_code=payment.svc_code",
)
_SHOWN_MAX: Final = 5
"""Dead letters listed per group; the others are counted."""
_BATCH: Final = 100
_PAGE_DEAD: Final = 500


@command("dead-letters list", view=_VIEW)
def list_dead(
    client: Client,
    terminal: Terminal,
    endpoint: str | None = OF_ENDPOINT,
    include_replayed: bool = flag("Also those sent again or dismissed."),
    limit: int = option("At most N.", default=100, min=1, max=500),
    offset: int = OFFSET,
    fail_if_any: bool = FAIL_IF_ANY,
) -> Answer:
    """Those of the sandbox lose no money: they are listed only with --sandbox, and --fail-if-any does not count them.

    Examples:
        momo dead-letters list
        momo dead-letters list --fail-if-any --quiet
    """
    reply = client.get(
        Path.DEAD_LETTERS,
        endpoint_id=None if endpoint is None else endpoint_id(client, endpoint),
        include_replayed="true" if include_replayed else None,
        mode=Mode.TEST if client.sandbox else Mode.LIVE,
        limit=limit,
        offset=offset,
    )
    rows, total = reply.data or [], at(reply.body, "meta.total")
    more = isinstance(total, int) and offset + len(rows) < total
    return Answer(
        *reply.parts,
        lines=_grouped(rows, terminal),
        empty=_none(sandbox=client.sandbox),
        notes=[f"{total} in all; next: --offset {offset + len(rows)}"] if more else [],
        next=_next(rows),
        exit_code=exit_codes.FINDINGS if fail_if_any and rows else exit_codes.OK,
        faults=list_faults(reply, "webhook was given up", "webhooks were given up", wanted=fail_if_any),
    )


@command("dead-letters show", view=_VIEW)
def show_dead(
    client: Client, terminal: Terminal, letter: str = argument("ID", "The dead letter."), payload: bool = PAYLOAD
) -> Answer:
    """It shows the cause, and the webhook that was not delivered.

    Examples:
        momo dead-letters show 7d0f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --payload
    """
    reply = client.get(path_of(Path.DEAD_LETTER, id=id_of(client, DEAD_LETTERS, letter)))
    row = reply.data
    closed = f"{ago(row.get('dismissed_at'), terminal)}: {clean(row.get('notes'))}"
    facts = (
        ("id", clean(row.get("id"))),
        ("delivery", clean(row.get("delivery_id"))),
        ("webhook", clean(row.get("webhook_id"))),
        ("payment", f"svc_trx_{clean(row.get('transaction_id')).replace('-', '')}{_payment(row)}"),
        ("tries", str(row.get("attempt_count") or 0)),
        ("answer", clean(row.get("last_response_body"))),
        ("sent again", ago(row.get("replayed_at"), terminal)),
        ("closed", closed if row.get("dismissed_at") else ""),
        ("arrived", ago(row.get("resolved_at"), terminal)),
    )
    lines = [
        f"{terminal.style('✗', 'red')} {clean(row.get('event'))} to {clean(row.get('url'))}",
        f"  {clean(row.get('diagnosis'))}",
        *fact_lines(facts, 8),
    ]
    return Answer(*reply.parts, lines=lines, verbatim=[dumps(row.get("payload"))] if payload else (), next=_next([row]))


@command("dead-letters dismiss", view=OUTCOME_VIEW)
def dismiss(
    client: Client,
    terminal: Terminal,
    ids: list[str] | None = IDS,
    notes: str | None = option("Why nobody needs them; kept with each."),
) -> Answer:
    """They leave the list, and checks no longer report them. The webhooks stay failed and can still be replayed. --notes
    is kept with each, as is who closed it. Exit 9: some were refused.

    Examples:
        momo dead-letters dismiss 7d0f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --notes "the till has it by hand"
        momo dead-letters dismiss --sandbox --notes "tests with momo listen"
    """
    if notes is None or not notes.strip():
        raise usage("--notes: say why nobody needs them")
    if not ids and not client.sandbox:
        raise usage("name the dead letters, or take those of the sandbox with --sandbox")
    found = ids_of(client, DEAD_LETTERS, typed_ids(ids or (), terminal))
    if not ids:
        rows = client.rows(Path.DEAD_LETTERS, {"mode": Mode.TEST}, page=_PAGE_DEAD)
        found = [str(row["id"]) for row in rows]
    if not found:
        return Answer(empty=_none(sandbox=True), stream=True, summary=True)

    def close(letter: str) -> dict[str, Any]:
        client.post_once(path_of(Path.DEAD_LETTER_DISMISS, id=letter), {"notes": notes})
        return {}

    work = Batch(one_by_one(found, close), len(found), "Dismissing", "dismissed")
    return run_batch(terminal, work, ("momo dead-letters list",))


@command("dead-letters replay", view=lambda *, ids, **_: _VIEW if _single(ids) else OUTCOME_VIEW)
def replay(
    client: Client,
    terminal: Terminal,
    ids: list[str] | None = IDS,
    every: bool = flag("--all", "All that were not sent again yet."),
    endpoint: str | None = option("ID", "With --all."),
    reason: str | None = option("WHY", "With --all: 4xx, timeout, gone..."),
    dry_run: bool = DRY_RUN,
) -> Answer:
    """The body and the webhook id stay the same; the signature is new. Name them by id, read ids from stdin with -, or take
    --all of them, narrowed by --endpoint and --reason (4xx, timeout, or a cause as in `momo dead-letters list`). Many are
    sent 100 at a time, with one line for each. Exit 9: some were refused.

    Examples:
        momo dead-letters replay 7d0f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6
        momo dead-letters replay --all --endpoint b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
        momo dead-letters list -o id | momo dead-letters replay -
    """
    if bool(ids) == every:
        raise usage("name the dead letters, or take them with --all")
    if not every and (endpoint or reason or dry_run):
        raise usage("--endpoint, --reason and --dry-run go with --all")
    if letter := _single(ids):
        reply = client.post_once(path_of(Path.DEAD_LETTER_REPLAY, id=id_of(client, DEAD_LETTERS, letter)))
        receiver = receiver_of(clean(reply.data.get("url")))
        return Answer(
            *reply.parts,
            lines=[f"{terminal.tick} It will be sent to {receiver} again."],
            notes=warnings_of(reply.body),
            next=[f"momo deliveries show {clean(reply.data.get('delivery_id'))} --attempts"],
        )
    if not every:
        return _send(client, terminal, ids_of(client, DEAD_LETTERS, typed_ids(ids or (), terminal)))
    mode = Mode.TEST if client.sandbox else None if endpoint else Mode.LIVE
    at_one = None if endpoint is None else endpoint_id(client, endpoint)
    found = client.rows(Path.DEAD_LETTERS, {"endpoint_id": at_one, "mode": mode}, page=_PAGE_DEAD)
    rows = [row for row in found if _has_reason(row, reason) and _can_replay(row)]
    if not rows:
        return Answer(empty=_none(sandbox=client.sandbox), stream=True, summary=True)
    if dry_run or (terminal.human and not terminal.flags.yes):
        for line in _grouped(rows, terminal):
            terminal.note(line)
    if dry_run:
        plan = [{"id": row.get("id"), "ok": None, "code": row.get("cause")} for row in rows]
        lines = [f"{len(rows)} would be sent again."]
        return Answer(rows=plan, lines=lines, stream=True, summary=True)
    if terminal.human and not terminal.confirm(f"Send these {len(rows)} again?"):
        return unchanged()
    return _send(client, terminal, [str(row.get("id")) for row in reversed(rows)])


def _send(client: Client, terminal: Terminal, ids: list[str]) -> Answer:
    work = Batch(_outcomes(client, terminal, ids), len(ids), "Sending", "replayed")
    return run_batch(terminal, work, ("momo deliveries list",))


def _outcomes(client: Client, terminal: Terminal, ids: list[str]) -> Iterator[dict[str, Any]]:
    for begin in range(0, len(ids), _BATCH):
        body = {"dead_letter_ids": ids[begin : begin + _BATCH]}
        reply = client.post_once(Path.DEAD_LETTERS_REPLAY, body)
        for note in warnings_of(reply.body):
            terminal.note(note)
        good = {"ok": True, "code": None, "message": None}
        yield from ({"id": each, **good} for each in reply.data["replayed"])
        yield from ({**each, "ok": False} for each in reply.data["failed"])


def _none(*, sandbox: bool) -> str:
    return "No dead letters of the sandbox." if sandbox else "No dead letters."


def _grouped(rows: Sequence[Row], terminal: Terminal) -> list[str]:
    """Return the lines of the list, grouped by endpoint and cause, the newest failure first."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((clean(row.get("url")), clean(row.get("cause"))), []).append(row)
    lines: list[str] = []
    for (_url, cause), members in groups.items():
        first = members[-1]
        since = clock(first.get("failing_since") or first.get("failed_at"), terminal)
        count = terminal.style(f"✗ {len(members)}", "red")
        lines += [
            f"{count}  {receiver_of(clean(first.get('url')))}  {cause.replace('_', ' ')}  since {since}",
            f"   {clean(members[0].get('diagnosis'))}",
            *(_line(row, terminal) for row in members[:_SHOWN_MAX]),
        ]
        if len(members) > _SHOWN_MAX:
            lines.append(f"   … and {len(members) - _SHOWN_MAX} more")
    return lines


def _line(row: Row, terminal: Terminal) -> str:
    replayed = row.get("replayed_at")
    again = f"  sent again {ago(replayed, terminal)}" if replayed else ""
    # Both ends of the id, as tables shorten it; commands take it back.
    id_, cut = clean(row.get("id")), "…" if terminal.symbols else "~"
    return f"   {id_[:8]}{cut}{id_[-6:]}  {ago(row.get('failed_at'), terminal)}{_payment(row)}{again}"


def _payment(row: Row) -> str:
    """Return the amount and the payment code, if they are known."""
    amount = money(at(row, "payment.amount"), at(row, "payment.currency"))
    return "".join(f"  {part}" for part in (amount, clean(at(row, "payment.svc_code"))) if part)


def _next(rows: Iterable[Row]) -> list[str]:
    """Return the commands to type when the cause is mended."""
    left = [row for row in rows if not row.get("replayed_at") and not row.get("dismissed_at")]
    ids = [clean(row.get("id")) for row in left if _can_replay(row)]
    if not ids:
        # Webhooks of a deleted endpoint go to another one by a replay of the time window.
        if not left:
            return ["momo deliveries list"]
        note = '--notes "the endpoint is gone"'
        return ["momo replay --help", f"momo dead-letters dismiss {clean(left[0].get('id'))} {note}"]
    if len(ids) == 1:
        return [f"momo dead-letters replay {ids[0]}"]
    return [f"momo dead-letters show {ids[0]}", "momo dead-letters replay --all"]


def _can_replay(row: Row) -> bool:
    """Return whether the endpoint of a dead letter still exists."""
    return bool(row.get("cause") != "endpoint_deleted")


def _has_reason(row: Row, why: str | None) -> bool:
    """Return whether `why` is the cause, reason or error code of a dead letter, or `4xx` of a permanent 4xx."""
    names = {clean(row.get(name)) for name in ("cause", "reason", "error_code")}
    if at(row, "reason") == "permanent_4xx":
        names.add("4xx")
    return why is None or why in names


_PAYMENTS_PAGE: Final = 1000
_DAYS_MAX: Final = 31
_GAP_VIEW: Final = view_of(
    "reference transaction_id amount currency telco_transaction_id received_at state",
    "delivery_id",
    Head("STATE", lambda row, _: "✗ never sent" if row.get("state") == "missing" else state(row.get("state"))),
    Head("AMOUNT", lambda row, _: money(row.get("amount"), row.get("currency")), right=True),
    Head("PAYMENT", lambda row, _: clean(row.get("telco_transaction_id"))),
    Head("WHEN", lambda row, t: ago(row.get("received_at"), t)),
    Head("DELIVERY", lambda row, _: clean(row.get("delivery_id")) or "—", cut=True),
    id="reference",
)
_SKIPPED: Final = {
    "skipped_delivered": "are delivered already",
    "skipped_in_flight": "are being delivered",
    "skipped_failed": "are dead letters",
    "skipped_not_claimed": "do not match its rules",
    "skipped_reversed": "were reversed by the network",
    "skipped_historical": "are older than their line, or from a file",
}
_REPLAY_VIEW: Final = view_of("enqueued", *_SKIPPED, "already_delivered_elsewhere has_more dry_run", id="enqueued")


def _gap(client: Client, terminal: Terminal, endpoint: str, since: str, until: str, *, every: bool) -> Answer:
    """Return the payments for the endpoint that were never sent or are not delivered."""
    query = {"endpoint_id": endpoint, **period(since, until, terminal), "limit": _PAYMENTS_PAGE}
    reply = client.get(Path.GAP, **query)
    rows = list(_all(client, query, reply.body)) if every else reply.data or []
    looked, more = at(reply.body, "meta.looked_at"), at(reply.body, "meta.has_more")
    delivered = "the only payment for it is" if looked == 1 else f"all of {looked} payments for it are"
    window = f"--endpoint {endpoint} --from {query['from']} --to {query['to']}"
    return Answer(
        reply.text,
        rows,
        heading=f"{len(rows)}{' or more' if more and not every else ''} payments are not delivered",
        empty=f"No gap: {delivered} delivered.",
        notes=["There are more: add --all."] if more and not every else [],
        next=[f"momo replay {window}"] if rows else [],
        exit_code=exit_codes.FINDINGS if rows else exit_codes.OK,
        stream=every and not terminal.human,
        summary=True,
    )


def _all(client: Client, query: dict[str, Any], body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    while True:
        yield from body.get("data") or ()
        cursor = at(body, "meta.next_cursor")
        if cursor is None:
            return
        body = client.get(Path.GAP, **query, cursor=cursor).body


@command("replay", view=lambda *, gap, **_: _GAP_VIEW if gap else _REPLAY_VIEW)
def replay_window(
    client: Client,
    terminal: Terminal,
    endpoint: str = option("ENDPOINT", "The endpoint: its label, host or id.", default=...),
    since: str | None = option("--from", "From this time: 25h, today, 2026-11-20; with --gap 24h if not given."),
    until: str = option("--to", "Last day, or the time of the end.", default="now"),
    dry_run: bool = DRY_RUN,
    gap: bool = flag("Send nothing: list the payments that it has not got."),
    every: bool = flag("--all", "With --gap: all, not only the first 1000."),
    without_failed: bool = flag("Leave out dead letters."),
    historical: bool = flag("--include-historical", "Also old and imported payments that were reconciled."),
    chunk: bool = flag("As many calls as needed; --json writes one line per call."),
    wait: bool = flag("Wait until each is delivered or failed for good."),
) -> Answer:
    """It gets the payments that it should have and has not. Delivered and waiting payments are skipped, so windows may
    overlap and a repeat sends nothing twice: you need not remember where the last window ended. On a terminal the plan
    is shown first. One call queues at most 1000 payments and covers at most 31 days; --chunk repeats the call until all
    are queued, with one line per call. Exit 9: there were more payments than one call takes, and --chunk was not given.

    --gap lists the payments for it that were never sent or are not delivered. Exit 6 when there are any; exit 0 proves
    that none is missing.

    Examples:
        momo replay --endpoint shop.example --from today --to now
        momo replay --endpoint b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --from 60d --to now --chunk --yes
        momo replay --gap --endpoint shop.example
        momo replay --gap --endpoint shop.example --from 7d --quiet || echo look
    """
    if gap:
        return _gap(client, terminal, endpoint_id(client, endpoint), since or "24h", until, every=every)
    if since is None or every:
        raise usage("--all goes with --gap" if every else "--from is missing")
    times = period(since, until, terminal)
    begin, end = times["from"], times["to"]
    body: dict[str, Any] = {"include_failed": False} if without_failed else {}
    if historical:
        body["include_historical"] = True
    windows = _windows(begin, end) if chunk else [(begin, end)]
    body["endpoint_id"] = endpoint = endpoint_id(client, endpoint)
    if terminal.human and not (dry_run or terminal.flags.yes):
        url = client.get(path_of(Path.ENDPOINT, id=endpoint)).data.get("url")
        plan = list(_calls(client, windows, {**body, "dry_run": True}, chunk=chunk))
        total = _sum(plan)
        span = f"{clock(begin, terminal)} to {clock(end, terminal)}"
        for line in (f"Replay to {clean(url)}, {span}:", *_lines(total, "will be sent")):
            terminal.complain(line)
        if total["enqueued"] == 0:
            answer = _answer(client, terminal, endpoint, plan, total, chunk=chunk)
            return replace(answer, lines=["Nothing to send."])
        if not terminal.confirm("Continue?"):
            return unchanged()
    sent = {**body, "dry_run": True} if dry_run else body
    replies = list(_calls(client, windows, sent, chunk=chunk))
    total = _sum(replies)
    if wait and not dry_run and total["enqueued"]:
        total |= _outcome(client, endpoint, windows, total["enqueued"])
    return _answer(client, terminal, endpoint, replies, total, chunk=chunk)


def _calls(client: Client, windows: Sequence[tuple[str, str]], body: dict[str, Any], *, chunk: bool) -> Iterator[Reply]:
    """Make the calls of each window, from its begin to its end; without --chunk there is one."""
    for since, until in windows:
        sent = {**body, "from": since, "to": until}
        while True:
            with known(endpoint=body["endpoint_id"]):
                reply = client.post_once(Path.REPLAY, sent)
            yield reply
            if not (chunk and reply.body.get("has_more")):
                break
            sent["cursor"] = reply.body.get("next_cursor")


def _windows(since: str, until: str) -> list[tuple[str, str]]:
    """Divide a long window into windows of at most 31 days."""
    from datetime import timedelta  # noqa: PLC0415  # only --chunk needs it

    begin, end = parse_stamp(since), parse_stamp(until)
    assert begin is not None
    assert end is not None
    found = []
    while end - begin > timedelta(days=_DAYS_MAX):
        found.append((stamp(begin), stamp(begin + timedelta(days=_DAYS_MAX))))
        begin += timedelta(days=_DAYS_MAX)
    return [*found, (stamp(begin), until)]


def _sum(replies: list[Reply]) -> dict[str, Any]:
    total: dict[str, Any] = {
        field.name: sum(int(reply.body.get(field.name) or 0) for reply in replies) for field in _REPLAY_VIEW.fields
    }
    last = replies[-1].body
    return {**total, "has_more": bool(last.get("has_more")), "dry_run": bool(last.get("dry_run"))}


def _outcome(client: Client, endpoint: str, windows: Sequence[tuple[str, str]], enqueued: int) -> dict[str, int]:
    """Wait until no queued delivery is pending, at most `--timeout`; return the counts of the results."""
    waited_s = 0.0
    while True:
        states: list[Any] = []
        for since, until in windows:
            window = {"endpoint_id": endpoint, "from": since, "to": until}
            found = client.get(Path.GAP, **window, limit=_PAYMENTS_PAGE).data or ()
            states += [row["state"] for row in found]
        waiting = states.count("pending") + states.count("retrying")
        if not waiting or (client.timeout_s is not None and waited_s >= client.timeout_s):
            break
        client.pause(0.5)
        waited_s += 0.5
    failed = states.count("failed")
    delivered = max(0, enqueued - waiting - failed)
    return {"delivered": delivered, "failed": failed, "waiting": waiting}


def _answer(
    client: Client, terminal: Terminal, endpoint: str, replies: list[Reply], total: dict[str, Any], *, chunk: bool
) -> Answer:
    lines = _lines(total, "would be sent" if total["dry_run"] else "queued")
    document = replies[-1].text
    if "delivered" in total:
        outcome = {name: total[name] for name in ("delivered", "failed", "waiting")}
        document = dumps({**replies[-1].body, **outcome})
        counts = f"{total['delivered']} delivered, {total['failed']} failed for good"
        lines.append(f"  {counts}, {total['waiting']} still waiting")
    ends = {"failed": "failed for good", "waiting": "still waiting"}
    faults = [f"{total[name]} {end}" for name, end in ends.items() if total.get(name)]
    notes = warnings_of(replies[-1].body)
    exit_code = exit_codes.PENDING if total.get("waiting") else exit_codes.OK
    if total.get("failed") and not total.get("waiting"):
        exit_code = exit_codes.PARTIAL
    if total["has_more"] and not chunk:
        exit_code = exit_codes.PARTIAL
        faults.insert(0, "there is more than one call takes: repeat it, or add --chunk")
        notes.append("There is more than one call takes: repeat it, or add --chunk.")
    return Answer(
        document,
        [reply.body for reply in replies] if chunk else [total],
        lines=lines,
        notes=notes,
        next=[f"momo deliveries list --endpoint {endpoint_word(client, terminal, endpoint)}"],
        exit_code=exit_code,
        faults=None if total["dry_run"] else faults,
        stream=chunk and not terminal.human,
        summary=True,
    )


def _lines(total: dict[str, Any], verb: str) -> list[str]:
    lines = [f"{counted(total['enqueued'], 'payment')} {verb}."]
    lines += [f"  {total[name]} {reason}" for name, reason in _SKIPPED.items() if total[name]]
    if elsewhere := total["already_delivered_elsewhere"]:
        lines.append(
            f"  {elsewhere} of them are delivered to another endpoint already: "
            "receivers of one till must recognise them by data.telco.provider and data.telco.transaction_id"
        )
    return lines
