"""Forget a payer who asks for it, by number (Ghana's Data Protection Act 2012): names, numbers and texts go for good.

Amounts, times, transaction IDs and codes stay: they are the shop's books. So does the journal, which holds none of that,
and says that it was done without saying of whom. Backups keep it until they are thinned out, and so do the receivers of
your webhooks. momo export --payer shows what there is. Exit 5: something of the payer is not over yet; nothing was changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import ErrorCode, Path
from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, Reply
from momo_cli.errors import Failure
from momo_cli.terminal import Terminal
from momo_cli.words import phone

EXAMPLES: Final = """\
  momo forget --payer 0244124567 --dry-run
  momo forget --payer 0244124567 --yes
"""
_NAMES: Final = {
    "payments": "payments",
    "orders": "orders",
    "messages": "texts of SMS that came in",
    "sms": "SMS that the shop sent",
    "webhooks": "webhooks",
    "reviews": "reviews",
    "approved_names": "approved names",
}
_ONE: Final = {
    "orders": "order", "reviews": "review", "messages": "message", "webhooks": "webhook", "sms": "SMS",
}  # fmt: skip
_LOOK: Final = {
    "orders": "momo tx list --search NUMBER",
    "reviews": "momo review list",
    "messages": "momo messages list",
    "webhooks": "momo deliveries list --status pending",
    "sms": "momo tx list --search NUMBER",
}
VIEW: Final = View(fields=tuple(Field(name) for name in (*_NAMES, "total", "mark")), id="mark")


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo forget`."""

    payer: str
    dry_run: bool


def command(
    payer: Annotated[str, typer.Option(metavar="NUMBER", help="The payer's number.")],
    dry_run: Annotated[
        bool, typer.Option("-n", "--dry-run", help="Count, and change nothing.")
    ] = False,
) -> Call:
    """Read the flags."""
    return Call(run, Options(payer, dry_run), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Count; then, if that is wanted, forget."""
    looked = _call(client, options.payer, dry_run=True)
    found: dict[str, Any] = looked.data
    if options.dry_run or not found["total"]:
        return _answer(looked, options.payer, "to forget")
    if found["open"]:
        raise Failure(
            ErrorCode.PAYER_STILL_OPEN,
            f"not over yet: {_counted(found['open'])}; nothing was forgotten",
            next=tuple(_LOOK[name] for name in found["open"] if name in _LOOK),
        )
    if not terminal.flags.yes:
        terminal.note("\n".join(_lines(found, "to forget")))
        asked = f"Forget {phone(options.payer)} for good? No copy here brings it back. [y/N] "
        if terminal.ask(asked, "--yes").lower() not in ("y", "yes"):
            return _answer(looked, options.payer, "stay", exits.CANCELLED)
    return _answer(_call(client, options.payer, dry_run=False), options.payer, "forgotten")


def _call(client: Client, number: str, *, dry_run: bool) -> Reply:
    return client.call("POST", Path.LOCAL_PAYER_FORGET, body={"number": number, "dry_run": dry_run})


def _answer(reply: Reply, number: str, what: str, code: int = exits.OK) -> Answer:
    told: dict[str, Any] = reply.data
    waits = [f"Not over yet: {_counted(told['open'])}."] if told["open"] else []
    return Answer(
        document=reply.text,
        rows=[{**told["counts"], "total": told["total"], "mark": told["mark"]}]
        if told["total"]
        else [],
        lines=_lines(told, what),
        empty="" if told["total"] else f"The shop keeps nothing by {phone(number)}.",
        notes=waits,
        next=[f"momo forget --payer {number} --yes"]
        if what == "to forget" and told["total"] and not waits
        else [],
        exit_code=code,
    )


def _lines(told: dict[str, Any], what: str) -> list[str]:
    counts = told["counts"]
    return [f"{counts[name]:>9}  {_NAMES[name]} {what}" for name in _NAMES if counts.get(name)]


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(
        f"{count} {name if count != 1 else _ONE.get(name, name)}" for name, count in counts.items()
    )
