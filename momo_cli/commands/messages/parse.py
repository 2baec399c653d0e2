"""The command parse: the values in pasted messages."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from momo_cli.errors import usage
from momo_cli.frame.command import command
from momo_cli.inputs import pasted
from momo_cli.inputs.files import read_text
from momo_cli.inputs.parameters import MESSAGES_FILE, flag, option
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Answer, Field, Row, document_of, dumps, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.text import clean

_VALUES: Final = (
    "amount", "currency", "payer_name", "payer_phone", "reference", "transaction_id", "balance",
)  # fmt: skip


@command(
    "messages parse",
    view=view_of(
        "kind network wording",
        *(Field(name, f"fields.{name}") for name in _VALUES),
        "why",
        id="fields.transaction_id",
    ),
)
def parse(
    terminal: Terminal,
    file: str = MESSAGES_FILE,
    sender: str | None = option("The sender of the messages, such as MobileMoney."),
    network: str | None = option("Only this network's wordings: mtn, telecel ..."),
    pdu: bool = flag("Each line is a PDU, as a modem prints it."),
    jsonl: bool = flag("Each line is a JSON object, and each answer too."),
) -> Answer:
    """Show the values in a pasted message.

    It also shows why the message is or is not a payment. It needs no daemon and no shop. Messages in the file are
    separated by a line with --- or by an empty line. Pasted text is never a payment. With --jsonl each line is
    {"sender", "text"} or {"pdu"}, and each answer is one line.

    Examples:
        momo messages parse receipt.txt
        momo messages parse - --sender MobileMoney --json
        momo messages parse inbox.txt --network telecel
        momo messages parse messages.jsonl --jsonl
        momo messages parse --pdu dump.txt
    """
    if pdu and jsonl:
        raise usage('--pdu does not go with --jsonl: there, write a PDU as {"pdu": "..."}')
    source = pasted.Source(sender, network)
    pasted.check_network(source)
    text = read_text(terminal, file)
    source = replace(source, own=pasted.own_wordings(terminal))
    if jsonl:
        rows = _answers(terminal, source, text)
        written = [dumps({name: row[name] for name in ("kind", "fields", "why")}) for row in rows]
        return Answer("\n".join(written), plain="\n".join(written), verbatim=written)
    if pdu:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        found = [
            pasted.describe_message(_from(source, one), str(one["text"]))
            if one.get("text") is not None
            else _unread(str(one["why"]))
            for one in _decoded(terminal, [[line] for line in lines], join=True)
        ]
    else:
        bodies = pasted.split_messages(source, text)
        found = [pasted.describe_message(source, body) for body in bodies]
    return Answer(
        document_of(found),
        found,
        lines=[line for row in found for line in _lines(row, terminal)],
        empty="There is no message in the file.",
    )


def _answers(terminal: Terminal, source: pasted.Source, text: str) -> Iterator[dict[str, Any]]:
    """Yield one answer for each line, in order; the PDUs of all lines are decoded in one call."""
    entries = [entry for _, entry in pasted.json_entries(text)]
    coded = [pasted.pdus_of(entry) for entry in entries if "text" not in entry]
    decoded = iter(_decoded(terminal, coded, join=False) if coded else [])
    for entry in entries:
        one = entry if "text" in entry else next(decoded)
        if one.get("text") is None:
            yield _unread(str(one.get("why", "")))
        else:
            yield pasted.describe_message(_from(source, one), str(one["text"]))


def _from(source: pasted.Source, one: dict[str, Any]) -> pasted.Source:
    """Return the source with the sender of this message, if it names one."""
    sender = one.get("sender")
    return source if not isinstance(sender, str) else replace(source, sender=sender)


def _unread(why: str) -> dict[str, Any]:
    return {**pasted.describe_message(pasted.Source(), ""), "why": why}


def _decoded(terminal: Terminal, groups: list[Any], *, join: bool) -> list[dict[str, Any]]:
    """Return groups of PDUs decoded by the program that reads them from modems."""
    flags = ["--join"] if join else []
    reply = run_verb(terminal, "decode", *flags, stdin="\n".join(dumps(group) for group in groups))
    found: list[dict[str, Any]] = reply.body["data"]
    return found


def _lines(row: Row, terminal: Terminal) -> list[str]:
    title = terminal.style("! not understood", "yellow")
    if row["network"] is not None:
        title = terminal.style(row["kind"], "green" if row["is_receipt"] else "dim")
        title += f"  by {row['network']} {row['wording']}"
    values = {**row["fields"], **row["extra"]}
    found = [(name, clean(value)) for name, value in values.items() if value is not None]
    found.append(("why", clean(row["why"])))
    return [title, *(f"  {name:<16} {value}" for name, value in found), ""]
