"""The command replay: payments that an endpoint has not got."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from daemon.wire import Path
from momo_cli import exit_codes
from momo_cli.errors import Failure, usage
from momo_cli.frame.command import command
from momo_cli.inputs.ids import endpoint_id, endpoint_word
from momo_cli.inputs.parameters import DRY_RUN, flag, option
from momo_cli.inputs.typed_values import period
from momo_cli.show.answer import Answer, Head, View, dumps, unchanged, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, clock, counted, money, state
from momo_cli.socket.client import Client, Reply, path_of
from momo_cli.text import at, clean, warnings_of
from momo_cli.times import parse_stamp, stamp

_PAGE: Final = 1000
_GAP_SINCE: Final = "24h"
_DAYS_MAX: Final = 31
_GAP_VIEW: Final = view_of(
    "reference transaction_id amount currency telco_transaction_id received_at state",
    "delivery_id",
    Head(
        "STATE",
        lambda row, _: "✗ never sent" if row.get("state") == "missing" else state(row.get("state")),
    ),
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
_REPLAY_VIEW: Final = view_of(
    "enqueued", *_SKIPPED, "already_delivered_elsewhere has_more dry_run", id="enqueued"
)


@dataclass(frozen=True, slots=True)
class _Replay:
    """The arguments of a replay."""

    endpoint: str
    windows: Sequence[tuple[str, str]]
    """Begin and end of each, as the API reads them."""
    chunk: bool
    body: dict[str, Any]
    """The members that are the same in each call."""


def _gap(
    client: Client, terminal: Terminal, endpoint: str, since: str, until: str, *, every: bool
) -> Answer:
    """Return the payments for the endpoint that were never sent or are not delivered."""
    query = {
        "endpoint_id": endpoint,
        **period(since, until, terminal),
        "limit": _PAGE,
    }
    reply = client.get(Path.GAP, **query)
    rows = list(_all(client, query, reply.body)) if every else reply.data or []
    looked, more = at(reply.body, "meta.looked_at"), at(reply.body, "meta.has_more")
    delivered = (
        "the only payment for it is" if looked == 1 else f"all of {looked} payments for it are"
    )
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


def _view(*, gap: bool = False, **_: object) -> View:
    return _GAP_VIEW if gap else _REPLAY_VIEW


@command("replay", view=_view)
def replay(
    client: Client,
    terminal: Terminal,
    endpoint: str = option("ENDPOINT", "The endpoint: its label, host or id.", default=...),
    since: str | None = option(
        "--from", "From this time: 25h, today, 2026-11-20; with --gap 24h if not given."
    ),
    until: str = option("--to", "Last day, or the time of the end.", default="now"),
    dry_run: bool = DRY_RUN,
    gap: bool = flag("Send nothing: list the payments that it has not got."),
    every: bool = flag("--all", "With --gap: all, not only the first 1000."),
    without_failed: bool = flag("Leave out dead letters."),
    historical: bool = flag(
        "--include-historical", "Also old and imported payments that were reconciled."
    ),
    chunk: bool = flag("As many calls as needed; --json writes one line per call."),
    wait: bool = flag("Wait until each is delivered or failed for good."),
) -> Answer:
    """Send an endpoint the payments of a time window.

    It gets the payments that it should have and has not. Delivered and waiting payments are skipped, so windows may
    overlap and a repeat sends nothing twice: you need not remember where the last window ended. On a terminal the plan
    is shown first. One call queues at most 1000 payments and covers at most 31 days; --chunk repeats the call until all
    are queued, with one line per call. Exit 9: there were more payments than one call takes, and --chunk was not given.

    --gap lists the payments for it that were never sent or are not delivered. Exit 6 when there are any; exit 0 proves
    that none is missing.

    Examples:
        momo replay --endpoint shop.example --from today --to now
        momo replay --endpoint b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --from 25h --to now --quiet
        momo replay --endpoint b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --from 60d --to now --chunk --yes
        momo replay --gap --endpoint shop.example
        momo replay --gap --endpoint shop.example --from 7d --quiet || echo look
    """
    if gap:
        return _gap(
            client, terminal, endpoint_id(client, endpoint), since or _GAP_SINCE, until, every=every
        )
    if since is None or every:
        raise usage("--all goes with --gap" if every else "--from is missing")
    times = period(since, until, terminal)
    begin, end = times["from"], times["to"]
    body: dict[str, Any] = {"include_failed": False} if without_failed else {}
    if historical:
        body["include_historical"] = True
    windows = _windows(begin, end) if chunk else [(begin, end)]
    wanted = _Replay(endpoint_id(client, endpoint), windows, chunk, body)
    if terminal.human and not (dry_run or terminal.flags.yes):
        url = client.get(path_of(Path.ENDPOINT, id=wanted.endpoint)).data.get("url")
        plan = list(_calls(client, wanted, dry_run=True))
        total = _sum(plan)
        span = f"{clock(begin, terminal)} to {clock(end, terminal)}"
        for line in (f"Replay to {clean(url)}, {span}:", *_lines(total, "will be sent")):
            terminal.complain(line)
        if total["enqueued"] == 0:
            return replace(
                _answer(client, terminal, wanted, plan, total), lines=["Nothing to send."]
            )
        if not terminal.confirm("Continue?"):
            return unchanged()
    replies = list(_calls(client, wanted, dry_run=dry_run))
    total = _sum(replies)
    if wait and not dry_run and total["enqueued"]:
        total |= _outcome(client, wanted, total["enqueued"])
    return _answer(client, terminal, wanted, replies, total)


def _calls(client: Client, wanted: _Replay, *, dry_run: bool) -> Iterator[Reply]:
    """Make the calls of each window; without --chunk there is one."""
    for since, until in wanted.windows:
        body = {"endpoint_id": wanted.endpoint, "from": since, "to": until, **wanted.body}
        if dry_run:
            body["dry_run"] = True
        while True:
            try:
                reply = client.post_once(Path.REPLAY, body)
            except Failure as failure:
                failure.facts.setdefault("endpoint", wanted.endpoint)
                raise
            yield reply
            if not (wanted.chunk and reply.body.get("has_more")):
                break
            body["cursor"] = reply.body.get("next_cursor")


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
        field.name: sum(int(reply.body.get(field.name) or 0) for reply in replies)
        for field in _REPLAY_VIEW.fields
    }
    last = replies[-1].body
    return {**total, "has_more": bool(last.get("has_more")), "dry_run": bool(last.get("dry_run"))}


def _outcome(client: Client, wanted: _Replay, enqueued: int) -> dict[str, int]:
    """Wait until no queued delivery is pending, at most `--timeout`; return the counts of the results."""
    waited_s = 0.0
    while True:
        states: list[Any] = []
        for since, until in wanted.windows:
            window = {"endpoint_id": wanted.endpoint, "from": since, "to": until, "limit": _PAGE}
            states += [row["state"] for row in client.get(Path.GAP, **window).data or ()]
        waiting = states.count("pending") + states.count("retrying")
        if not waiting or (client.timeout_s is not None and waited_s >= client.timeout_s):
            break
        client.pause(0.5)
        waited_s += 0.5
    failed = states.count("failed")
    delivered = max(0, enqueued - waiting - failed)
    return {"delivered": delivered, "failed": failed, "waiting": waiting}


def _answer(
    client: Client, terminal: Terminal, wanted: _Replay, replies: list[Reply], total: dict[str, Any]
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
    if total["has_more"] and not wanted.chunk:
        exit_code = exit_codes.PARTIAL
        faults.insert(0, "there is more than one call takes: repeat it, or add --chunk")
        notes.append("There is more than one call takes: repeat it, or add --chunk.")
    return Answer(
        document,
        [reply.body for reply in replies] if wanted.chunk else [total],
        lines=lines,
        notes=notes,
        next=[
            f"momo deliveries list --endpoint {endpoint_word(client, terminal, wanted.endpoint)}"
        ],
        exit_code=exit_code,
        faults=None if total["dry_run"] else faults,
        stream=wanted.chunk and not terminal.human,
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
