"""The commands about approved payers: the names approved for a number."""

from typing import Annotated, Final

from daemon.wire import ErrorCode, Path
from momo_cli.errors import Failure
from momo_cli.frame.command import command
from momo_cli.inputs.ids import PAYERS, id_of
from momo_cli.inputs.parameters import Limit, Offset, argument, option
from momo_cli.show.answer import Answer, Cell, Head, view_of, with_status
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, phone
from momo_cli.socket.client import Client, Reply, path_of
from momo_cli.text import clean

_STATES: Final = {"approved": Cell("✓ approved", "green"), "revoked": Cell("✗ revoked", "red")}
_LIST_VIEW: Final = view_of(
    "id phone_number name state review_id approved_by approved_at revoked_by revoked_at",
    Head("NUMBER", lambda row, _: phone(row.get("phone_number"))),
    Head("NAME", lambda row, _: clean(row.get("name"))),
    Head("STATE", lambda row, _: _STATES.get(str(row.get("state")), Cell(""))),
    Head("BY", lambda row, _: clean(row.get("approved_by"))),
    Head("WHEN", lambda row, t: ago(row.get("approved_at"), t)),
    Head("ID", lambda row, _: clean(row.get("id")), cut=True),
)


@command("review payers list", view=_LIST_VIEW)
def list_(
    client: Client,
    phone: Annotated[str | None, option("Only names for this number.")] = None,
    every: Annotated[bool, option("--all", "List the revoked names too.")] = False,
    limit: Limit = 50,
    offset: Offset = 0,
) -> Answer:
    """List the payer names approved for a number.

    The newest come first. A receipt without a number matches the expected payer if its name was approved for that
    payer's number. Approving a review "payer's number not on the receipt" approves the name. --all lists the revoked
    names too.

    Examples:
        momo review payers list
        momo review payers list --phone 0244124567 --all
    """
    reply = client.get(
        Path.APPROVED_PAYERS,
        phone_number=phone,
        state="all" if every else None,
        limit=limit,
        offset=offset,
    )
    rows = reply.data or ()
    numbers = [clean(row.get("phone_number")) for row in rows]
    following = [
        f"momo review payers revoke {numbers[0] if numbers.count(numbers[0]) == 1 else clean(row.get('id'))}"
        for row in rows[:1]
    ]
    return Answer(*reply.parts, empty="No names were approved.", next=following)


@command("review payers revoke", view=view_of(*_LIST_VIEW.fields, "status"))
def revoke(
    client: Client,
    terminal: Terminal,
    payer: Annotated[str, argument("ID", "The approved payer: its id, number or name.")],
) -> Answer:
    """Revoke the approval of a payer name.

    The next receipt with this name and without a number is held for review again. Earlier payments stay as they are. An
    approval that was revoked already does not change (exit 0).

    Examples:
        momo review payers revoke 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
    """
    path = path_of(Path.APPROVED_PAYER, id=_found(client, payer))
    seen = client.get(path)
    if seen.data.get("state") == "revoked":
        when = ago(seen.data.get("revoked_at"), terminal)
        return _revoked(seen, f"It was revoked already, {when}.", "already_revoked")
    reply = client.call("DELETE", path)
    name, number = clean(reply.data.get("name")), phone(reply.data.get("phone_number"))
    said = f"{terminal.style('✓ Revoked.', 'green')} {name} is no longer approved for {number}."
    return _revoked(reply, said, "revoked")


def _found(client: Client, typed: str) -> str:
    """Return the id of an approved payer; look among the revoked ones if there is no other match."""
    try:
        return id_of(client, PAYERS, typed)
    except Failure as failure:
        if failure.code != ErrorCode.APPROVED_PAYER_NOT_FOUND:
            raise
    return id_of(client, PAYERS._replace(query={"state": "all"}), typed)


def _revoked(reply: Reply, said: str, status: str) -> Answer:
    return Answer(
        with_status(reply.body, status),
        [{**reply.data, "status": status}],
        lines=[said],
        next=["momo review payers list --all"],
    )
