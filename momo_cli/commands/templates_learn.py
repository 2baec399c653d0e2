"""Propose a wording from a few messages in which you mark the fields, as in {amount:GHS 70.00}.

Messages in the file are parted by a line with ---. Without marks give --set FIELD=TEXT, or be asked on a terminal. What is
proposed has passed `momo templates check`; put it into the folder `templates` of your shop.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from momo_cli import pasted
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import Failure, usage
from momo_cli.input_file import text_of
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import dumps
from parsers.own_learn import NotLearnt, marked, propose
from parsers.own_pattern import FIELD_NAMES

EXAMPLES: Final = """\
  momo templates learn samples.txt --name receipt_2027 --network mtn
  momo templates learn sms.txt --name new --network mtn --set amount=70.00 --set balance=628.92 \\
      --set transaction_id=85614800061 --set payer_name="ESI QUANSAH"
"""
VIEW: Final = View(
    fields=(Field("name"), Field("network"), Field("kind"), Field("toml")), id="toml"
)
_ASKED: Final = (
    "amount",
    "payer_name",
    "payer_phone",
    "balance",
    "reference",
    "transaction_id",
    "fee",
    "date",
    "time",
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo templates learn`."""

    file: str
    name: str
    network: str
    kind: str
    values: Mapping[str, str]
    out: str | None


def command(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="The messages; - is stdin.")],
    name: Annotated[str, typer.Option(help="What to call it, such as receipt_2027.")],
    network: Annotated[str, typer.Option(help="mtn, telecel, at ...")],
    kind: Annotated[
        str, typer.Option(help="payment_received, sent, cash_out ...")
    ] = "payment_received",
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=TEXT", help="A field, as the message has it."),
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Write it there.")] = None,
) -> Call:
    """Read the flags."""
    told: dict[str, str] = {}
    for value in values or ():
        field, equals, text = value.partition("=")
        if not equals or field not in FIELD_NAMES:
            raise usage(f"--set: {value!r}; write FIELD=TEXT with one of {', '.join(FIELD_NAMES)}")
        told[field] = text
    return Call(run, Options(file, name, network, kind, told, out), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Propose it, and write it where it is wanted."""
    samples = pasted.parted(text_of(terminal, options.file))
    try:
        found = [
            marked(sample, options.values or (None if "{" in sample else _asked(terminal, sample)))
            for sample in samples
        ]
        text = propose(options.name, options.network, options.kind, found)
    except NotLearnt as why:
        raise Failure("USAGE", str(why), next=("momo templates learn --help",)) from None
    if options.out is not None:
        _write(options.out, text)
    row = {"name": options.name, "network": options.network, "kind": options.kind, "toml": text}
    return Answer(
        document=dumps({"success": True, "data": row}),
        rows=[row],
        lines=[f"Written to {clean(options.out)}."] if options.out else (),
        verbatim=() if options.out else text.splitlines(),
        plain=options.out or text.rstrip("\n"),
        next=[f"momo templates check {options.out}"] if options.out else [],
    )


def _asked(terminal: Terminal, sample: str) -> dict[str, str]:
    """Ask for each field, as the message prints it; an empty answer is a field that it has not."""
    for line in sample.splitlines():
        terminal.note(f"| {clean(line)}")
    told = {}
    for field in _ASKED:
        answer = terminal.ask(f"{field}, as it stands there (Enter: none): ", "--set FIELD=TEXT")
        if answer.strip():
            told[field] = answer.strip()
    return told


def _write(path: str, text: str) -> None:
    try:
        with open(path, "x", encoding="utf-8") as file:  # noqa: PTH123  # pathlib is not needed here
            file.write(text)
    except OSError as problem:
        raise usage(f"--out: {path}: {problem.strerror}") from None
