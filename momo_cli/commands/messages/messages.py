"""The commands about messages: the SMS that came in or were imported."""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import tzinfo
from typing import IO, Any, Final

from daemon.wire import MessageState, Path, TrustLevel
from momo_cli.errors import usage
from momo_cli.frame.command import command
from momo_cli.inputs.ids import MESSAGES, id_of, ids_of
from momo_cli.inputs.parameters import DRY_RUN, OFFSET, SHOW_BODY, argument, flag, option
from momo_cli.inputs.typed_values import (
    STDIN,
    check_choice,
    file_errors,
    only_given,
    read_text,
    time_of,
)
from momo_cli.show.answer import Answer, Head, Row, document_of, made, view_of
from momo_cli.show.batch import Batch, run_batch
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, clock, fact_lines, list_heading, money, styled, with_test_mark
from momo_cli.show.words import state as state_cell
from momo_cli.socket.client import Client, path_of
from momo_cli.text import at, clean
from momo_cli.times import stamp
from parsers.phone_backup import CHUNK, FORMS, BackupError, BackupMessage, encoding_of, messages_of

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
    """The newest come first, each with its state. The texts are shown only with --show-body.

    Examples:
        momo messages list --since 1h
        momo messages list --state unparsed
        momo messages list --sender MobileMoney --since today
        momo messages list --fields received_at,sender,state,amount -o csv
    """
    if state is not None and state.lower() not in set(MessageState):
        raise usage(f"--state: {state!r} is not one of {', '.join(MessageState)}")
    kind = state.lower() if state else None
    reply = client.get(
        Path.LOCAL_MESSAGES,
        limit=limit,
        offset=offset,
        state=kind,
        line=line,
        sender=sender,
        since=time_of(since or None, "--since", terminal),
        show_body="1" if show_body else None,
    )
    return Answer(
        *reply.parts,
        heading=list_heading(reply, "messages", offset=offset, kind=kind),
        empty=f"No {f'{kind} ' if kind else ''}messages.",
    )


@command("messages show", view=view_of(*_BODY_VIEW.fields))
def show(
    client: Client, terminal: Terminal, message: str = _MESSAGE, show_body: bool = SHOW_BODY
) -> Answer:
    """It shows the values read from it and why it is or is not a payment. --show-body shows the text.

    Examples:
        momo messages show 0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11
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
        momo messages reparse 0b6f8f0f-3a55-4a83-9d0c-6f1c0f2e3f11
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
        momo messages import sms-backup.xml --line 0244124567
        momo messages import - --line 0244124567 --format csv < inbox.csv
        momo messages import --paste --line 0244124567 < receipt.txt
    """
    check_choice(form, "--format", FORMS)
    line = line.strip()
    if paste:
        if form is not None:
            raise usage("--format is for files, not for --paste")
        return _paste(client, terminal, file or STDIN, line, sender, dry_run=dry_run)
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


def _paste(
    client: Client, terminal: Terminal, path: str, line: str, sender: str | None, *, dry_run: bool
) -> Answer:
    """Store one pasted message as history."""
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


def _messages(
    stream: IO[str], path: str, form: str | None, zone: tzinfo
) -> Iterator[BackupMessage]:
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


def _send(
    client: Client, batch: Sequence[BackupMessage], line: str, *, dry_run: bool
) -> Iterator[dict[str, Any]]:
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
