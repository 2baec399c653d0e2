"""The commands about notices to the owner."""

from collections.abc import Iterator, Sequence
from typing import Final

from daemon.wire import Path
from momo_cli import exit_codes
from momo_cli.frame.command import command
from momo_cli.inputs.ids import NOTICES, id_of
from momo_cli.inputs.parameters import argument, flag, option
from momo_cli.inputs.passwords import owners_password
from momo_cli.show.answer import Answer, Cell, Row, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, counted, styled
from momo_cli.socket.client import Client
from momo_cli.text import at, clean

_INDENT: Final = "       "
_NOW: Final = Cell("! now", "red")
_NOTE: Final = Cell("- note", "dim")
_OVER: Final = Cell("✓ over", "green")
_WORST: Final = (_NOW, _NOTE, _OVER)
"""The marks, the most urgent first."""
_SHOWN_MAX: Final = 3
"""The notices of one reason that are shown one by one."""
_ID_SHOWN: Final = 8
_LIST_VIEW: Final = view_of("id kind urgent text next count first_at last_at seen_at recovered_at")


@command("notices list", view=_LIST_VIEW)
def list_(
    client: Client,
    terminal: Terminal,
    every: bool = flag("--all", "Seen notices too."),
    limit: int = option("At most N.", default=50, min=1, max=500),
) -> Answer:
    """List the notices.

    These are the notices that you have not marked as seen, newest first; with --all the seen ones too. Notices for the
    same reason stand together. The list does not mark them as seen: use momo notices seen.

    Examples:
        momo notices list
        momo notices list --all --json
    """
    reply = client.get(Path.LOCAL_NOTICES, all="1" if every else None, limit=limit)
    rows, failed = reply.data or [], at(reply.body, "meta.not_sent")
    notes = []
    if isinstance(failed, dict):
        notes.append(f"! {clean(failed.get('channel'))}: {clean(failed.get('error'))}")
    return Answer(
        *reply.parts,
        lines=[line for group in _by_kind(rows) for line in _lines(group, terminal)],
        empty="Nothing new.",
        notes=notes,
        next=["momo notices seen"] if rows and not every else [],
    )


def _by_kind(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the notices in groups of one reason; the group with the newest notice comes first."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(str(row.get("kind")), []).append(row)
    return list(groups.values())


def _mark(row: Row) -> Cell:
    if row.get("recovered_at"):
        return _OVER
    return _NOW if row.get("urgent") else _NOTE


def _lines(group: list[Row], terminal: Terminal) -> Iterator[str]:
    """Return the lines of the notices for one reason; a command has a line of its own, to be copied."""
    first = group[0]
    if len(group) == 1:
        yield f"{styled(_mark(first), terminal)}  {_when(first, terminal)}"
        yield f"{_INDENT}{clean(first.get('text'))}"
    else:
        worst = min((_mark(row) for row in group), key=_WORST.index)
        yield f"{styled(worst, terminal)}  {len(group)} notices: {clean(first.get('kind'))}"
    for row in group[:_SHOWN_MAX] if len(group) > 1 else ():
        yield f"{_INDENT}{_when(row, terminal)}"
        yield f"{_INDENT}  {clean(row.get('text'))}"
    if len(group) > _SHOWN_MAX:
        yield f"{_INDENT}and {len(group) - _SHOWN_MAX} more: momo notices list -o plain"
    for typed in dict.fromkeys(clean(row.get("next")) for row in group[:_SHOWN_MAX]):
        if typed:
            yield f"{_INDENT}{typed}"


def _when(row: Row, terminal: Terminal) -> str:
    """Return the age of a notice, how often it occurred, and the beginning of its id, which commands accept."""
    count = row.get("count")
    times = f"  {count} times" if isinstance(count, int) and count > 1 else ""
    which = terminal.style(clean(row.get("id"))[:_ID_SHOWN], "dim")
    return f"{ago(row.get('last_at'), terminal)}{times}  {which}"


@command("notices seen", view=view_of("seen", id="seen"))
def seen(
    client: Client,
    terminal: Terminal,
    notice: str | None = argument("[ID]", "One notice: its id, or a part of it.", default=None),
) -> Answer:
    """Mark notices as seen.

    All of them are marked, or the one with ID. A notice that occurs again is shown again.

    Examples:
        momo notices seen
        momo notices seen 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
    """
    body = {} if notice is None else {"id": id_of(client, NOTICES, notice)}
    reply = client.call("POST", Path.LOCAL_NOTICES_SEEN, body=body)
    said = counted(reply.data.get("seen") or 0, "notice")
    return Answer(*reply.parts, lines=[f"{terminal.tick} {said} seen."])


@command("notices test", view=view_of("channel", id="channel"))
def send_test(client: Client, terminal: Terminal) -> Answer:
    """Send yourself a test notice.

    It goes through each channel in the settings: [smtp] and [notices] of config.toml.

    Examples:
        momo notices test
    """
    reply = client.call("POST", Path.LOCAL_NOTICES_TEST)
    channels = reply.data.get("queued") or []
    if not channels:
        return Answer(
            reply.text,
            empty="The settings have no channel: set host and to under [smtp], or desktop under [notices].",
            next=["momo config edit", "momo config set notices.desktop true"],
            exit_code=exit_codes.FINDINGS,
        )
    names = ", ".join(clean(one) for one in channels)
    return Answer(
        reply.text,
        [{"channel": one} for one in channels],
        lines=[f"{terminal.tick} On its way by {names}."],
        next=["momo notices list"],
    )


@command("notices password", view=view_of("set", id="set"))
def password(
    client: Client,
    terminal: Terminal,
    password_file: str | None = option("FILE", "The password; - = stdin."),
    forget: bool = flag("Delete the stored password."),
) -> Answer:
    """Store the password of the mail account.

    It is the account that sends the notices; the password is stored encrypted. --forget deletes it.

    Examples:
        momo notices password
        momo notices password --password-file mail.pw
        momo notices password --forget
    """
    question = "The mail account's password: "
    typed = None if forget else owners_password(terminal, password_file, question)
    reply = client.call("POST", Path.LOCAL_SMTP_PASSWORD, body={"password": typed})
    state = "The password is stored, encrypted." if typed is not None else "No password is stored."
    return Answer(*reply.parts, lines=[f"{terminal.tick} {state}"], next=["momo notices test"])
