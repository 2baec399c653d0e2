"""Commands about transactions, and watch."""

import json
import os
import shlex
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

from daemon.wire import Mode, Path, SettlementKind, TransactionStatus
from momo_cli import exit_codes, system
from momo_cli.errors import Failure, known, usage
from momo_cli.flags import Output
from momo_cli.frame.command import command
from momo_cli.inputs.ids import check_branch
from momo_cli.inputs.parameters import (
    ALL_ROWS,
    NOTES,
    OF_BRANCH,
    REASON,
    SINCE_EVENT,
    TRANSACTION,
    argument,
    flag,
    option,
)
from momo_cli.inputs.typed_values import amount_of, check_choice, only_given, period, read_json
from momo_cli.show.answer import Answer, Cell, Head, Row, dumps, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import clock, drawn, money, payer_of, payer_text, phone, state, styled
from momo_cli.socket.client import Client, Reply, path_of
from momo_cli.text import at, clean, warnings_of
from momo_cli.times import duration_s
from momo_cli.views.transactions import (
    LIST_VIEW,
    SHOW_VIEW,
    STATUS_WORDS,
    Goal,
    answer_text,
    find_transaction,
    follow_events,
    mark_doubted,
    parse_status,
    reference_of,
    transaction_answer,
    wait_for,
)

_SORTS: Final = ("newest", "oldest", "largest", "smallest")
_PER_PAGE: Final = 50
_PER_PAGE_MAX: Final = 100
_EVENTS_VIEW: Final = view_of("id at type actor text payment_id message_id")
_LIMIT_MAX: Final = 500
_SENT_MAX: Final = 200
_NOTIFY: Final = "notify-send"
_NOTIFY_S: Final = 5.0
_WATCH_VIEW: Final = view_of(
    "id event reference=data.reference svc_code=data.svc_code status=data.status",
    "actual_amount=data.actual_amount",
    Head("WHEN", lambda row, t: clock(_of(row, "at", "timestamp", "created_at"), t)),
    Head("EVENT", lambda row, _: clean(row["event"])),
    Head("STATUS", lambda row, _: state(_of(row, "status"))),
    Head("CODE", lambda row, _: Cell(clean(_of(row, "svc_code")), "bold")),
    Head("AMOUNT", lambda row, _: money(_of(row, "actual_amount", "amount"), _of(row, "currency"))),
    Head("PAYER", lambda row, _: payer_of(row["data"])),
    Head("REFERENCE", lambda row, _: clean(_of(row, "reference"))),
)
_LIMIT_S: Final = 600.0
_NOT_EXACT: Final = (TransactionStatus.PARTIAL, TransactionStatus.OVERPAID)


class _Origin(StrEnum):
    """The kind of transactions in a list."""

    REQUEST = "request"
    OPEN = "open"
    ALL = "all"


@command("tx list", view=LIST_VIEW)
def list_(
    client: Client,
    terminal: Terminal,
    status: str | None = option("Only this status: waiting, paid, short, over, review, or the API's word."),
    origin: _Origin = option(
        "ORIGIN",
        "request: asked for; open: made for a payment without one; all.",
        default=_Origin.REQUEST,
        show_default=True,
    ),
    unsettled: bool = flag("Only what is owed or to give back: momo tx settle ends it."),
    since: str | None = option("--from", "--since", "Created at or after: 24h, today, 2026-01-31."),
    until: str | None = option("--to", "--until", "Last day, or created before this time."),
    phone: str | None = option("Only this payer's number."),
    page: int = option("The page.", default=1, min=1),
    per_page: int = option(
        "--per-page",
        "--limit",
        "Transactions per page.",
        default=_PER_PAGE,
        min=1,
        max=_PER_PAGE_MAX,
        show_default=True,
    ),
    every: bool = ALL_ROWS,
    search: str | None = option("TEXT", "Part of a code, network ID, name, number or reference."),
    sort: str = option("|".join(_SORTS), "The order of the list.", default=_SORTS[0], show_default=True),
    branch: str | None = OF_BRANCH,
) -> Answer:
    """The newest come first; --sandbox lists those of the sandbox. In a pipe: tab-separated columns reference, svc_code,
    status, expected_amount, actual_amount, difference, difference_type, currency, payer_phone, payer_name, created_at,
    completed_at, payer_phone_source, payer_name_source. A source is `receipt`, or `request` if the receipt has no value.

    Examples:
        momo tx list
        momo tx list --from today --fields svc_code,actual_amount -o csv
        momo tx list --search kofi --sort largest --sandbox
        momo tx list --unsettled
        momo tx list --branch kumasi --all --json
    """
    if every and page != 1:
        raise usage("--all writes every page; leave out --page")
    check_choice(sort, "--sort", _SORTS)
    check_branch(client, branch, "momo tx list")
    wanted = None if status is None else parse_status(status)
    other_origin = None if origin is _Origin.REQUEST else str(origin)
    other_sort = None if sort == _SORTS[0] else sort
    query = {
        "status": wanted, "origin": other_origin, "mode": Mode.TEST if client.sandbox else Mode.LIVE,
        **period(since, until, terminal), "phone_number": phone, "search": search,
        "unsettled": "true" if unsettled else None, "branch": branch, "sort": other_sort,
        "per_page": _PER_PAGE_MAX if every else per_page,
    }  # fmt: skip
    if every:
        return Answer(rows=_all(client, query), stream=not terminal.human, summary=True)
    reply = client.get(Path.TRANSACTIONS, page=page, **query)
    flags = {
        "--status": wanted, "--origin": other_origin, "--from": since, "--to": until, "--phone": phone,
        "--search": search, "--branch": branch, "--sort": other_sort,
        "--per-page": None if per_page == _PER_PAGE else str(per_page), "--page": str(page + 1),
    }  # fmt: skip
    kind = f"unsettled {_kind(wanted, origin)}" if unsettled else _kind(wanted, origin)
    rows = mark_doubted(reply.data or [], client, terminal)
    total, more = at(reply.body, "pagination.total"), at(reply.body, "pagination.has_next")
    of = f" of {total}" if isinstance(total, int) else ""
    heading = f"Showing {len(rows)}{of} {kind}, page {page}"
    words = [word for flag, value in flags.items() if value is not None for word in (flag, value)]
    words = [*(["--sandbox"] if client.sandbox else []), *words]
    words += ["--unsettled"] if unsettled else []
    return Answer(
        reply.text,
        rows,
        heading=f"{heading}, next: --page {page + 1}" if more else heading,
        empty=f"No {kind}.",
        next=[shlex.join(["momo", "tx", "list", *words])] if more else [],
    )


def _all(client: Client, query: dict[str, Any]) -> Iterator[Row]:
    """Yield the rows of all pages; each page starts after the last row of the one before, so new rows shift nothing."""
    after: str | None = None
    while True:
        reply = client.get(Path.TRANSACTIONS, after=after, **query)
        rows = reply.data or []
        yield from rows
        if not rows or len(rows) < (at(reply.body, "pagination.per_page") or 1):
            return
        after = rows[-1]["reference"]


def _kind(status: str | None, origin: _Origin) -> str:
    """Return the noun for the rows, such as `short transactions`, with the word of the table for the status."""
    shown_as = {str(status): word.lower() for word, status in STATUS_WORDS.items()}
    word = shown_as.get(status or "", (status or "").lower())
    noun = "payments without a transaction" if origin is _Origin.OPEN else "transactions"
    return f"{word} {noun}".strip()


@command("tx show", view=lambda *, events, **_: _EVENTS_VIEW if events else SHOW_VIEW, read=True)
def show(
    client: Client,
    terminal: Terminal,
    transaction: str | None = argument("REF|CODE", "The transaction's reference or code.", default=None),
    client_ref: str | None = option("--client-ref", "Find it by your own order number."),
    events: bool = flag("Its events too."),
) -> Answer:
    """It shows the expected and the received amount, the payer and the times. A payer's name or number that the receipt
    does not contain is the request's, and says so. With --events, also its events, oldest first, the SMS that paid it
    and its webhooks; --json then has "events", and the rest in "local", beside "data".

    Examples:
        momo tx show 7KQ2MX
        momo tx show --client-ref INV-17
        momo tx show 7KQ2MX --events
    """
    if (transaction is None) == (client_ref is None):
        raise usage("give one of REF, CODE and --client-ref")
    if client_ref is not None:
        reply = client.get(path_of(Path.TRANSACTION_BY_CLIENT_REF, client_ref=client_ref))
    else:
        reply = find_transaction(client, transaction or "")
    (row,) = mark_doubted([reply.data], client, terminal)
    answer = transaction_answer(replace(reply, body={**reply.body, "data": row}), terminal)
    return _with_events(client, terminal, reply, answer) if events else answer


def _with_events(client: Client, terminal: Terminal, reply: Reply, answer: Answer) -> Answer:
    path = path_of(Path.TRANSACTION_EVENTS, reference=str(reply.data["reference"]))
    events = list(client.rows(path, {}, page=_LIMIT_MAX))
    name = reply.data["reference"]
    messages = [event["message_id"] for event in events if event.get("message_id")]
    sent = client.get(Path.DELIVERIES, transaction_id=name, kind="all", limit=_SENT_MAX)
    review = None
    if reply.data.get("status") == TransactionStatus.MANUAL_REVIEW:
        rows = client.get(Path.REVIEWS).data or ()
        about = (row for row in rows if at(row, "request.reference") == name)
        review = next((row.get("id") for row in about), None)
    local = {
        "message_id": messages[-1] if messages else None,
        "matched_by": reply.data.get("matched_by"),
        "review": review,
        "deliveries": sent.data or [],
    }
    # One document for all calls: the transaction's own, with the events beside its `data`.
    document = dumps({**reply.body, "events": events, "local": local})
    times = [f"{clock(event.get('at'), terminal):<12}" for event in events]
    lines = [f"  {time}  {clean(event.get('text'))}" for time, event in zip(times, events, strict=True)]
    if local["message_id"]:
        lines += ["", f"  sms       {clean(local['message_id'])}"]
    lines += [_sent(row, terminal) for row in local["deliveries"]]
    # The rows for programs are the events; on a terminal the transaction stands above them.
    return replace(answer, document=document, rows=events, lines=[*answer.lines, "", *lines])


def _sent(row: Row, terminal: Terminal) -> str:
    said = f"  {answer_text(row)}" if answer_text(row) else ""
    what = f"{styled(state(row.get('status')), terminal)}  {clean(row.get('event'))}{said}"
    return f"  webhook   {what}  {clean(row.get('id'))}"


@command("tx watch", view=_WATCH_VIEW)
def watch(
    client: Client,
    terminal: Terminal,
    transaction: str | None = argument("[REF|CODE]", "Only this transaction.", default=None),
    since: str | None = SINCE_EVENT,
    status: list[str] | None = option("Only transactions with this status, such as paid; repeat for each."),
    notify: bool = flag("Ring the bell and show a desktop notification for each."),
) -> Answer:
    """Each change is one line, until Ctrl-C. --json writes one JSON document per line:
    {"type":"item","event":...,"id":...,"data":{...}}. It goes on while the daemon restarts and misses nothing; exit 7:
    the daemon was away for 30 s.

    Examples:
        momo tx watch
        momo tx watch 7KQ2MX
        momo tx watch --status paid --status over --notify
    """
    statuses = frozenset(parse_status(one) for one in status or ())
    reference = None if transaction is None else reference_of(client, transaction)
    if terminal.human:
        terminal.note("Watching. Ctrl-C ends it.")
    rows = _items(client, reference, since, statuses)
    return Answer(rows=_noticed(rows, terminal) if notify else rows, stream=True)


def _of(row: Row, *names: str) -> object:
    """Return the first of these members of the event's data that exists."""
    return next((v for v in (at(row, f"data.{name}") for name in names) if v is not None), None)


def _items(client: Client, reference: str | None, since: str | None, statuses: frozenset[str]) -> Iterator[Row]:
    only = [word for status in sorted(statuses) for word in ("--status", status)]
    resume = shlex.join(["momo", "tx", "watch", *filter(None, (reference,)), *only])
    for event in follow_events(client, reference, since, resume=resume):
        about_one = event is not None and (
            event.kind.startswith("transaction.") or event.data.get("reference") is not None
        )
        if event is None or not about_one:
            continue
        if not statuses or event.data.get("status") in statuses:
            yield {"event": event.kind, "id": event.id, "data": event.data}


def _noticed(rows: Iterator[Row], terminal: Terminal) -> Iterator[Row]:
    """Ring the bell and run `notify-send`, if the desktop has it, for each row, after its line is written."""
    import shutil  # noqa: PLC0415  # only --notify needs them
    import subprocess  # noqa: PLC0415

    environ = terminal.located.environ
    program = shutil.which(_NOTIFY, path=environ.get("PATH"))
    if program is None:
        terminal.note(f"There is no {_NOTIFY} on this machine: only the bell rings.")
    for row in rows:
        yield row
        if terminal.stderr.isatty():
            terminal.stderr.write("\a")
            terminal.stderr.flush()
        if program is None:
            continue
        amount = money(_of(row, "actual_amount", "expected_amount"), _of(row, "currency"))
        who = payer_text(_of(row, "payer.name", "payer_name"), None)
        parts = (amount, who, clean(_of(row, "svc_code")))
        title = f"momo: {clean(state(_of(row, 'status')).text)}"
        sentence = clean(" · ".join(part for part in parts if part) or clean(row["event"]))
        try:
            subprocess.run(  # noqa: S603  # the desktop's own program
                [program, "--app-name=momo", "--", title, sentence],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environ,
                timeout=_NOTIFY_S,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            terminal.note(f"{_NOTIFY} does not work here: only the bell rings.")
            program = None


@command("tx wait", view=SHOW_VIEW)
def wait(
    client: Client,
    terminal: Terminal,
    transaction: str = TRANSACTION,
    goal: Goal = option("--for", "The goal of the wait.", default=Goal.PAID, show_default=True),
    exact: bool = flag("Exit 6 if more or less than asked was paid."),
) -> Answer:
    """Exit 0: paid, with the amount asked for or more; with --exact, only with that amount. 8: the time (10 minutes, or --timeout) is over and nothing failed. 6: it ended otherwise (underpaid,
    expired, cancelled). --timeout 0 waits without a limit. It goes on while the daemon restarts or answers that it
    cannot serve now, and says so; exit 7: the daemon was away for 30 s.

    Examples:
        momo tx wait 7KQ2MX
        momo tx wait 7KQ2MX --timeout 2m && echo "hand over the goods"
        momo tx wait 7KQ2MX --exact
        momo tx wait 7KQ2MX --for final --get data.status
    """
    given_s = terminal.flags.timeout_s
    limit_s = _LIMIT_S if given_s is None else given_s
    reply, code = wait_for(client, reference_of(client, transaction), goal=goal, limit_s=limit_s)
    if exact and code == exit_codes.OK and reply.data.get("status") in _NOT_EXACT:
        code = exit_codes.FINDINGS
    return transaction_answer(reply, terminal, exit_code=code)


@command("tx cancel", view=SHOW_VIEW)
def cancel(client: Client, terminal: Terminal, transaction: str = TRANSACTION, reason: str | None = REASON) -> Answer:
    """Its code is not used again for 30 days. A payment that still arrives for it is held for review: momo review list.
    Exit 5: it is paid or held for review; do not say to the customer that it is cancelled.

    Examples:
        momo tx cancel 7KQ2MX --reason "customer changed her mind"
    """
    transaction = transaction.strip()
    with known(reference=transaction):
        reference = reference_of(client, transaction)
        body = {} if reason is None else {"reason": reason}
        reply = client.post_once(path_of(Path.CANCEL, reference=reference), body)
    return transaction_answer(reply, terminal)


class Settle(StrEnum):
    """What a person did about a short or too large payment."""

    REST = "rest"
    WAIVE = "waive"
    CHANGE = "change"


_KINDS: Final = {
    Settle.REST: SettlementKind.REST_RECEIVED,
    Settle.WAIVE: SettlementKind.WAIVED,
    Settle.CHANGE: SettlementKind.CHANGE_GIVEN,
}


@command("tx settle", view=SHOW_VIEW)
def settle(
    client: Client,
    terminal: Terminal,
    transaction: str = TRANSACTION,
    how: Settle | None = argument(
        "rest|waive|change", "rest: it came; waive: it is not asked for; change: it was given back.", None
    ),
    payment: str | None = option("ID", "The network ID of the second payment that brought the rest."),
    notes: str | None = NOTES,
    undo: bool = flag("Take the settlement back."),
) -> Answer:
    """Its status and amounts stay: they say what the network moved. It is no longer owed or to give back, in the day sheet
    too. Without --payment the rest came in cash. A payment that is named counts as used and is no sale of its own. Exit 5:
    it is not short or overpaid, or it is settled already.

    Examples:
        momo tx settle 7KQ2MX rest --payment 0012345679
        momo tx settle 7KQ2MX waive
        momo tx settle 7KQ2MX --undo
    """
    transaction = transaction.strip()
    if undo is (how is not None):
        raise usage("name one of rest, waive and change, or --undo")
    with known(reference=transaction):
        path = path_of(Path.SETTLE, reference=reference_of(client, transaction))
        if undo:
            reply = client.call("DELETE", path)
        else:
            assert how is not None
            given = {"kind": _KINDS[how], "payment": payment, "notes": notes}
            reply = client.post_once(path, {name: value for name, value in given.items() if value is not None})
    return transaction_answer(reply, terminal)


_RESULTS: Final = {
    "queued": "The SMS with the code waits to be sent.",
    "sent_before": "The code was sent a second time before; it is not sent a third time.",
    "not_waiting": "The transaction is not waiting for money.",
    "switched_off": "The settings send no codes by SMS.",
    "no_line": "No line can send it now, or its limit of SMS is reached; `momo status` shows the lines.",
    "number_limit": "This number has had all the SMS that it may get within an hour (limits.sms_per_number_hour). Tell "
    "the customer the code.",
}


@command("tx replace", view=view_of("reference svc_code amount expires_at", id="reference"))
def renew(client: Client, terminal: Terminal, transaction: str = TRANSACTION) -> Answer:
    """The old one is cancelled and a new one with the same amount and customer is made, in one step, so only the new code
    is valid. A payment that still comes with the old code is held for review. Exit 5: it is paid or held for review.

    Examples:
        momo tx replace 7KQ2MX
    """
    transaction = transaction.strip()
    with known(reference=transaction):
        reference = reference_of(client, transaction)
        reply = client.post_once(path_of(Path.LOCAL_REPLACE, reference=reference), {})
    row = reply.data
    lines = [
        f"{terminal.tick} {money(row.get('amount'), row.get('currency'))}: {clean(transaction)} is cancelled.",
        f"  CODE   {terminal.style(clean(row.get('svc_code')), 'bold')}",
        f"  ref    {clean(row.get('reference'))}",
        f"  until  {clock(row.get('expires_at'), terminal)}",
    ]
    new = clean(row.get("reference"))
    notes = warnings_of(reply.body) if terminal.human else ()
    return Answer(*reply.parts, lines=lines, notes=notes, next=[f"momo tx wait {new}"])


@command("tx send-code", view=view_of("reference result", id="reference"))
def send_code(client: Client, terminal: Terminal, transaction: str = TRANSACTION) -> Answer:
    """For one transaction it is done once. Exit 6: it is not sent; the answer says why.

    Examples:
        momo tx send-code 7KQ2MX
    """
    transaction = transaction.strip()
    with known(reference=transaction):
        reference = reference_of(client, transaction)
        path = path_of(Path.LOCAL_SEND_CODE, reference=reference)
        reply = client.call("POST", path, body={})
    result = clean(reply.data.get("result"))
    sent = result == "queued"
    mark = terminal.tick if sent else terminal.style("!", "yellow")
    return Answer(
        *reply.parts,
        lines=[f"{mark} {_RESULTS.get(result, result)}"],
        exit_code=exit_codes.OK if sent else exit_codes.FINDINGS,
        next=[] if sent else [f"momo tx show {reference}"],
    )


@command("watch")
def watch_screen(
    client: Client,
    terminal: Terminal,
    read_only: bool = flag("Show only; nothing can be approved."),
    no_sound: bool = flag("Never ring the bell."),
) -> Answer:
    """The screen has the newest payment in large figures, the day's total of each line and the payments held for review; a
    bell rings for each payment. Type the six characters of a code to see whether that transaction is paid. + approves
    the marked payment for its suggested transaction, by the rules of `momo review approve`: a payment that may be
    forged needs the owner's password. Tab marks the next one, * turns the sound on and off, Esc clears; q and Enter
    leave, Ctrl-C or Ctrl-D too (q alone is a letter of codes). It works over SSH, best from 80 columns by 24 lines, at
    least 40 columns, and reconnects when the daemon is back; exit 7: the daemon was away for 30 s.

    Examples:
        momo watch
        momo watch --read-only --no-sound
    """
    _require_screen(terminal)
    from momo_cli.watch import loop, model  # noqa: PLC0415  # only a screen needs rich

    shown = model.Model(read_only=read_only, sound=not no_sound)
    model.apply_result(shown, loop.fetch_day(client), system.monotonic())
    code = loop.run_loop(loop.Fetcher(client), terminal, shown)
    return Answer(exit_code=code)


def _require_screen(terminal: Terminal) -> None:
    dumb = os.environ.get("TERM", "") in ("", "dumb")
    if terminal.human and terminal.on_screen and terminal.stdin.isatty() and not dumb:
        return
    why = "this terminal cannot (TERM)" if terminal.on_screen and dumb else "there is none here"
    needs = f"momo watch needs a full-screen terminal, and {why}; for programs: momo tx watch --json"
    raise usage(needs, "momo tx watch --json", "momo today")


FILE: Final = "idem.ndjson"
"""The idempotency keys of calls, in the state folder; one JSON object per line."""
_NOT_PUBLIC: Final = "checkout_url "
"""The beginning of the daemon's warning that customers cannot open the checkout page."""
_NO_NUMBER: Final = "! No number of yours receives payments yet, so the customer cannot pay."
_PUBLISHED: Final = ("momo config set http.public_base_url https://...", "momo daemon restart")
_TOLD: Final = "checkout-not-public"
"""The file in the state folder that records that the warning was shown."""
KEPT: Final = 100
"""The number of keys kept; the file is shortened at twice as many."""
_VIEW: Final = view_of(
    "reference svc_code status amount currency expires_at checkout_url client_reference",
    "payer_sms_sent created_at",
    id="reference",
)


@command("init", view=lambda *, wait, **_: _VIEW if wait is None else SHOW_VIEW)
def init(
    client: Client,
    terminal: Terminal,
    amount: str = argument("AMOUNT", '12, 12.50 or "GHS 12.50".'),
    number: str | None = argument("[PHONE]", "The customer's number.", default=None),
    phone_number: str | None = option("--phone", "The customer's number, instead of PHONE."),
    name: str | None = option("The customer's name."),
    purpose: str | None = option("--for", "A description of the goods or service."),
    client_ref: str | None = option("Your own order number."),
    expires: str | None = option("1h to 24h; default: 24h."),
    webhook_url: str | None = option("Send a webhook to this address when paid."),
    redirect_url: str | None = option("The page for the customer after paying."),
    meta: str | None = option("JSON|@FILE", "A JSON object to store with the transaction."),
    expect_txid: str | None = option("Accept the payment with this network ID; no code is needed."),
    expect_payer: str | None = option("Payments from other numbers are held for review."),
    expect_payer_name: str | None = option(
        "--expect-payer-name", "--expected-payer-name", "The name to compare if a receipt has no number."
    ),
    no_sms: bool = flag("Do not send the code to the customer."),
    idempotency_key: str | None = option("Makes a repeated call safe; default: a new key."),
    wait: str | None = option("[=10m]", "Wait until it is paid."),
    qr: bool = flag("Show the checkout page as a QR code."),
) -> Answer:
    """The customer types its code as the payment reference. AMOUNT is 12, 12.50 or "GHS 12.50". Without PHONE no SMS is sent, and
    the receipt tells the number. With --wait the command
    ends when the transaction is paid: exit 0 paid, 6 underpaid or ended otherwise, 8 not paid in time, 7 the daemon was
    away for 30 s (a restart ends no wait); the transaction stays open: momo tx wait REF. The idempotency
    key of the call is written to the state folder (idem.ndjson) before the call: repeated with --idempotency-key, the
    call creates no second transaction.

    Examples:
        momo init 12.50
        momo init 12.50 0244124567
        momo init 12.50 --phone 0244124567 --name "Kofi Boateng" --wait
        ref=$(momo init 12.50 --phone 0244124567 -o id)
        momo init 12.50 --phone 0244124567 --qr
    """
    value, currency = amount_of(amount)
    if number is not None and phone_number is not None:
        raise usage("the customer's number is given twice, as PHONE and as --phone")
    phone_number = phone_number or number
    given = {
        "amount": value, "phone_number": phone_number, "currency": currency, "customer_name": name,
        "description": purpose, "client_reference": client_ref,
        "expires_in_hours": None if expires is None else _hours(expires), "webhook_url": webhook_url,
        "redirect_url": redirect_url, "meta": None if meta is None else read_json(meta, "--meta"),
        "expected_telco_transaction_id": expect_txid, "expected_payer_phone": expect_payer,
        "expected_payer_name": expect_payer_name, "send_sms_to_payer": False if no_sms else None,
    }  # fmt: skip
    if meta is not None and not isinstance(given["meta"], dict):
        raise usage('--meta must be a JSON object, like {"order": 17}')
    wait_s = None if wait is None else duration_s(wait, "--wait")
    key = idempotency_key or fresh_key(terminal, "init")
    try:
        body = only_given(given)
        reply = client.call("POST", Path.INITIALIZE, body=body, idempotency_key=key)
    except Failure as failure:
        if failure.facts.get("uncertain"):
            failure.message += f"; repeat it safely with --idempotency-key {key}"
        raise
    numbers = _numbers(client, terminal)
    row = reply.data
    amount = money(row.get("amount"), row.get("currency"))
    head = " · ".join(filter(None, (f"Transaction {amount}", name, phone(phone_number))))
    svc_code = terminal.style(clean(row.get("svc_code")), "bold")
    lines = [
        clean(head),
        f"  CODE   {svc_code}        (the customer types this as the reference)",
        *(f"  to     {number}" for number in numbers or ()),
        f"  ref    {clean(row.get('reference'))}",
        f"  until  {clock(row.get('expires_at'), terminal)}",
    ]
    if row.get("checkout_url"):
        lines.append(f"  page   {clean(row['checkout_url'])}")
        if qr:
            lines += drawn(clean(row["checkout_url"]), terminal)
    sent = f"  sms    the code is sent to {phone(phone_number)}"
    lines += [sent] if row.get("payer_sms_sent") else []
    notes = warnings_of(reply.body)
    # The warning about the address of the page comes once per shop; `meta.warnings` of the document has all.
    unpublished = any(_NOT_PUBLIC in text for text in notes)
    if unpublished and (terminal.output is Output.JSON or _told(terminal)):
        notes = [text for text in notes if _NOT_PUBLIC not in text]
    unready = numbers == [] and not client.sandbox
    notes += [_NO_NUMBER] if unready else []
    if wait_s is None:
        first = ["momo lines"] if unready else []
        first += _PUBLISHED if any(_NOT_PUBLIC in note for note in notes) else ()
        pay = [f"momo simulate payment --order {row['svc_code']}"] if client.sandbox else []
        following = [f"momo tx {verb} {row['reference']}" for verb in ("watch", "wait")]
        return Answer(*reply.parts, lines=lines, notes=notes, next=[*first, *pay, *following])
    for line in (*lines, *notes, "Waiting for the payment… (Ctrl-C leaves the transaction open)"):
        terminal.note(line)
    paid, code = wait_for(client, row["reference"], goal=Goal.PAID, limit_s=wait_s, answered=True)
    return transaction_answer(paid, terminal, exit_code=code)


def _numbers(client: Client, terminal: Terminal) -> list[str] | None:
    """Return each number to pay to for a person, as `024 412 4567, MTN, Ama Mensah`; None if that is not known."""
    if not terminal.human:
        return None
    try:
        rows = client.call("GET", Path.PAYMENT_METHODS).data or ()
    except Failure:
        return None  # the transaction exists all the same
    facts = [
        (phone(row.get("phone_number")), clean(at(row, "sim.network")), clean(row.get("account_name")))
        for row in rows
        if row.get("sim") and row.get("is_active")
    ]
    return [", ".join(filter(None, of_one)) for of_one in facts]


def _told(terminal: Terminal) -> bool:
    """Return whether the warning was shown before, and record that it is shown now."""
    folder = terminal.located.places.state
    try:
        system.make_own_folder(folder)
        os.close(system.open_own(f"{folder}/{_TOLD}", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return True
    except OSError:
        return False
    return False


def _hours(text: str) -> int:
    """Return whole hours, rounded up; the daemon checks the range."""
    seconds = duration_s(text if not text.isdigit() else f"{text}h", "--expires")
    return -int(-seconds // 3600)


def fresh_key(terminal: Terminal, command: str) -> str:
    """Return a new idempotency key, after writing it with the time and the command to the state folder.

    A failed write is only a note on stderr: a full disk must not prevent payments.
    """
    key = system.new_key()
    folder = terminal.located.places.state
    row = {"at": f"{terminal.now():%Y-%m-%dT%H:%M:%SZ}", "command": command, "key": key}
    try:
        system.make_own_folder(folder)
        path = f"{folder}/{FILE}"
        with os.fdopen(system.open_own(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "r+") as file:
            file.write(f"{json.dumps(row)}\n")
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            lines = file.readlines()
        if len(lines) >= 2 * KEPT:
            shorter = f"{path}.new"
            with os.fdopen(system.open_own(shorter, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as file:
                file.writelines(lines[-KEPT:])
            os.replace(shorter, path)  # noqa: PTH105  # the same
    except OSError as problem:
        terminal.note(f"! The key of this call could not be kept: {problem.strerror}.")
    return key
