"""Give a number the payments that came to its SIM while the SIM had no number (the last 30 days).

Nothing is sent by it, unless --replay-to names who should have them. Else replay the window: the command
for that is printed. Exit 10: you did not say yes.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import exits, system
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, Reply, path_of
from momo_cli.errors import Failure
from momo_cli.terminal import Terminal
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo claim 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --dry-run
  momo claim 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --yes
  momo claim 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --replay-to b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
"""
VIEW: Final = View(
    fields=(Field("claimed"), Field("dry_run"), Field("from"), Field("to")), id="claimed"
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo claim`."""

    method: str
    dry_run: bool
    replay_to: str | None


def command(
    method: Annotated[
        str, typer.Argument(metavar="METHOD", help="The number: momo methods list shows them.")
    ],
    dry_run: Annotated[bool, typer.Option("-n", "--dry-run", help="Only count.")] = False,
    replay_to: Annotated[
        str | None, typer.Option(metavar="ID", help="Then send them to this address.")
    ] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(method.strip(), dry_run, replay_to), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Count, ask, claim."""
    path = path_of(Path.CLAIM_UNPLACED, id=options.method)
    if options.dry_run or (not terminal.flags.yes and terminal.can_ask()):
        seen = client.call("POST", path, body={"dry_run": True})
        count = seen.body.get("claimed") or 0
        if options.dry_run:
            return _answer(seen, [f"{_payments(count)} would be claimed."], options, done=False)
        if not count:
            return _answer(seen, ["There is nothing to claim."], options, done=False)
        asked = f"Claim {_payments(count)} for this number? [y/N] "
        if terminal.ask(asked, "--yes").lower() not in ("y", "yes"):
            said = _answer(seen, ["Nothing was changed."], options, done=False)
            return Answer(said.document, said.rows, said.lines, exit_code=exits.CANCELLED)
    reply = client.call("POST", path, idempotency_key=system.new_key())
    count = reply.body.get("claimed") or 0
    line = f"{terminal.style('✓', 'green')} Claimed {_payments(count)}."
    if options.replay_to is None or not count:
        return _answer(reply, [line], options, done=True)
    return _sent_on(client, terminal, reply, line, options.replay_to)


def _sent_on(
    client: Client, terminal: Terminal, claimed: Reply, line: str, endpoint: str
) -> Answer:
    """Queue what was claimed for an endpoint; the claim stays done if that is refused.

    Raises:
        Failure: The replay was refused; its hint is how to repeat the replay alone.
    """
    since, until = claimed.body["from"], claimed.body["to"]
    again = f"momo replay --endpoint {endpoint} --from {since} --to {until}"
    try:
        sent = client.call(
            "POST",
            Path.REPLAY,
            body={"endpoint_id": endpoint, "from": since, "to": until},
            idempotency_key=system.new_key(),
        ).body
    except Failure as failure:
        terminal.complain(terminal.plain(line))
        failure.next = (again,)
        raise
    number = int(sent.get("enqueued") or 0)
    row = {name: claimed.body.get(name) for name in ("claimed", "dry_run", "from", "to")}
    return Answer(
        document=dumps({**claimed.body, "replay": sent}),
        rows=[row],
        lines=[line, f"{terminal.style('✓', 'green')} {_payments(number)} queued for {endpoint}."],
        notes=["There is more than one call takes: repeat the replay."]
        if sent.get("has_more")
        else [],
        next=[again] if sent.get("has_more") else [f"momo deliveries list --endpoint {endpoint}"],
    )


def _payments(count: int) -> str:
    return f"{count} payment" if count == 1 else f"{count} payments"


def _answer(reply: Reply, lines: list[str], options: Options, *, done: bool) -> Answer:
    row: dict[str, Any] = {
        name: reply.body.get(name) for name in ("claimed", "dry_run", "from", "to")
    }
    todo = []
    if row["claimed"]:
        window = f"--from {row['from']} --to {row['to']}"
        todo = [
            f"momo replay --endpoint ID {window}" if done else f"momo claim {options.method} --yes"
        ]
    return Answer(document=reply.text, rows=[row], lines=lines, next=todo)
