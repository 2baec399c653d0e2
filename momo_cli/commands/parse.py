"""Say what a message says, and why it is or is not a payment. Needs no daemon and no shop.

Messages in the file are parted by a line with --- or by an empty line. Whatever it says: pasted text
never pays. With --jsonl each line holds {"sender", "text"} or {"pdu"}, and each answer is one line.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer

from momo_cli import pasted
from momo_cli.answer import Answer, Call, Field, Row, View
from momo_cli.client import Client
from momo_cli.errors import usage
from momo_cli.input_file import text_of
from momo_cli.process import ask
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo parse receipt.txt
  momo parse - --sender MobileMoney --json
  momo parse inbox.txt --country UG
  momo parse messages.jsonl --jsonl
  momo parse --pdu dump.txt
"""
_FIELDS: Final = (
    "amount",
    "currency",
    "payer_name",
    "payer_phone",
    "reference",
    "transaction_id",
    "balance",
)
VIEW: Final = View(
    fields=(
        Field("kind"),
        Field("network"),
        Field("wording"),
        *(Field(name, f"fields.{name}") for name in _FIELDS),
        Field("why"),
    ),
    id="fields.transaction_id",
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo parse`."""

    file: str
    source: pasted.Source
    pdu: bool
    jsonl: bool


def command(
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="The messages; - reads them from stdin.")
    ],
    sender: Annotated[
        str | None, typer.Option(help="Who it came from, such as MobileMoney.")
    ] = None,
    network: Annotated[
        str | None, typer.Option(help="Only this network's wordings: mtn, telecel ...")
    ] = None,
    country: Annotated[
        str | None, typer.Option(help="Only this country's wordings: GH, UG ...")
    ] = None,
    pdu: Annotated[
        bool, typer.Option("--pdu", help="Each line is a PDU, as a modem gives it.")
    ] = False,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Each line is a JSON object, and each answer too.")
    ] = False,
) -> Call:
    """Read the flags."""
    if pdu and jsonl:
        raise usage('--pdu does not go with --jsonl: there, a line {"pdu": "..."} is one')
    source = pasted.Source(sender, network, country)
    pasted.check(source)
    return Call(run, Options(file, source, pdu, jsonl), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Read the messages."""
    text = text_of(terminal, options.file)
    options = replace(options, source=replace(options.source, own=pasted.own_of(terminal)))
    if options.jsonl:
        rows = _answers(terminal, options.source, text)
        written = [dumps({name: row[name] for name in ("kind", "fields", "why")}) for row in rows]
        return Answer(document="\n".join(written), plain="\n".join(written), verbatim=written)
    if options.pdu:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        found = [
            pasted.told(_from(options.source, one), str(one["text"]))
            if one.get("text") is not None
            else _unread(str(one["why"]))
            for one in _decoded(terminal, [[line] for line in lines], join=True)
        ]
    else:
        found = [
            pasted.told(options.source, body) for body in pasted.messages(options.source, text)
        ]
    return Answer(
        document=dumps({"success": True, "data": found}),
        rows=found,
        lines=[line for row in found for line in _lines(row, terminal)],
        empty="" if found else "There is no message in it.",
    )


def _answers(terminal: Terminal, source: pasted.Source, text: str) -> Iterator[dict[str, Any]]:
    """Give one answer for each line, in order; the PDUs of all lines are decoded in one go."""
    entries = [entry for _, entry in pasted.entries(text)]
    coded = [pasted.pdus_of(entry) for entry in entries if "text" not in entry]
    decoded = iter(_decoded(terminal, coded, join=False) if coded else [])
    for entry in entries:
        one = entry if "text" in entry else next(decoded)
        if one.get("text") is None:
            yield _unread(str(one.get("why", "")))
        else:
            yield pasted.told(_from(source, one), str(one["text"]))


def _from(source: pasted.Source, one: dict[str, Any]) -> pasted.Source:
    sender = one.get("sender")
    return source if not isinstance(sender, str) else replace(source, sender=sender)


def _unread(why: str) -> dict[str, Any]:
    return {**pasted.told(pasted.Source(), ""), "why": why}


def _decoded(terminal: Terminal, groups: list[Any], *, join: bool) -> list[dict[str, Any]]:
    """Have PDUs decoded by the program that reads them from modems."""
    flags = ["--join"] if join else []
    said = ask(terminal, "decode", *flags, stdin="\n".join(dumps(group) for group in groups))
    found: list[dict[str, Any]] = said.body["data"]
    return found


def _lines(row: Row, terminal: Terminal) -> list[str]:
    """Return one message as a person reads it."""
    known = row["network"] is not None
    style = "green" if row["is_receipt"] else "dim" if known else "yellow"
    title = f"{row['kind']}" if known else "! not understood"
    said = [
        terminal.style(title, style) + (f"  by {row['network']} {row['wording']}" if known else "")
    ]
    values = {**row["fields"], **row["extra"]}
    found = [(name, clean(value)) for name, value in values.items() if value is not None]
    found.append(("why", clean(row["why"])))
    return [*said, *(f"  {name:<16} {value}" for name, value in found), ""]
