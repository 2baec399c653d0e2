"""The commands about messages: the SMS that came in or were imported."""

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import IO, Any, Final

from daemon.wire import MessageState, Mode, Path, TrustLevel
from momo_cli import exit_codes, system
from momo_cli.errors import Failure, usage
from momo_cli.frame.command import command
from momo_cli.inputs.ids import MESSAGES, id_of, ids_of
from momo_cli.inputs.parameters import DRY_RUN, MESSAGES_FILE, OFFSET, PASSWORD_FILE, SHOW_BODY, argument, flag, option
from momo_cli.inputs.typed_values import (
    STDIN,
    check_choice,
    file_errors,
    only_given,
    owners_password,
    read_text,
    time_of,
)
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Answer, Field, Head, Row, document_of, dumps, made, view_of
from momo_cli.show.batch import Batch, run_batch
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, clock, fact_lines, list_heading, money, styled, with_test_mark
from momo_cli.show.words import state as state_cell
from momo_cli.socket.client import Client, path_of
from momo_cli.text import at, clean
from momo_cli.times import stamp
from parsers.explain import nearest
from parsers.own import load_wordings
from parsers.own_learn import CannotPropose, parse_marks, propose_wording
from parsers.own_pattern import FIELD_NAMES
from parsers.phone_backup import CHUNK, FORMS, BackupError, BackupMessage, encoding_of, messages_of
from parsers.read import EVERY_PROVIDER, UNKNOWN, read
from parsers.reading import NotPayment, Payment, Reading, Reversal, Unreadable, fields
from parsers.redact import redact
from parsers.wording import Wording

_FIELDS: Final = (
    "id state kind provider sender line device_id amount=fields.amount",
    "telco_transaction_id=fields.transaction_id trusted payment_id smsc_ts received_at",
)
_LIST_VIEW: Final = view_of(
    *_FIELDS,
    Head("STATE", lambda row, _: with_test_mark(state_cell(row.get("state")), row)),
    Head("FROM", lambda row, _: clean(row.get("sender")), short=True),
    Head("AMOUNT", lambda row, _: money(at(row, "fields.amount")) or "—", right=True),
    Head("WHAT", lambda row, _: _why(row) or _kind(row) or "—", short=True),
    Head("WHEN", lambda row, t: ago(row.get("received_at"), t)),
    Head("ID", lambda row, _: clean(row.get("id")), cut=True),
)
_BODY_VIEW: Final = view_of(*_FIELDS, "body", *_LIST_VIEW.heads)
_AT_ONCE: Final = 50
_CHARACTERS_AT_ONCE: Final = 12_000
"""Keeps a batch well below the daemon's limit for a body, with any characters."""

_MESSAGE = argument("ID", "The message.")


@command("messages list", view=lambda *, show_body, **_: _BODY_VIEW if show_body else _LIST_VIEW)
def list_(
    client: Client,
    terminal: Terminal,
    state: str | None = option("payment, not_payment, unparsed, held, historical ..."),
    line: str | None = option("Only messages of this number or line."),
    sender: str | None = option("Only from this name or number, such as MobileMoney."),
    since: str | None = option("1h, 24h, today, 2026-01-31."),
    limit: int = option("Most messages to list.", default=50, min=1),
    offset: int = OFFSET,
    show_body: bool = SHOW_BODY,
) -> Answer:
    """The newest come first, each with its state. The texts are shown only with --show-body, and those of the sandbox are listed
    only with --sandbox.

    Examples:
        momo messages list --since 1h
        momo messages list --state unparsed
        momo messages list --sender MobileMoney --since today
    """
    kind = state.lower() if state else None
    check_choice(kind, "--state", list(MessageState))
    reply = client.get(
        Path.LOCAL_MESSAGES, limit=limit, offset=offset, state=kind, line=line, sender=sender,
        since=time_of(since or None, "--since", terminal), mode=None if client.sandbox else Mode.LIVE,
        show_body="1" if show_body else None,
    )  # fmt: skip
    return Answer(
        *reply.parts,
        heading=list_heading(reply, "messages", offset=offset, kind=kind),
        empty=f"No {f'{kind} ' if kind else ''}messages{' of the sandbox' if client.sandbox else ''}.",
    )


@command("messages show", view=view_of(*_BODY_VIEW.fields))
def show(client: Client, terminal: Terminal, message: str = _MESSAGE, show_body: bool = SHOW_BODY) -> Answer:
    """It shows the values read from it and why it is or is not a payment. --show-body shows the text.

    Examples:
        momo messages show 0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11 --show-body
    """
    message = id_of(client, MESSAGES, message)
    path = path_of(Path.LOCAL_MESSAGE, id=message)
    reply = client.get(path, show_body="1" if show_body else None)
    found = [
        f"{styled(with_test_mark(state_cell(reply.data.get('state')), reply.data), terminal)}  from {clean(reply.data.get('sender')) or '—'}"
    ]
    trusted = reply.data.get("trusted")
    source = ""
    if reply.data.get("trust_level") not in {None, TrustLevel.FULL}:
        made = "; momo made its PDU from the text" if reply.data.get("synthesised") else ""
        source = f"{clean(reply.data.get('source'))} (trust level {clean(reply.data.get('trust_level'))}{made})"
    facts = [
        ("kind", clean(reply.data.get("kind"))),
        ("network", clean(reply.data.get("provider"))),
        ("trusted", "" if trusted is None else "yes" if trusted else "no"),
        ("why", _why(reply.data)),
        ("line", clean(reply.data.get("line"))),
        ("sent", clock(reply.data.get("smsc_ts"), terminal)),
        ("stored", clock(reply.data.get("received_at"), terminal)),
        ("source", source),
        ("recovered", "from the message journal" if reply.data.get("recovered") else ""),
        ("id", clean(reply.data.get("id"))),
    ]
    values = reply.data.get("fields")
    if isinstance(values, dict):
        facts += [(clean(name), clean(value)) for name, value in values.items()]
    known = [(name, value) for name, value in facts if value]
    found += fact_lines(known, max((len(name) for name, _ in known), default=0), gap="  ")
    if reply.data.get("body") is not None:
        found += ["", *(f"  | {clean(line)}" for line in str(reply.data["body"]).splitlines())]
    return Answer(*reply.parts, lines=found)


@command("messages reparse", view=view_of("id wording kind state"))
def reparse(
    client: Client,
    terminal: Terminal,
    messages: list[str] | None = argument("ID...", "Only these messages.", default=None),
    every: bool = flag("--all-unparsed", "All messages that no wording could read."),
    dry_run: bool = DRY_RUN,
) -> Answer:
    """They are read with today's wordings and the same rules. A message that can be read now gets the state that it would
    have got when it came; old messages stay historical, and messages of unknown senders stay untrusted. The other
    messages do not change, so the command can be repeated at any time.

    Examples:
        momo messages reparse --all-unparsed --dry-run
        momo messages reparse --all-unparsed
    """
    if bool(messages) == every:
        raise usage("name messages, or give --all-unparsed")
    if messages and len(messages) > _AT_ONCE:
        raise usage(f"at most {_AT_ONCE} messages at once; or give --all-unparsed")
    ids = ids_of(client, MESSAGES, tuple(messages or ()))
    looked_at, read, counts = 0, list[dict[str, Any]](), Counter[str]()
    after: int | None = 0
    batches = 0
    while after is not None:
        body = only_given({"after": after, "dry_run": dry_run, "ids": ids or None})
        reply = client.call("POST", Path.LOCAL_REPARSE, body=body)
        looked_at += reply.data["looked_at"]
        read += reply.data["read"]
        counts.update(reply.data["counts"])
        after, batches = reply.data["next"], batches + 1
    found = {"looked_at": looked_at, "read": read, "counts": dict(counts), "dry_run": dry_run}
    kinds = ", ".join(f"{count} {clean(kind).replace('_', ' ')}" for kind, count in counts.items())
    head = terminal.style(f"{len(read)} of {looked_at} can be read now: {kinds}.", "green")
    lines = [head, *(f"  {one['id']}  {one['wording']}" for one in read)] if read else []
    return Answer(
        # The answer to one batch is printed as it is; several are added up.
        reply.text if batches == 1 else document_of({**found, "next": None}),
        read,
        lines=lines,
        empty=f"Looked at {looked_at}; none of them can be read now.",
        next=["momo review list"] if counts.get("held") else [],
    )


@command("messages import", view=view_of("file_line ok fate state id code message"))
def import_(
    client: Client,
    terminal: Terminal,
    line: str = option("NUMBER", "Your number that received the messages.", default=...),
    file: str | None = argument("[FILE|-]", "The backup; - reads stdin.", default=None),
    paste: bool = flag("The text of one message, from stdin or FILE."),
    sender: str | None = option("NAME", "With --paste: its sender; default: the network's."),
    form: str | None = option("--format", "|".join(FORMS), "The format of the file."),
    dry_run: bool = DRY_RUN,
) -> Answer:
    """They are read from a backup, stored and counted as history: a file proves less than a phone, so nothing is paid by
    them and nothing is sent. `momo reconcile` uses their payments with the owner's password; `momo replay
    --include-historical` then sends them. Only messages from the network's own senders are imported, never private ones. Importing the same
    file again changes nothing.

    --paste stores one message that you paste, also before its number is on a SIM.

    FILE is the XML of "SMS Backup & Restore" for Android, CSV with the columns sender, text, date (and type, smsc), or
    one PDU per line.

    Examples:
        momo messages import sms-backup.xml --line 0244124567 --dry-run
        momo messages import - --line 0244124567 --format csv < inbox.csv
        momo messages import --paste --line 0244124567 < receipt.txt
    """
    check_choice(form, "--format", FORMS)
    line = line.strip()
    if paste:
        if form is not None:
            raise usage("--format is for files, not for --paste")
        # Store one pasted message as history.
        path = file or STDIN
        if path == STDIN and terminal.stdin.isatty():
            terminal.note("Paste the message, then press Enter and Ctrl-D.")
        text = read_text(terminal, path).strip()
        if not text:
            raise usage("there is no message to store")
        pasted = {"sender": (sender or "").strip(), "text": text, "sent_at": stamp(terminal.now())}
        body = {"line": line, "messages": [pasted], "dry_run": dry_run, "pasted": True}
        (one,) = client.call("POST", Path.LOCAL_IMPORT, body=body).data["messages"]
        if one["fate"] == "unreadable":
            raise usage(f"it cannot be stored: {clean(one['why'])}")
        if one["fate"] == "other_sender":
            raise usage(f"{sender!r} is not a sender of the network of {line}; leave --sender out")
        row = {"file_line": 1, "ok": True, "code": None, "message": None}
        row |= {name: one[name] for name in ("fate", "state", "id")}
        said = "It was stored before." if one["fate"] == "known" else "Stored as history."
        if dry_run:
            said = "Dry run: nothing is stored."
        shown = f"{terminal.tick} {said}  {clean(one['state'])}"
        following = [f"momo messages show {clean(one['id'])}"] if one["id"] and not dry_run else []
        return Answer(*made(row), lines=[shown], next=following)
    if file is None or sender is not None:
        raise usage("name the file of the backup, or paste one message with --paste")
    # The whole file is read first, so that an invalid one has no effect.
    with ExitStack() as opened:
        stream = _opened(terminal, file, opened)
        total = sum(1 for _ in _messages(stream, file, form, terminal.zone))
        stack = opened.pop_all()
    if dry_run:
        terminal.note("Dry run: the result would be this; nothing is stored.")
    messages = _messages(stream, file, form, terminal.zone)
    outcomes = _outcomes(client, messages, line, stack, dry_run=dry_run)
    work = Batch(outcomes, total, "Importing", "read", counted=("new", "known", "skipped"))
    return run_batch(terminal, work, ("momo messages list --state historical",))


def _opened(terminal: Terminal, path: str, stack: ExitStack) -> IO[str]:
    """Open the file; copy stdin to a temporary one, because it is read twice."""
    with file_errors(path):
        if path != STDIN:
            with open(path, "rb") as octets:  # noqa: PTH123  # pathlib is not needed here
                encoding = encoding_of(octets.read(2))
            # One odd octet becomes U+FFFD and does not refuse the other messages.
            return stack.enter_context(
                open(path, encoding=encoding, errors="replace", newline="")  # noqa: PTH123  # the same
            )
        unnamed = tempfile.TemporaryFile("w+", encoding="utf-8", newline="")  # noqa: SIM115  # the stack closes it
        kept = stack.enter_context(unnamed)
        while piece := terminal.stdin.read(CHUNK):
            kept.write(piece)
    return kept


def _messages(stream: IO[str], path: str, form: str | None, zone: tzinfo) -> Iterator[BackupMessage]:
    """Yield the messages of the file from its beginning; reject one that cannot be read."""
    stream.seek(0)
    with file_errors(path):
        try:
            yield from messages_of(iter(lambda: stream.read(CHUNK), ""), form, zone)
        except BackupError as error:
            raise usage(f"{path}: {error}") from None


def _outcomes(
    client: Client, messages: Iterable[BackupMessage], line: str, stack: ExitStack, *, dry_run: bool
) -> Iterator[dict[str, Any]]:
    """Send the messages in batches, and yield the outcome of each; close the stack at the end."""
    with stack:
        batch: list[BackupMessage] = []
        characters = 0
        for found in messages:
            length = sum(len(str(value)) for value in found.body.values())
            if batch and (len(batch) == _AT_ONCE or characters + length > _CHARACTERS_AT_ONCE):
                yield from _send(client, batch, line, dry_run=dry_run)
                batch, characters = [], 0
            batch.append(found)
            characters += length
        yield from _send(client, batch, line, dry_run=dry_run)


def _send(client: Client, batch: Sequence[BackupMessage], line: str, *, dry_run: bool) -> Iterator[dict[str, Any]]:
    """Send the readable messages of a batch, and yield the outcome of each, in the file's order."""
    good = [found.body for found in batch if not found.problem]
    outcomes: Iterator[dict[str, Any]] = iter(())
    if good:
        body = {"line": line, "messages": good, "dry_run": dry_run}
        outcomes = iter(client.call("POST", Path.LOCAL_IMPORT, body=body).data["messages"])
    for found in batch:
        one = {"why": found.problem, "fate": "unreadable"} if found.problem else next(outcomes)
        row: dict[str, Any] = {"file_line": found.line}
        if one["fate"] == "unreadable":
            yield {**row, "ok": False, "code": "UNREADABLE", "message": one["why"]}
            continue
        counted = {"new": "new", "known": "known", "skipped": "other_sender"}
        row |= {"ok": True, "fate": one["fate"], "state": one["state"], "id": one["id"]}
        yield row | {name: one["fate"] == fate for name, fate in counted.items()}


def _kind(row: Row) -> str:
    return clean(row.get("kind")).replace("_", " ")


def _why(row: Row) -> str:
    """Return the reasons of a message that is not simply a payment, and how many parts it has."""
    reasons = row.get("reasons")
    known = reasons if isinstance(reasons, list) else []
    found = [clean(reason).replace("_", " ") for reason in known]
    if row.get("state") == MessageState.INCOMPLETE and at(row, "parts.total"):
        found.insert(0, f"{at(row, 'parts.seen')} of {at(row, 'parts.total')} parts")
    return ", ".join(found)


RULE: Final = "---"
"""A line that separates two messages."""
TEMPLATES: Final = "templates"
PIECES_MAX: Final = 4
"""The most pieces into which empty lines can have split one message."""
PASTED_NOTE: Final = "pasted text is never a payment; only a message received by the phone can be"


@dataclass(frozen=True, slots=True)
class Source:
    """The wordings to try: of one network only, and the shop's own ones; with the sender, if it is known."""

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
        "kind": str(reading.kind), "network": None, "wording": None, "sender": source.sender,
        "is_receipt": isinstance(reading, Payment), "why": _why_wording(source, reading), "fields": fields(reading),
        "extra": {}, "nearest": None,
    }  # fmt: skip
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


def _why_wording(source: Source, reading: Reading) -> str:
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
        if not isinstance(entry, dict) or not isinstance(entry.get("text", entry.get("pdu")), str | list):
            raise usage(f'line {number}: give {{"sender": "MobileMoney", "text": "..."}} or {{"pdu": "..."}}')
        yield entry


_VALUES: Final = ("amount", "currency", "payer_name", "payer_phone", "reference", "transaction_id", "balance")


@command(
    "messages parse",
    view=view_of(
        "kind network wording", *(Field(name, f"fields.{name}") for name in _VALUES), "why", id="fields.transaction_id"
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
        momo messages parse messages.jsonl --jsonl
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


_ASKED: Final = ("amount", "payer_name", "payer_phone", "balance", "reference", "transaction_id", "fee", "date", "time")


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


@command("messages templates list", view=view_of("file name network kind confirmed line why todo", id="name"))
def list_wording(client: Client, terminal: Terminal) -> Answer:
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
def check(terminal: Terminal, files: list[str] = argument("FILE...", "The files; - is stdin.")) -> Answer:
    """Each sample must be read by its wording, and neither a shortened message nor text typed by a payer may change the
    values. It needs no daemon. Each problem names its line and the correction. Exit 6: there are problems.

    Examples:
        momo messages templates check templates/mtn.toml
    """
    problems, wordings, notes = [], [], []
    for file in files:
        loaded = load_wordings(read_text(terminal, file))
        problems += [{"file": file, "line": one.line, "why": one.why, "todo": one.todo} for one in loaded.problems]
        for wording in loaded.wordings:
            facts = {"name": wording.name, "network": wording.network, "kind": wording.kind}
            wordings.append({"file": file, **facts})
            known = [read(None, sample, network=wording.network) for sample in wording.samples]
            if all(not isinstance(one, Unreadable) for one in known):
                why = "momo reads its samples without it; it is not needed"
                notes.append(f"{file}: {wording.name}: {why}")
    found = {"wordings": wordings, "problems": problems}
    bad = [
        terminal.style(f"✗ {one['file']}:{one['line']}", "red") + f"  {clean(one['why'])}\n    {clean(one['todo'])}"
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
    values: list[str] | None = option("--set", "FIELD=TEXT", "A field, as it stands in the message."),
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
            parse_marks(sample, given or (None if "{" in sample else _asked(terminal, sample))) for sample in samples
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


@command("messages templates confirm", view=view_of("network wording sender message_id confirmed", id="message_id"))
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
