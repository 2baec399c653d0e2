"""Send an endpoint the payments of a window that it should have had and has not.

What it has, or is getting, is skipped, so windows may overlap and a repeat sends nothing twice: no
need to remember where the last one ended. On a terminal the plan is shown first. One call queues
1000 payments and covers 31 days at most; --chunk goes on until all is queued, a line for each call.
Exit 9: there was more than one call takes, and --chunk was not given.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import exits, system
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, Reply, path_of
from momo_cli.naming import endpoint_id
from momo_cli.terminal import Terminal
from momo_cli.text import clean, warnings_of
from momo_cli.times import moment, parse_stamp, stamp
from momo_cli.words import clock

EXAMPLES: Final = """\
  momo replay --endpoint shop.example --from today --to now
  momo replay --endpoint b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --from 25h --to now --quiet
  momo replay --endpoint b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --from 60d --to now --chunk --yes
"""
_DAYS_MAX: Final = 31
_WAITS: Final = ("pending", "retrying")
VIEW: Final = View(
    fields=tuple(
        Field(name)
        for name in (
            "enqueued",
            "skipped_delivered",
            "skipped_in_flight",
            "skipped_failed",
            "skipped_not_claimed",
            "skipped_reversed",
            "skipped_historical",
            "already_delivered_elsewhere",
            "has_more",
            "dry_run",
        )
    ),
    id="enqueued",
)
_SKIPPED: Final = (
    ("skipped_delivered", "it has"),
    ("skipped_in_flight", "are on their way"),
    ("skipped_failed", "were given up"),
    ("skipped_not_claimed", "its rules do not claim"),
    ("skipped_reversed", "were taken back by the network"),
    ("skipped_historical", "are older than their line"),
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo replay`."""

    endpoint: str
    since: str
    until: str
    dry_run: bool
    without_failed: bool
    historical: bool
    chunk: bool
    wait: bool


def command(  # noqa: PLR0913, PLR0917  # one argument per flag
    endpoint: Annotated[
        str, typer.Option(metavar="ENDPOINT", help="Who should have them: its label, host or id.")
    ],
    since: Annotated[str, typer.Option("--from", help="From then: 25h, today, 2026-11-20.")],
    until: Annotated[str, typer.Option("--to", help="Until then.")] = "now",
    dry_run: Annotated[bool, typer.Option("-n", "--dry-run", help="Count, queue nothing.")] = False,
    without_failed: Annotated[
        bool, typer.Option("--without-failed", help="Leave out what was given up.")
    ] = False,
    historical: Annotated[
        bool, typer.Option("--include-historical", help="Also what is older than its line.")
    ] = False,
    chunk: Annotated[
        bool, typer.Option("--chunk", help="As many calls as it takes; --json writes a line each.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until each was delivered or given up.")
    ] = False,
) -> Call:
    """Read the flags."""
    options = Options(
        endpoint.strip(), since, until, dry_run, without_failed, historical, chunk, wait
    )
    return Call(run, options, VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Show the plan, ask, and queue."""
    since = moment(options.since, "--from", terminal.now(), terminal.zone)
    until = moment(options.until, "--to", terminal.now(), terminal.zone)
    options = replace(options, endpoint=endpoint_id(client, options.endpoint))
    windows = _windows(since, until) if options.chunk else [(since, until)]
    if terminal.human and not (options.dry_run or terminal.flags.yes):
        where = clean(client.get(path_of(Path.ENDPOINT, id=options.endpoint)).data.get("url"))
        plan = list(_calls(client, options, windows, dry_run=True))
        total = _sum(plan)
        when = f"{clock(since, terminal)} to {clock(until, terminal)}"
        terminal.complain(f"Replay to {where}, {when}:")
        for line in _lines(total, "will be sent"):
            terminal.complain(line)
        if total["enqueued"] == 0:
            return replace(_answer(terminal, options, plan, total), lines=["Nothing to send."])
        if terminal.ask("Continue? [y/N] ", "--yes").lower() not in ("y", "yes"):
            return Answer(lines=["Nothing was changed."], exit_code=exits.CANCELLED)
    replies = list(_calls(client, options, windows, dry_run=options.dry_run))
    return _answer(terminal, options, replies, _waited(client, options, windows, _sum(replies)))


def _calls(
    client: Client, options: Options, windows: list[tuple[str, str]], *, dry_run: bool
) -> Iterator[Reply]:
    """Make the calls of each window; without --chunk there is one."""
    for since, until in windows:
        body: dict[str, Any] = {"endpoint_id": options.endpoint, "from": since, "to": until}
        if dry_run:
            body["dry_run"] = True
        if options.without_failed:
            body["include_failed"] = False
        if options.historical:
            body["include_historical"] = True
        while True:
            reply = client.call("POST", Path.REPLAY, body=body, idempotency_key=system.new_key())
            yield reply
            if not (options.chunk and reply.body.get("has_more")):
                break
            body["cursor"] = reply.body.get("next_cursor")


def _windows(since: str, until: str) -> list[tuple[str, str]]:
    """Cut a long window into ones that a call takes."""
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
        for field in VIEW.fields
    }
    last = replies[-1].body
    return {**total, "has_more": bool(last.get("has_more")), "dry_run": bool(last.get("dry_run"))}


def _waited(
    client: Client, options: Options, windows: list[tuple[str, str]], total: dict[str, Any]
) -> dict[str, Any]:
    """Wait until nothing that was queued is on its way any more, and say what came of it."""
    if not options.wait or options.dry_run or not total["enqueued"]:
        return total
    limit_s = client.timeout_s
    waited_s = 0.0
    while True:
        states = [
            entry["state"]
            for since, until in windows
            for entry in client.get(
                Path.GAP,
                **{"endpoint_id": options.endpoint, "from": since, "to": until},
                limit=1000,
            ).data
            or ()
        ]
        waiting = sum(each in _WAITS for each in states)
        if not waiting or (limit_s is not None and waited_s >= limit_s):
            break
        client.pause(0.5)
        waited_s += 0.5
    failed = sum(each == "failed" for each in states)
    delivered = max(0, total["enqueued"] - waiting - failed)
    return {**total, "delivered": delivered, "failed": failed, "waiting": waiting}


def _answer(
    terminal: Terminal, options: Options, replies: list[Reply], total: dict[str, Any]
) -> Answer:
    verb = "would be sent" if total["dry_run"] else "queued"
    told = _lines(total, verb)
    if "delivered" in total:
        told.append(
            f"  {total['delivered']} delivered, {total['failed']} given up, {total['waiting']} still waiting"
        )
    more = total["has_more"] and not options.chunk
    from momo_cli.values import dumps  # noqa: PLC0415  # as every document is written

    document = replies[-1].text
    if "delivered" in total:
        document = dumps(
            {
                **replies[-1].body,
                **{name: total[name] for name in ("delivered", "failed", "waiting")},
            }
        )
    exit_code = exits.OK
    if more:
        exit_code = exits.PARTIAL
    elif total.get("waiting"):
        exit_code = exits.PENDING
    elif total.get("failed"):
        exit_code = exits.PARTIAL
    warned = [note for reply in replies[-1:] for note in warnings_of(reply.body)]
    faults = [
        f"{total[name]} {words}"
        for name, words in (("failed", "given up"), ("waiting", "still waiting"))
        if total.get(name)
    ]
    if more:
        faults.insert(0, "there is more than one call takes: repeat it, or add --chunk")
        warned.append("There is more than one call takes: repeat it, or add --chunk.")
    return Answer(
        document=document,
        rows=[reply.body for reply in replies] if options.chunk else [total],
        lines=told,
        notes=warned,
        next=[f"momo deliveries list --endpoint {options.endpoint}"],
        exit_code=exit_code,
        faults=None if total["dry_run"] else faults,
        stream=options.chunk and not terminal.human,
        summary=True,
    )


def _lines(total: dict[str, Any], verb: str) -> list[str]:
    number = total["enqueued"]
    told = [f"{number} {'payment' if number == 1 else 'payments'} {verb}."]
    told += [f"  {total[name]} {words}" for name, words in _SKIPPED if total[name]]
    if total["already_delivered_elsewhere"]:
        told.append(
            f"  {total['already_delivered_elsewhere']} of them another endpoint has had: "
            "receivers that share a till must tell them by data.transaction_id"
        )
    return told
