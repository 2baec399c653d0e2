"""Commands about reviews, and the payers that reviews have approved."""

from typing import Any, Final

from daemon.wire import ErrorCode, Mode, Path
from momo_cli import exit_codes
from momo_cli.errors import Failure, known, usage
from momo_cli.frame.command import command
from momo_cli.inputs.ids import PAYERS, REVIEWS, check_branch, id_of
from momo_cli.inputs.parameters import (
    FAIL_IF_ANY,
    LIMIT,
    NOTES,
    OF_BRANCH,
    OFFSET,
    PASSWORD_FILE,
    argument,
    flag,
    option,
)
from momo_cli.inputs.typed_values import owners_password
from momo_cli.show.answer import Answer, Cell, Head, Row, ended, unchanged, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, list_faults, list_heading, money, phone, state, styled
from momo_cli.socket.client import Client, path_of
from momo_cli.text import at, clean
from momo_cli.views.reviews import (
    OPEN,
    REVIEW_VIEW,
    ask_for_suggestion,
    review_lines,
    review_next,
    review_question,
    settled_lines,
    suggested_reference,
    suggestions_of,
)
from momo_cli.views.transactions import reference_of

_REVIEW = argument("ID", "The review.")


@command("review list", view=REVIEW_VIEW)
def list_(
    client: Client,
    every: bool = flag("--all/--open", "Decided reviews too; default: only open ones."),
    branch: str | None = OF_BRANCH,
    limit: int = LIMIT,
    offset: int = OFFSET,
    fail_if_any: bool = FAIL_IF_ANY,
) -> Answer:
    """Held messages are listed too. The newest come first. With --all, decided ones are listed too. Those of the sandbox
    concern no money: they are listed only with --sandbox, and --fail-if-any does not count them.

    Examples:
        momo review list
        momo review list --fail-if-any --quiet
        momo review list --branch kumasi
    """
    check_branch(client, branch, "momo review list")
    state_ = "all" if every else None
    mode = Mode.TEST if client.sandbox else Mode.LIVE
    reply = client.get(Path.REVIEWS, state=state_, mode=mode, branch=branch, limit=limit, offset=offset)
    rows = reply.data or []
    open_ = [clean(row.get("id")) for row in rows if row.get("state") == OPEN]
    return Answer(
        *reply.parts,
        heading=list_heading(reply, "reviews", offset=offset),
        empty=f"Nothing {'of the sandbox ' if client.sandbox else ''}is held for review.",
        next=[f"momo review show {each}" for each in open_[:1]],
        exit_code=exit_codes.FINDINGS if fail_if_any and rows else exit_codes.OK,
        faults=list_faults(reply, "payment to review", "payments to review", wanted=fail_if_any),
    )


@command("review show", view=REVIEW_VIEW, read=True)
def show(client: Client, terminal: Terminal, review: str = _REVIEW) -> Answer:
    """It shows the message, the payment and the transaction side by side, the reason for the review, and what to do.

    Examples:
        momo review show 3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6
    """
    reply = client.get(path_of(Path.REVIEW, id=id_of(client, REVIEWS, review)))
    return Answer(*reply.parts, lines=review_lines(reply.data, terminal), next=review_next(reply.data))


@command("review approve", view=REVIEW_VIEW)
def approve(
    client: Client,
    terminal: Terminal,
    review: str = _REVIEW,
    order: str | None = option("REF|CODE", "The transaction that it pays."),
    suggested: int | None = option("[=N]", "The suggested transaction; default: the first."),
    notes: str | None = NOTES,
    password_file: str | None = PASSWORD_FILE,
) -> Answer:
    """It pays the transaction that it was held for, or the one given with --order. Without any, it gets a transaction of
    its own and is forwarded. A payment that may be forged needs your confirmation that the money is in the wallet, and
    the owner's password. Messages that wait for the same answer are settled with it. If a payment is close to open transactions, they are suggested: on a terminal one key chooses,
    elsewhere --suggested. Exit 10: not confirmed.

    Examples:
        momo review approve 3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --notes "she showed her phone"
        momo review approve 3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --order 7KQ2MX
        momo review approve 3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --suggested
        momo review approve 3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --password-file pw.txt --yes
    """
    if order is not None and suggested is not None:
        raise usage("--order and --suggested each name a transaction; give one of them")
    review = id_of(client, REVIEWS, review)
    seen = client.get(path_of(Path.REVIEW, id=review))
    body: dict[str, Any] = {}
    if notes is not None:
        body["notes"] = notes
    reference = _chosen(client, terminal, seen.data, order, suggested)
    if reference is None:
        return unchanged(seen)
    if reference:
        body["reference"] = reference
    if seen.data.get("needs_password") and seen.data.get("state") == OPEN:
        if not _is_sure(terminal, seen.data):
            return unchanged(seen)
        body["password"] = owners_password(terminal, password_file)
    with known(reference=str(body.get("reference", order or "")), review=review):
        try:
            reply = client.post_once(path_of(Path.REVIEW_APPROVE, id=review), body)
        except Failure as failure:
            if failure.code == ErrorCode.INVALID_PASSWORD:
                failure.next = (f"momo review approve {review}",)
            raise
    row, transaction = reply.data, reply.body.get("transaction")
    paid, status = clean(at(transaction, "reference")), state(at(transaction, "status"))
    said = terminal.style("✓ Approved.", "green")
    said += f" {money(row.get('amount'), row.get('currency'))}"
    if at(transaction, "origin") == "open":
        said += f" is recorded as a new transaction ({paid})."
    else:
        said += f" → {paid}  {styled(status, terminal)}"
    lines = [said, *settled_lines(reply.body)]
    return Answer(*reply.parts, lines=lines, next=review_next(reply.data))


def _chosen(client: Client, terminal: Terminal, row: Row, order: str | None, suggested: int | None) -> str | None:
    """Return the reference of the named or chosen transaction; empty for none, None if the operator cancelled."""
    if order is not None:
        return reference_of(client, order)
    if row.get("state") != OPEN:
        return ""
    if suggested is not None:
        return suggested_reference(row, suggested)
    if suggestions_of(row) and terminal.can_ask() and not terminal.flags.yes:
        return ask_for_suggestion(terminal, row)
    return ""


def _is_sure(terminal: Terminal, row: Row) -> bool:
    if terminal.flags.yes:
        return True
    if not terminal.can_ask():
        check = "check the money in the wallet, then confirm with --yes"
        raise usage(f"this payment may be forged: {check}")
    for line in review_lines(row, terminal):
        terminal.complain(line)
    return terminal.ask(f"\n{review_question(row)}: ", "--yes") == "YES"


@command("review reject", view=REVIEW_VIEW)
def reject(
    client: Client,
    terminal: Terminal,
    review: str = _REVIEW,
    notes: str = option("--notes", "--reason", "The reason, for the journal.", default=...),
    password_file: str | None = PASSWORD_FILE,
) -> Answer:
    """It pays no transaction and is not forwarded; its transaction waits for a payment again. Real money stays in the
    wallet and in the books: pay it back, or match it later with momo reconcile. If further messages are rejected with
    it, the owner's password is needed. For 72 hours momo review undo takes the decision back.

    Examples:
        momo review reject 3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6 --notes "no such money in the wallet"
    """
    review = id_of(client, REVIEWS, review)
    path, body = path_of(Path.REVIEW_REJECT, id=review), {"notes": notes}
    if password_file is not None:
        body["password"] = owners_password(terminal, password_file)
    with known(review=review):
        try:
            reply = client.post_once(path, body)
        except Failure as failure:
            if failure.code != ErrorCode.INVALID_PASSWORD or "password" in body:
                raise
            terminal.complain(failure.message)
            body["password"] = owners_password(terminal, password_file)
            reply = client.post_once(path, body)
    row, amount = reply.data, money(reply.data.get("amount"), reply.data.get("currency"))
    lines = [terminal.style("✓ Rejected.", "green")]
    if reply.body.get("transaction") is None:
        lines[0] += " The message is ignored."
    else:
        kept = clean(at(reply.body, "transaction.reference"))
        lines[0] += f" {amount} is recorded and not forwarded ({kept})."
        if row.get("request") is not None:
            status = styled(state(at(row, "request.status")), terminal)
            lines.append(f"  transaction  {clean(at(row, 'request.reference'))}  {status}")
    lines += settled_lines(reply.body)
    return Answer(*reply.parts, lines=lines, next=review_next(reply.data))


@command("review undo", view=REVIEW_VIEW)
def undo(client: Client, terminal: Terminal, review: str = _REVIEW) -> Answer:
    """A decision can be taken back for 72 hours. After an approval the transaction is as it was before, the payment is free
    and the review is open again; every endpoint that was told gets transaction.reversed. After a rejection the message
    or payment is judged again as if it came now. A reconcile is not taken back.

    Examples:
        momo review undo 3f6d9e0a-1b2c-4d5e-8f90-a1b2c3d4e5f6
    """
    review = id_of(client, REVIEWS, review)
    with known(review=review):
        reply = client.post_once(path_of(Path.REVIEW_UNDO, id=review), {})
    row, transaction = reply.data, reply.body.get("transaction")
    said = terminal.style("✓ Taken back.", "green")
    if row.get("state") == OPEN:
        said += f" {money(row.get('amount'), row.get('currency'))} waits for a decision again."
    else:
        said += " It was judged again."
    lines = [said]
    if transaction is not None:
        status = styled(state(at(transaction, "status")), terminal)
        lines.append(f"  transaction  {clean(at(transaction, 'reference'))}  {status}")
    return Answer(*reply.parts, lines=[*lines, *settled_lines(reply.body)], next=review_next(reply.data))


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
def list_payers(
    client: Client,
    phone: str | None = option("Only names for this number."),
    every: bool = flag("--all", "List the revoked names too."),
    limit: int = LIMIT,
    offset: int = OFFSET,
) -> Answer:
    """The newest come first. A receipt without a number matches the expected payer if its name was approved for that
    payer's number. Approving a review "payer's number not on the receipt" approves the name. --all lists the revoked
    names too.

    Examples:
        momo review payers list --phone 0244124567 --all
    """
    reply = client.get(
        Path.APPROVED_PAYERS, phone_number=phone, state="all" if every else None, limit=limit, offset=offset
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
    client: Client, terminal: Terminal, payer: str = argument("ID", "The approved payer: its id, number or name.")
) -> Answer:
    """The next receipt with this name and without a number is held for review again. Earlier payments stay as they are. An
    approval that was revoked already does not change (exit 0).

    Examples:
        momo review payers revoke 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
    """
    path = path_of(Path.APPROVED_PAYER, id=_found(client, payer))
    seen = client.get(path)
    if seen.data.get("state") == "revoked":
        when = ago(seen.data.get("revoked_at"), terminal)
        return ended(seen, "already_revoked", f"It was revoked already, {when}.", "momo review payers list --all")
    reply = client.call("DELETE", path)
    name, number = clean(reply.data.get("name")), phone(reply.data.get("phone_number"))
    said = f"{terminal.style('✓ Revoked.', 'green')} {name} is no longer approved for {number}."
    return ended(reply, "revoked", said, "momo review payers list --all")


def _found(client: Client, typed: str) -> str:
    """Return the id of an approved payer; look among the revoked ones if there is no other match."""
    try:
        return id_of(client, PAYERS, typed)
    except Failure as failure:
        if failure.code != ErrorCode.APPROVED_PAYER_NOT_FOUND:
            raise
    return id_of(client, PAYERS._replace(query={"state": "all"}), typed)
