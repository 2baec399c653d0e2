"""The commands that read a message, and those about the shop's own wordings."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from daemon.wire import Path
from momo_cli import exit_codes, system
from momo_cli.errors import Failure, usage
from momo_cli.frame.command import command
from momo_cli.inputs.ids import MESSAGES, id_of
from momo_cli.inputs.parameters import MESSAGES_FILE, PASSWORD_FILE, argument, flag, option
from momo_cli.inputs.typed_values import check_choice, file_errors, owners_password, read_text
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Answer, Field, Row, document_of, dumps, made, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client, path_of
from momo_cli.text import clean
from parsers.explain import nearest
from parsers.own import load_wordings
from parsers.own_learn import CannotPropose, parse_marks, propose_wording
from parsers.own_pattern import FIELD_NAMES
from parsers.read import EVERY_PROVIDER, UNKNOWN, read
from parsers.reading import NotPayment, Payment, Reading, Reversal, Unreadable, fields
from parsers.redact import redact
from parsers.wording import Wording

RULE: Final = "---"
"""A line that separates two messages."""
TEMPLATES: Final = "templates"
PIECES_MAX: Final = 4
"""The most pieces into which empty lines can have split one message."""
PASTED_NOTE: Final = "pasted text is never a payment; only a message received by the phone can be"


@dataclass(frozen=True, slots=True)
class Source:
    """The wordings to try.

    Attributes:
        sender: The originating address, None when unknown.
        network: Short name of the only network to try.
        own: The shop's own wordings.
    """

    sender: str | None = None
    network: str | None = None
    own: tuple[Wording, ...] = ()


def own_wordings(terminal: Terminal) -> tuple[Wording, ...]:
    """Return the valid wordings of the shop's own files, if there is a shop."""
    folder = f"{terminal.located.places.home}/{TEMPLATES}"
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".toml"))  # noqa: PTH208  # pathlib is not needed here
        texts = []
        for name in names:
            with open(f"{folder}/{name}", encoding="utf-8") as file:  # noqa: PTH123  # the same
                texts.append(file.read())
    except (OSError, ValueError):
        return ()
    return tuple(wording for text in texts for wording in load_wordings(text).wordings)


def read_by(source: Source, body: str) -> Reading:
    """Read one message with the wordings of its source."""
    return read(source.sender, body, network=source.network, own=source.own)


def split_messages(source: Source, text: str) -> Iterator[str]:
    """Yield the messages of a pasted text, separated by a line `---` or by empty lines.

    Some messages contain an empty line: pieces are joined again if only the joined text can be read.
    """
    for block in _parted(text, RULE):
        pieces: list[str] = []
        for piece in _parted(block, ""):
            # A receipt can be read without its reference, but no message begins with one.
            if pieces and piece.startswith("Ref"):
                pieces[-1] += f"\n\n{piece}"
            else:
                pieces.append(piece)
        while pieces:
            taken = next(
                (
                    count
                    for count in range(1, min(len(pieces), PIECES_MAX) + 1)
                    if not isinstance(read_by(source, "\n\n".join(pieces[:count])), Unreadable)
                ),
                1,
            )
            yield "\n\n".join(pieces[:taken])
            del pieces[:taken]


def _parted(text: str, mark: str) -> Iterator[str]:
    lines: list[str] = []
    for line in [*text.splitlines(), mark]:
        if line.strip() == mark:
            if any(one.strip() for one in lines):
                yield "\n".join(lines).strip()
            lines = []
        else:
            lines.append(line)


def describe_message(source: Source, body: str) -> dict[str, Any]:
    """Return the fields of one message and why it is, or is not, a payment, as `momo messages parse --json` prints it."""
    reading = read_by(source, body)
    row: dict[str, Any] = {
        "kind": str(reading.kind),
        "network": None,
        "wording": None,
        "sender": source.sender,
        "is_receipt": isinstance(reading, Payment),
        "why": _why(source, reading),
        "fields": fields(reading),
        "extra": {},
        "nearest": None,
    }
    if not isinstance(reading, Unreadable):
        row |= {"network": reading.network, "wording": reading.wording}
        return row | {"extra": dict(reading.extra)}
    found = nearest(body, _sending(source.sender) if source.network is None else (source.network,))
    if found is not None:
        row["why"] = f"{reading.why}; {found}" if reading.why == UNKNOWN else reading.why
        names = ("network", "wording", "at", "expected", "found")
        row["nearest"] = {name: getattr(found, name) for name in names}
    return row


def _sending(sender: str | None) -> tuple[str, ...] | None:
    senders = EVERY_PROVIDER.values()
    return tuple(one.network for one in senders if sender in one.senders) or None


def _why(source: Source, reading: Reading) -> str:
    if isinstance(reading, Unreadable):
        return reading.why
    if isinstance(reading, NotPayment):
        return f"{reading.kind}: not money received from a customer"
    if isinstance(reading, Reversal):
        return "a reversal: the network took a payment back"
    doubts = [PASTED_NOTE]
    of = next(one for one in EVERY_PROVIDER.values() if one.network == reading.network)
    if source.sender is not None and source.sender not in of.senders:
        known = f"its sender is {', '.join(of.senders) or 'not known yet'}"
        doubts.append(f"{of.display_name} does not send from {source.sender!r}; {known}")
    if reading.unverified:
        doubts.append("no genuine message has confirmed this wording yet")
    if reading.telco_id is None:
        doubts.append("it has no transaction ID")
    return "; ".join(doubts)


def _entries(text: str) -> Iterator[dict[str, Any]]:
    """Yield the object of each line of JSON; fail (exit 2) with the number of a wrong line."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as problem:
            raise usage(f"line {number}: not JSON: {problem}") from None
        if not isinstance(entry, dict) or not isinstance(
            entry.get("text", entry.get("pdu")), str | list
        ):
            raise usage(
                f'line {number}: give {{"sender": "MobileMoney", "text": "..."}} or {{"pdu": "..."}}'
            )
        yield entry


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
    """It also shows why the message is or is not a payment. It needs no daemon and no shop. Messages in the file are
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
    known = {provider.network for provider in EVERY_PROVIDER.values()}
    check_choice(network, "--network", sorted(known))
    text = read_text(terminal, file)
    source = Source(sender, network, own_wordings(terminal))
    if jsonl:
        rows = _answers(terminal, source, text)
        written = [dumps({name: row[name] for name in ("kind", "fields", "why")}) for row in rows]
        return Answer("\n".join(written), plain="\n".join(written), verbatim=written)
    if pdu:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        decoded = _decoded(terminal, [[line] for line in lines], join=True)
        found = [_described(source, one) for one in decoded]
    else:
        found = [describe_message(source, body) for body in split_messages(source, text)]
    return Answer(
        document_of(found),
        found,
        lines=[line for row in found for line in _lines(row, terminal)],
        empty="There is no message in the file.",
    )


def _answers(terminal: Terminal, source: Source, text: str) -> Iterator[dict[str, Any]]:
    """Yield one answer for each line, in order; the PDUs of all lines are decoded in one call."""
    entries = list(_entries(text))
    # A long message has a list of PDUs, its parts.
    given = [entry["pdu"] for entry in entries if "text" not in entry]
    coded = [[str(pdu) for pdu in (each if isinstance(each, list) else [each])] for each in given]
    decoded = iter(_decoded(terminal, coded, join=False) if coded else [])
    for entry in entries:
        yield _described(source, entry if "text" in entry else next(decoded))


def _described(source: Source, one: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of one message, which may name its sender; without a text, why it could not be read."""
    if one.get("text") is None:
        return {**describe_message(Source(), ""), "why": str(one.get("why", ""))}
    sender = one["sender"] if isinstance(one.get("sender"), str) else source.sender
    return describe_message(replace(source, sender=sender), str(one["text"]))


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


_ASKED: Final = (
    "amount", "payer_name", "payer_phone", "balance", "reference", "transaction_id", "fee", "date", "time",
)  # fmt: skip


@command("messages sample", view=view_of("sender kind wording why text", id="text"))
def sample(
    client: Client,
    terminal: Terminal,
    message: str = argument("ID", "The message."),
    redacted: bool = flag("--redact", "Replace names, numbers, IDs and amounts."),
) -> Answer:
    """It is made of one message. --redact replaces every name, number, ID and amount. Equal values stay equal and the form
    is kept, so that a wording can be made from the sample. Check it before you send it.

    Examples:
        momo messages sample 0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11 --redact
        momo messages sample 0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11 --redact --json > sample.json
    """
    message = id_of(client, MESSAGES, message)
    data: dict[str, Any] = client.get(path_of(Path.LOCAL_MESSAGE, id=message), show_body="1").data
    body, sender = data.get("body"), data.get("sender")
    if not isinstance(body, str):
        raise Failure("MESSAGE_NOT_FOUND", "only unreadable parts of it are stored")
    text = body
    if redacted:
        # The key is for this sample only, so that the redaction cannot be undone.
        text = redact(body, system.new_key().encode(), sender=sender)
        if isinstance(sender, str) and sender.lstrip("+").isdigit():
            sender = "a number"
    source = Source(sender=sender, own=own_wordings(terminal))
    described = describe_message(source, text)
    names = ("kind", "network", "wording", "why", "fields", "nearest")
    row = {"sender": sender, "redacted": redacted, "text": text}
    row |= {name: described[name] for name in names}
    return Answer(
        *made(row),
        verbatim=[
            f"from {clean(sender)}",
            *(f"| {clean(line)}" for line in text.splitlines()),
            f"read as {clean(row['wording'] or 'nothing')}: {clean(row['why'])}",
        ],
        notes=() if redacted else ("Names and numbers are in it: --redact replaces them.",),
    )


@command(
    "messages templates list",
    view=view_of("file name network kind confirmed line why todo", id="name"),
)
def list_(client: Client, terminal: Terminal) -> Answer:
    """They are listed by file, with the problems of each file. The list also shows the wordings of momo that are not
    confirmed by a genuine message yet.

    Examples:
        momo messages templates list
    """
    reply = client.get(Path.LOCAL_TEMPLATES)
    data: dict[str, Any] = reply.data or {}
    rows: list[dict[str, Any]] = []
    for file in data.get("files") or ():
        rows += [_row(clean(file["file"]), one) for one in file["wordings"]]
        rows += [{"file": file["file"], **problem} for problem in file["problems"]]
    own = len(rows)
    rows += [_row("(momo)", one) for one in data.get("unverified") or ()]
    return Answer(
        reply.text,
        rows,
        lines=[_line(row, terminal) for row in rows],
        notes=[] if own else [f"No wording of your own in {clean(data.get('folder'))}."],
    )


def _row(file: str, one: dict[str, Any]) -> dict[str, Any]:
    senders = ", ".join(clean(by["sender"]) for by in one["confirmed"])
    kept = {name: one[name] for name in ("name", "network", "kind")}
    return {"file": file, **kept, "confirmed": senders}


def _line(row: dict[str, Any], terminal: Terminal) -> str:
    if row.get("why"):
        place = f"{terminal.style('✗', 'red')} {clean(row['file'])}:{row['line']}"
        return f"{place}  {clean(row['why'])}; {clean(row['todo'])}"
    mark, proven = terminal.style("…", "dim"), "not confirmed by a genuine message yet"
    if row["confirmed"]:
        mark, proven = terminal.tick, f"confirmed from {row['confirmed']}"
    return f"{mark} {row['file']}  {row['network']} {clean(row['name'])}  {row['kind']}  {proven}"


@command("messages templates check", view=view_of("file line why todo", id="file"))
def check(
    terminal: Terminal, files: list[str] = argument("FILE...", "The files; - is stdin.")
) -> Answer:
    """Each sample must be read by its wording, and neither a shortened message nor text typed by a payer may change the
    values. It needs no daemon. Each problem names its line and the correction. Exit 6: there are problems.

    Examples:
        momo messages templates check templates/mtn.toml
    """
    problems, wordings, notes = [], [], []
    for file in files:
        loaded = load_wordings(read_text(terminal, file))
        problems += [
            {"file": file, "line": one.line, "why": one.why, "todo": one.todo}
            for one in loaded.problems
        ]
        for wording in loaded.wordings:
            facts = {"name": wording.name, "network": wording.network, "kind": wording.kind}
            wordings.append({"file": file, **facts})
            known = [read(None, sample, network=wording.network) for sample in wording.samples]
            if all(not isinstance(one, Unreadable) for one in known):
                why = "momo reads its samples without it; it is not needed"
                notes.append(f"{file}: {wording.name}: {why}")
    found = {"wordings": wordings, "problems": problems}
    bad = [
        terminal.style(f"✗ {one['file']}:{one['line']}", "red")
        + f"  {clean(one['why'])}\n    {clean(one['todo'])}"
        for one in problems
    ]
    good = [terminal.tick + f" {one['name']}  {one['network']} {one['kind']}" for one in wordings]
    return Answer(
        dumps({"success": not problems, "data": found}),
        problems,
        lines=[*good, *bad],
        plain="" if problems else "\n".join(f"ok\t{one['name']}" for one in wordings),
        notes=notes,
        exit_code=exit_codes.FINDINGS if problems else exit_codes.OK,
    )


@command("messages templates learn", view=view_of("name network kind toml", id="toml"))
def learn(
    terminal: Terminal,
    file: str = MESSAGES_FILE,
    name: str = option("The name of the wording, such as receipt_2027.", default=...),
    network: str = option("mtn, telecel, at ...", default=...),
    kind: str = option("payment_received, sent, cash_out ...", default="payment_received"),
    values: list[str] | None = option(
        "--set", "FIELD=TEXT", "A field, as it stands in the message."
    ),
    out: str | None = option("FILE", "Write the wording to this file."),
) -> Answer:
    r"""The fields of the messages are marked. A mark is written as {amount:GHS 70.00}. Messages in the file are separated
    by a line with ---. For messages without marks give --set FIELD=TEXT; on a terminal momo asks for the fields. The
    proposed wording has passed `momo messages templates check`; put it into the folder `templates` of your shop.

    Examples:
        momo messages templates learn samples.txt --name receipt_2027 --network mtn
        momo messages templates learn sms.txt --name new --network mtn --set amount=70.00 --set balance=628.92 \
            --set transaction_id=85614800061 --set payer_name="ESI QUANSAH"
    """
    given: dict[str, str] = {}
    for value in values or ():
        field, equals, text = value.partition("=")
        if not equals or field not in FIELD_NAMES:
            raise usage(f"--set: {value!r}; write FIELD=TEXT with one of {', '.join(FIELD_NAMES)}")
        given[field] = text
    samples = list(_parted(read_text(terminal, file), RULE))
    try:
        found = [
            parse_marks(sample, given or (None if "{" in sample else _asked(terminal, sample)))
            for sample in samples
        ]
        text = propose_wording(name, network, kind, found)
    except CannotPropose as why:
        raise Failure("USAGE", str(why), next=("momo messages templates learn --help",)) from None
    if out is not None:
        with file_errors(f"--out: {out}"), open(out, "x", encoding="utf-8") as written:  # noqa: PTH123  # pathlib is not needed here
            written.write(text)
    row = {"name": name, "network": network, "kind": kind, "toml": text}
    return Answer(
        *made(row),
        lines=[f"Written to {clean(out)}."] if out else (),
        verbatim=() if out else text.splitlines(),
        plain=out or text.rstrip("\n"),
        next=[f"momo messages templates check {out}"] if out else [],
    )


def _asked(terminal: Terminal, sample: str) -> dict[str, str]:
    """Ask for each field, as it stands in the message; an empty answer skips a field."""
    for line in sample.splitlines():
        terminal.note(f"| {clean(line)}")
    given = {}
    for field in _ASKED:
        question = f"{field}, as it stands in the message (Enter: none): "
        answer = terminal.ask(question, "--set FIELD=TEXT")
        if answer.strip():
            given[field] = answer.strip()
    return given


@command(
    "messages templates confirm",
    view=view_of("network wording sender message_id confirmed", id="message_id"),
)
def confirm(
    client: Client,
    terminal: Terminal,
    message: str = argument("ID", "The genuine message."),
    undo: bool = flag("Revoke the confirmation."),
    password_file: str | None = PASSWORD_FILE,
) -> Answer:
    """Held messages of this wording and sender are judged again, and later ones count automatically. Confirm only a
    message whose payment you found in the wallet itself, on the phone. Approving its review does the same. --undo
    revokes the confirmation.

    Examples:
        momo messages templates confirm 0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11
        momo messages templates confirm 0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11 --undo
    """
    message = id_of(client, MESSAGES, message)
    body: dict[str, Any] = {"undo": undo}
    if not undo:
        body["password"] = owners_password(terminal, password_file)
    reply = client.call("POST", path_of(Path.LOCAL_MESSAGE_CONFIRM, id=message), body=body)
    row = reply.data
    wording = f"{clean(row['network'])} {clean(row['wording'])} from {clean(row['sender'])}"
    state = "needs a review again" if undo else "counts automatically from now on"
    if row.get("test") and not undo:
        state = "is confirmed in the sandbox only: the message is a simulated one"
    return Answer(
        reply.text,
        [row],
        lines=[f"{terminal.tick} {wording} {state}."],
        next=[] if undo else ["momo messages reparse --all-unparsed --dry-run"],
    )
