"""Send many webhooks again that were given up, a hundred at a time.

Name them by id, read ids from stdin with -, or take --all of them, narrowed by --endpoint and
--reason (4xx, timeout, or a cause as `momo dead-letters list` names it). Exit 9: some were refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import exits, system
from momo_cli.answer import Answer, Call
from momo_cli.batch import OUTCOME, Work, given, told
from momo_cli.client import Client
from momo_cli.dead_letters import can_replay, fits, grouped
from momo_cli.errors import usage
from momo_cli.naming import DEAD_LETTERS, endpoint_id, ids_of
from momo_cli.terminal import Terminal
from momo_cli.text import warnings_of

EXAMPLES: Final = """\
  momo dead-letters replay-batch --all --endpoint b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
  momo dead-letters replay-batch --all --reason timeout --yes
  momo dead-letters list -o id | momo dead-letters replay-batch -
"""
_BATCH: Final = 100
_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo dead-letters replay-batch`."""

    ids: tuple[str, ...]
    every: bool
    endpoint: str | None
    reason: str | None
    dry_run: bool


def command(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="Which; - reads ids from stdin.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All that wait.")] = False,
    endpoint: Annotated[str | None, typer.Option(metavar="ID", help="With --all.")] = None,
    reason: Annotated[
        str | None, typer.Option(metavar="WHY", help="With --all: 4xx, timeout, gone...")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("-n", "--dry-run", help="Say which, send nothing.")
    ] = False,
) -> Call:
    """Read the flags."""
    if bool(ids) == every:
        raise usage("name the dead letters, or take them with --all")
    if not every and (endpoint or reason or dry_run):
        raise usage("--endpoint, --reason and --dry-run go with --all")
    return Call(run, Options(tuple(ids or ()), every, endpoint, reason, dry_run), OUTCOME)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Find them, ask, and send them again."""
    if options.endpoint is not None:
        options = replace(options, endpoint=endpoint_id(client, options.endpoint))
    if not options.every:
        ids = ids_of(client, DEAD_LETTERS, given(options.ids, terminal))
        return _send(client, terminal, ids)
    rows = _waiting(client, options)
    if not rows:
        return Answer(empty="No dead letters.", stream=True, summary=True)
    if options.dry_run or (terminal.human and not terminal.flags.yes):
        for line in grouped(rows, terminal):
            terminal.note(line)
    if options.dry_run:
        plan = [{"id": row.get("id"), "ok": None, "code": row.get("cause")} for row in rows]
        said = f"{len(rows)} would be sent again."
        return Answer(rows=plan, lines=[said], stream=True, summary=True)
    if terminal.human and not terminal.flags.yes:
        question = f"Send these {len(rows)} again? [y/N] "
        if terminal.ask(question, "--yes").lower() not in ("y", "yes"):
            return Answer(lines=["Nothing was changed."], exit_code=exits.CANCELLED)
    return _send(client, terminal, [str(row.get("id")) for row in reversed(rows)])


def _send(client: Client, terminal: Terminal, ids: list[str]) -> Answer:
    work = Work(_outcomes(client, terminal, ids), len(ids), "Sending", "replayed")
    return told(terminal, work, ("momo deliveries list",))


def _outcomes(client: Client, terminal: Terminal, ids: list[str]) -> Iterator[dict[str, Any]]:
    for begin in range(0, len(ids), _BATCH):
        asked = ids[begin : begin + _BATCH]
        reply = client.call(
            "POST",
            Path.DEAD_LETTERS_REPLAY,
            body={"dead_letter_ids": asked},
            idempotency_key=system.new_key(),
        )
        for note in warnings_of(reply.body):
            terminal.note(note)
        good = {"ok": True, "code": None, "message": None}
        yield from ({"id": each, **good} for each in reply.data["replayed"])
        yield from ({**each, "ok": False} for each in reply.data["failed"])


def _waiting(client: Client, options: Options) -> list[dict[str, Any]]:
    """Return those that are meant and whose endpoint is still there."""
    rows: list[dict[str, Any]] = []
    while True:
        found = (
            client.get(
                Path.DEAD_LETTERS, endpoint_id=options.endpoint, limit=_PAGE, offset=len(rows)
            ).data
            or []
        )
        rows += found
        if len(found) < _PAGE:
            return [row for row in rows if fits(row, options.reason) and can_replay(row)]
