"""The commands at a branch: join a hub, see how far it is, leave, and take rows back after a restore."""

import shlex
from typing import Annotated, Final

from daemon.wire import ErrorCode, Path
from momo_cli.errors import Failure, usage
from momo_cli.exit_codes import DAEMON
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import argument, option
from momo_cli.show.answer import Answer, Row, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, fact_lines
from momo_cli.socket.client import Client
from momo_cli.text import at, clean

_JOIN_VIEW: Final = view_of(
    "joined name hub url decides payments transactions reviews codes_like_a_hub", id="name"
)
_STATUS_VIEW: Final = view_of(
    "name url decides epoch acked behind heard_at problem handed_up undecided",
    "agrees=compared.agrees hub_payments=compared.hub_payments",
    id="name",
)
_LEAVE_VIEW: Final = view_of("left")
_RESTORE_VIEW: Final = view_of("payments=rows.payment transactions=rows.transaction")
_STATUS: Final = "momo branch status"
_WAIT_S: Final = 1.0
_ASIDE_SHOWN: Final = 10
_LABELS: Final = 15
"""The width of the column of the labels."""


@command("branch join", view=_JOIN_VIEW)
def join(
    client: Client,
    terminal: Terminal,
    url: Annotated[str, argument("URL", "The hub's address.")],
    word: Annotated[str, argument("WORD", "The word of the invitation.")],
    dry_run: Annotated[
        bool, option("-n", "--dry-run", "Try the invitation and count what would be sent.")
    ] = False,
) -> Answer:
    """Make this shop a branch of a hub.

    It sends its history, then all that it stores; it works on without internet and sends later. On a terminal the command
    waits until the history is sent, and compares number and sum of the payments of each day with the hub's; Ctrl-C ends
    the waiting. Its payment codes begin with a letter from now on. Codes in use that begin with a digit stay its own.
    Exit 7: the hub did not answer; 5: it refused.

    Examples:
        momo branch join https://hub.example 7k2m9xq4 --dry-run
        momo branch join https://hub.example 7k2m9xq4
    """
    try:
        reply = client.call(
            "POST", Path.LOCAL_BRANCH, body={"url": url, "word": word, "dry_run": dry_run}
        )
    except Failure as failure:
        _explain(failure, url, word, dry_run=dry_run)
        raise
    row = reply.data
    sent = f"{row['payments']} payments and {row['transactions']} transactions"
    if row["joined"]:
        said = f"{terminal.tick} This shop is the branch {clean(row['name'])} of {clean(row['hub'])}; it sends {sent}."
    else:
        said = f"This shop would be the branch {clean(row['name'])} of {clean(row['hub'])}, and send {sent}."
    notes = []
    if row["codes_like_a_hub"]:
        notes.append(
            f"{row['codes_like_a_hub']} codes in use begin with a digit; they stay this shop's own."
        )
    if row.get("rows"):
        notes.append(
            f"The hub had later rows than this shop: {row['rows']['payment']} payments and "
            f"{row['rows']['transaction']} transactions came back first."
        )
    notes += _aside(row)
    lines = [said]
    if row["joined"] and terminal.human:
        terminal.note(said)
        _wait_until_sent(client, terminal)
        now = client.get(Path.LOCAL_BRANCH, compare="all").data
        lines = [f"The hub has the same: {_compared(now.get('compared') or {})}"]
    return Answer(
        *reply.parts, lines=lines, notes=notes, next=[f"{_STATUS} --wait"] if row["joined"] else []
    )


def _explain(failure: Failure, url: str, word: str, *, dry_run: bool) -> None:
    """Set the exit code and the next steps of a hub that did not answer, or does not know the word."""
    if failure.code == ErrorCode.HUB_REFUSED and at(failure.body, "error.answered") is False:
        failure.exit_code = DAEMON
        look = f"curl -I {shlex.quote(url.strip().rstrip('/') + '/healthz')}"
        again = f"momo branch join {shlex.quote(url)} {shlex.quote(word)}"
        failure.next = (look, f"{again} --dry-run" if dry_run else again)
    elif failure.code == ErrorCode.HUB_REFUSED:
        failure.next = ("momo branch join --help",)
    elif failure.code == ErrorCode.INVITATION_INVALID:
        failure.next = ("at the hub: momo hub invite NAME",)


@command("branch status", view=_STATUS_VIEW)
def status(
    client: Client,
    terminal: Terminal,
    wait: Annotated[
        bool, option("--wait", "Wait until all is sent; then compare every day, not the last 31.")
    ] = False,
) -> Answer:
    """Show how far this branch has sent, and whether the hub has the same.

    "to send" counts changes that the hub does not have yet; in JSON it is `behind`. "handed up" counts payments that head
    office decides. "same as the hub" compares number and sum of the payments of each day with the hub's copies.

    Examples:
        momo branch status
        momo branch status --wait
        momo branch status --get data.behind
    """
    if wait:
        _wait_until_sent(client, terminal)
    reply = client.get(Path.LOCAL_BRANCH, compare="all" if wait else "recent")
    row = reply.data
    facts = [
        ("branch", clean(row["name"])),
        ("hub", clean(row["url"])),
        ("heard", ago(row.get("heard_at"), terminal) or "never"),
        ("to send", str(row["behind"])),
        ("same as the hub", _compared(row.get("compared") or {})),
        ("handed up", f"{row['handed_up']}, of which {row['undecided']} not decided"),
    ]
    if row.get("problem"):
        facts.append(("problem", clean(row["problem"])))
    return Answer(*reply.parts, lines=fact_lines(facts, _LABELS))


def _wait_until_sent(client: Client, terminal: Terminal) -> None:
    told = None
    while True:
        row = client.get(Path.LOCAL_BRANCH).data
        if not row["behind"] or row.get("problem"):
            return
        if row["behind"] != told:
            told = row["behind"]
            terminal.note(f"{told} changes to send. Ctrl-C ends the waiting, not the sending.")
        client.pause(_WAIT_S)


def _compared(found: Row) -> str:
    if found.get("agrees") is None:
        return f"not known: {clean(found.get('why') or 'the hub was not asked')}"
    span = "of the last 31 days" if found.get("days") else "in all"
    if found["agrees"]:
        return f"yes: {found['payments']} payments {span}, numbers and sums of each day agree"
    days = ", ".join(map(clean, found["different_days"]))
    return f"no: {found['payments']} payments {span} here, {found['hub_payments']} at the hub; different days: {days}"


@command("branch leave", view=_LEAVE_VIEW)
def leave(
    client: Client,
    terminal: Terminal,
    force: Annotated[
        bool, option("--force", "Forget the hub now; what it did not give back stays handed up.")
    ] = False,
) -> Answer:
    """Leave the hub.

    The branch leaves by itself once all is sent and payments that head office did not use are back. momo branch status
    shows how far it is.

    Examples:
        momo branch leave
        momo branch leave --force
    """
    reply = client.call("POST", Path.LOCAL_BRANCH_LEAVE, body={"force": force})
    if reply.data["left"]:
        said = f"{terminal.tick} This shop is on its own."
    else:
        said = "The branch leaves once all is sent and decided."
    return Answer(*reply.parts, lines=[said], next=[] if reply.data["left"] else [_STATUS])


@command("branch restore", view=_RESTORE_VIEW)
def restore(
    client: Client,
    terminal: Terminal,
    from_hub: Annotated[bool, option("--from-hub", "Take the rows from the hub.")] = False,
) -> Answer:
    """Take this branch's rows back from the hub.

    For a shop that was restored from an old backup, or set up anew and joined again. Rows that are further on here stay, and
    the answer names rows of the hub that contradict them. Texts of SMS are not at the hub. Then everything is sent once more, and another machine that sends as this
    branch is refused.

    Examples:
        momo branch restore --from-hub
    """
    if not from_hub:
        raise usage("say where the rows come from: --from-hub")
    reply = client.call("POST", Path.LOCAL_BRANCH_RESTORE, body={})
    rows = reply.data["rows"]
    said = f"{terminal.tick} {rows['payment']} payments and {rows['transaction']} transactions came back."
    return Answer(*reply.parts, lines=[said], notes=_aside(reply.data), next=[_STATUS])


def _aside(row: Row) -> list[str]:
    """Return a note about rows that did not come back."""
    aside = row.get("aside") or []
    if not aside:
        return []
    named = clean(", ".join(aside[:_ASIDE_SHOWN]))
    return [f"{len(aside)} rows did not come back, because rows here contradict them: {named}"]
