"""The commands about the shop's own wordings."""

from typing import Any, Final

from daemon.wire import Path
from momo_cli import exit_codes
from momo_cli.errors import Failure, usage
from momo_cli.frame.command import command
from momo_cli.inputs.files import file_errors, read_text
from momo_cli.inputs.ids import MESSAGES, id_of
from momo_cli.inputs.parameters import MESSAGES_FILE, PASSWORD_FILE, argument, flag, option
from momo_cli.inputs.passwords import owners_password
from momo_cli.show.answer import Answer, dumps, made, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client, path_of
from momo_cli.text import clean

_ASKED: Final = (
    "amount", "payer_name", "payer_phone", "balance", "reference", "transaction_id", "fee", "date", "time",
)  # fmt: skip


@command(
    "messages templates list",
    view=view_of("file name network kind confirmed line why todo", id="name"),
)
def list_(client: Client, terminal: Terminal) -> Answer:
    """List your own wordings.

    They are listed by file, with the problems of each file. The list also shows the wordings of momo that are not
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
    """Check a file of wordings.

    Each sample must be read by its wording, and neither a shortened message nor text typed by a payer may change the
    values. It needs no daemon. Each problem names its line and the correction. Exit 6: there are problems.

    Examples:
        momo messages templates check templates/mtn.toml
    """
    from parsers.own import load_wordings  # noqa: PLC0415  # slow, and most commands on wordings do not need it
    from parsers.read import read  # noqa: PLC0415  # the same
    from parsers.reading import Unreadable  # noqa: PLC0415  # the same

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
    r"""Propose a wording from messages.

    The fields of the messages are marked. A mark is written as {amount:GHS 70.00}. Messages in the file are separated
    by a line with ---. For messages without marks give --set FIELD=TEXT; on a terminal momo asks for the fields. The
    proposed wording has passed `momo messages templates check`; put it into the folder `templates` of your shop.

    Examples:
        momo messages templates learn samples.txt --name receipt_2027 --network mtn
        momo messages templates learn sms.txt --name new --network mtn --set amount=70.00 --set balance=628.92 \
            --set transaction_id=85614800061 --set payer_name="ESI QUANSAH"
    """
    from momo_cli.inputs import pasted as inputs_pasted  # noqa: PLC0415  # slow, and most commands on wordings do not need it
    from parsers.own_learn import CannotPropose, parse_marks, propose_wording  # noqa: PLC0415  # the same
    from parsers.own_pattern import FIELD_NAMES  # noqa: PLC0415  # the same

    given: dict[str, str] = {}
    for value in values or ():
        field, equals, text = value.partition("=")
        if not equals or field not in FIELD_NAMES:
            raise usage(f"--set: {value!r}; write FIELD=TEXT with one of {', '.join(FIELD_NAMES)}")
        given[field] = text
    samples = inputs_pasted.split_by_rule(read_text(terminal, file))
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
    """Confirm a wording by a genuine message.

    Held messages of this wording and sender are judged again, and later ones count automatically. Confirm only a
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
