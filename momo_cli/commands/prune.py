"""Let go of what is too old to keep: tries and answers, deliveries, the text of SMS. Payments and the journal stay.

The daemon does this by itself, a little each minute; [retention] in config.toml says how long things are kept. Exit 5:
the clock of this machine is in doubt, and nothing was pruned.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo prune --dry-run
  momo prune --yes
"""
_NAMES: Final = {
    "attempts": "tries of deliveries",
    "responses": "answers to deliveries",
    "dead_letter_responses": "answers in dead letters",
    "notice_sends": "notices that went out",
    "deliveries": "deliveries",
    "messages": "texts of SMS",
    "sent_messages": "texts of SMS that the shop sent",
    "payer_claims": "transaction IDs that customers typed on the checkout page",
}
VIEW: Final = View(fields=tuple(Field(name) for name in (*_NAMES, "total")), id="total")


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo prune`."""

    dry_run: bool


def command(
    dry_run: Annotated[
        bool, typer.Option("-n", "--dry-run", help="Count, and change nothing.")
    ] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(dry_run), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Count; then, if that is wanted, prune until nothing is left."""
    reply = client.get(Path.LOCAL_PRUNE)
    found: dict[str, Any] = reply.data
    if options.dry_run or not (found["total"] or found["doubt"]):
        return _answer(reply.text, found, "would go" if found["total"] else "")
    if not terminal.flags.yes and not found["doubt"]:
        terminal.note("\n".join(_lines(found, "would go")))
        if terminal.ask("Let them go for good? [y/N] ", "--yes").lower() not in ("y", "yes"):
            return _answer(reply.text, found, "stay", exits.CANCELLED)
    counts: Counter[str] = Counter()
    more = True
    while more:
        reply = client.call("POST", Path.LOCAL_PRUNE)
        counts.update(reply.data["counts"])
        more = reply.data["more"]
    told = {**reply.data, "counts": dict(counts), "total": counts.total()}
    code = exits.REFUSED if told["doubt"] else exits.OK
    return _answer(dumps({**reply.body, "data": told}), told, "went", code)


def _answer(document: str, told: dict[str, Any], what: str, code: int = exits.OK) -> Answer:
    doubt = [f"Nothing is pruned now: {clean(told['doubt'])}."] if told["doubt"] else []
    return Answer(
        document=document,
        rows=[{**told["counts"], "total": told["total"]}] if told["total"] else [],
        lines=_lines(told, what),
        empty="" if told["total"] else "Nothing is too old to keep.",
        notes=doubt,
        next=["momo prune --yes"] if what == "would go" and not doubt else [],
        exit_code=code,
        faults=doubt if what in ("went", "") else None,
    )


def _lines(told: dict[str, Any], what: str) -> list[str]:
    counts = {name: told["counts"].get(name, 0) for name in _NAMES}
    return [f"{count:>9}  {_NAMES[name]} {what}" for name, count in counts.items() if count]
