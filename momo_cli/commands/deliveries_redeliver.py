"""Send deliveries again that have ended. Each keeps its webhook id, so a receiver that had it knows it.

Name them by id, or take every failed one of an endpoint with --failed --endpoint. With --dry-run
nothing is sent. Exit 9: some were refused.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import exits, system
from momo_cli.answer import Answer, Call
from momo_cli.batch import OUTCOME, Work, given, one_by_one, told
from momo_cli.client import Client, path_of
from momo_cli.deliveries import VIEW, lines
from momo_cli.errors import usage
from momo_cli.naming import DELIVERIES, endpoint_id, id_of, ids_of
from momo_cli.terminal import Terminal
from momo_cli.text import warnings_of
from momo_cli.times import moment

EXAMPLES: Final = """\
  momo deliveries redeliver 4c6f8e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6
  momo deliveries redeliver --failed --endpoint b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --dry-run
  momo deliveries list --status failed -o id | momo deliveries redeliver -
"""
_PAGE: Final = 200
_LOOK: Final = ("momo deliveries list",)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo deliveries redeliver`."""

    ids: tuple[str, ...]
    endpoint: str | None
    since: str | None
    until: str | None
    dry_run: bool


def command(  # one argument per flag
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="Which; - reads ids from stdin.")
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Every failed one of --endpoint.")
    ] = False,
    endpoint: Annotated[str | None, typer.Option(metavar="ID", help="With --failed.")] = None,
    since: Annotated[str | None, typer.Option("--from", help="With --failed: from then.")] = None,
    until: Annotated[str | None, typer.Option("--to", help="With --failed: until then.")] = None,
    dry_run: Annotated[
        bool, typer.Option("-n", "--dry-run", help="Say which, send nothing.")
    ] = False,
) -> Call:
    """Read the flags."""
    if bool(ids) == failed:
        raise usage("name the deliveries, or take them with --failed --endpoint ID")
    if failed and endpoint is None:
        raise usage("--failed needs --endpoint ID")
    if not failed and (endpoint or since or until or dry_run):
        raise usage("--endpoint, --from, --to and --dry-run go with --failed")
    options = Options(tuple(ids or ()), endpoint, since, until, dry_run)
    one = len(options.ids) == 1 and options.ids[0].strip() != "-"
    return Call(run, options, VIEW if one or dry_run else OUTCOME)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Send one again, or many one after the other."""
    if options.endpoint is not None:
        options = replace(options, endpoint=endpoint_id(client, options.endpoint))
    if len(options.ids) == 1 and options.ids[0].strip() != "-":
        return _one(client, terminal, id_of(client, DELIVERIES, options.ids[0].strip()))
    if options.endpoint is None:
        ids = ids_of(client, DELIVERIES, given(options.ids, terminal))
        return _all(client, terminal, ids)
    rows = _failed(client, terminal, options)
    if options.dry_run:
        return Answer(
            rows=rows,
            lines=[f"{len(rows)} failed deliveries would be sent again."],
            empty="" if rows else "No failed deliveries.",
            stream=True,
            summary=True,
        )
    if rows and terminal.human and not terminal.flags.yes:
        question = f"Send {len(rows)} failed deliveries again? [y/N] "
        if terminal.ask(question, "--yes").lower() not in ("y", "yes"):
            return Answer(lines=["Nothing was changed."], exit_code=exits.CANCELLED)
    ids = [str(row.get("id")) for row in rows]
    return _all(client, terminal, ids)


def _all(client: Client, terminal: Terminal, ids: list[str]) -> Answer:
    outcomes = one_by_one(ids, lambda each: _send(client, each))
    return told(terminal, Work(outcomes, len(ids), "Sending", "requeued"), _LOOK)


def _one(client: Client, terminal: Terminal, delivery: str) -> Answer:
    reply = client.call(
        "POST", path_of(Path.REDELIVER, id=delivery), idempotency_key=system.new_key()
    )
    return Answer(
        document=reply.text,
        rows=[reply.data],
        lines=["It will be sent again.", *lines(reply.data, terminal)],
        notes=warnings_of(reply.body),
        next=[f"momo deliveries show {delivery} --attempts"],
    )


def _send(client: Client, delivery: str) -> dict[str, Any]:
    path = path_of(Path.REDELIVER, id=delivery)
    client.call("POST", path, idempotency_key=system.new_key())
    return {}


def _failed(client: Client, terminal: Terminal, options: Options) -> list[dict[str, Any]]:
    query = {
        "endpoint_id": options.endpoint,
        "status": "failed",
        "from": _moment(options.since, "--from", terminal),
        "to": _moment(options.until, "--to", terminal),
    }
    rows: list[dict[str, Any]] = []
    while True:
        found = client.get(Path.DELIVERIES, **query, limit=_PAGE, offset=len(rows)).data or []
        rows += found
        if len(found) < _PAGE:
            return rows[::-1]  # oldest first


def _moment(text: str | None, flag: str, terminal: Terminal) -> str | None:
    return None if text is None else moment(text, flag, terminal.now(), terminal.zone)
