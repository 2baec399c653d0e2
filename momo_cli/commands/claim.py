"""Give a number the payments that came to its SIM while the SIM had no number (the last 30 days).

--dry-run lists them. Nothing is sent by it, unless --replay-to names who should have them. Else replay the
window: the command for that is printed. Exit 10: you did not say yes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import exits, system
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, Reply, path_of
from momo_cli.errors import Failure
from momo_cli.methods import Method
from momo_cli.naming import endpoint_id, method_id
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.values import dumps
from momo_cli.words import clock, money, person, phone

EXAMPLES: Final = """\
  momo claim 0244124567 --dry-run
  momo claim 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --yes
  momo claim 0244124567 --replay-to shop.example
"""
VIEW: Final = View(
    fields=(Field("claimed"), Field("dry_run"), Field("from"), Field("to")), id="claimed"
)
_HINTS_MAX: Final = 3


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo claim`."""

    method: str
    dry_run: bool
    replay_to: str | None


def command(
    method: Method,
    dry_run: Annotated[bool, typer.Option("-n", "--dry-run", help="Only list them.")] = False,
    replay_to: Annotated[
        str | None,
        typer.Option(metavar="ENDPOINT", help="Then send them there: its label, host or id."),
    ] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(method.strip(), dry_run, replay_to), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """List, ask, claim; whoever is meant is known before anything is changed."""
    path = path_of(Path.CLAIM_UNPLACED, id=method_id(client, options.method))
    target = None if options.replay_to is None else endpoint_id(client, options.replay_to)
    if options.dry_run or (not terminal.flags.yes and terminal.can_ask()):
        seen = _asked(client, path, options, body={"dry_run": True})
        count = seen.body.get("claimed") or 0
        found = list(_candidates(seen, terminal))
        if options.dry_run:
            todo = [f"momo claim {options.method} --yes"] if count else []
            said = f"{_counted(seen)} would be claimed."
            return _answer(seen, [*found, said], next_=todo)
        if not count:
            return _answer(seen, ["There is nothing to claim."])
        for line in found:
            terminal.note(line)
        asked = f"Claim {_counted(seen)} for {_number(client, path)}? [y/N] "
        if terminal.ask(asked, "--yes").lower() not in ("y", "yes"):
            return _answer(seen, ["Nothing was changed."], exit_code=exits.CANCELLED)
    reply = _asked(client, path, options, idempotency_key=system.new_key())
    line = f"{terminal.style('✓', 'green')} Claimed {_counted(reply)}."
    if not reply.body.get("claimed"):
        return _answer(reply, [line])
    if target is None:
        line += " They were NOT sent to any webhook yet."
        return _answer(reply, [line], next_=_replays(client, terminal, reply))
    return _sent_on(client, terminal, reply, line, target)


def _asked(client: Client, path: str, options: Options, **how: Any) -> Reply:
    try:
        return client.call("POST", path, **how)
    except Failure as failure:
        failure.facts["method_id"] = options.method
        raise


def _candidates(seen: Reply, terminal: Terminal) -> Iterator[str]:
    """Yield a line for each payment that the dry run names: when, how much, who, its ID."""
    rows = seen.body.get("payments") or ()
    for row in rows:
        when = clock(row.get("received_at"), terminal)
        amount = money(row.get("amount"), row.get("currency"))
        who = person(at(row, "payer.name"), at(row, "payer.phone_number"))
        yield f"  {when:<12}  {amount:>12}  {who}  {clean(row.get('telco_transaction_id'))}"
    more = (seen.body.get("claimed") or 0) - len(rows)
    if rows and more:
        yield f"  and {more} more"


def _number(client: Client, path: str) -> str:
    """Return the number as it is read out, to be asked about."""
    row = client.get(path.rpartition("/")[0]).data or {}
    return phone(row.get("phone_number")) or "this number"


def _replays(client: Client, terminal: Terminal, claimed: Reply) -> list[str]:
    """Return how each endpoint of the shop gets what was claimed."""
    if not terminal.human:
        return []
    rows = client.get(Path.ENDPOINTS).data or ()
    ids = [clean(row.get("id")) for row in rows if not row.get("is_sandbox")]
    return [_replay(each, claimed) for each in ids[:_HINTS_MAX]] or [
        "momo endpoints add https://HOST/PATH"
    ]


def _replay(endpoint: str, claimed: Reply) -> str:
    return (
        f"momo replay --endpoint {endpoint} --from {claimed.body['from']} --to {claimed.body['to']}"
    )


def _sent_on(
    client: Client, terminal: Terminal, claimed: Reply, line: str, endpoint: str
) -> Answer:
    """Queue what was claimed for an endpoint; the claim stays done if that is refused.

    Raises:
        Failure: The replay was refused; its hint is how to repeat the replay alone.
    """
    again = _replay(endpoint, claimed)
    window = {name: claimed.body[name] for name in ("from", "to")}
    try:
        sent = client.call(
            "POST",
            Path.REPLAY,
            body={"endpoint_id": endpoint, **window},
            idempotency_key=system.new_key(),
        ).body
    except Failure as failure:
        terminal.complain(line)
        failure.next = (again,)
        raise
    number = int(sent.get("enqueued") or 0)
    queued = f"{terminal.style('✓', 'green')} {_payments(number)} queued for {endpoint}."
    more = bool(sent.get("has_more"))
    return _answer(
        claimed,
        [line, queued],
        document=dumps({**claimed.body, "replay": sent}),
        notes=["There is more than one call takes: repeat the replay."] if more else [],
        next_=[again] if more else [f"momo deliveries list --endpoint {endpoint}"],
    )


def _counted(reply: Reply) -> str:
    """Return `3 payments (GHS 96.00)`; without what they come to where the daemon does not say."""
    amounts = reply.body.get("amounts") or ()
    told = " + ".join(money(each.get("amount"), each.get("currency")) for each in amounts)
    return _payments(reply.body.get("claimed") or 0) + (f" ({told})" if told else "")


def _payments(count: int) -> str:
    return f"{count} payment" if count == 1 else f"{count} payments"


def _answer(
    reply: Reply,
    lines: list[str],
    *,
    document: str = "",
    notes: list[str] | None = None,
    next_: list[str] | None = None,
    exit_code: int = exits.OK,
) -> Answer:
    return Answer(
        document=document or reply.text,
        rows=[{name: reply.body.get(name) for name in ("claimed", "dry_run", "from", "to")}],
        lines=lines,
        notes=notes or (),
        next=next_ or (),
        exit_code=exit_code,
    )
