"""The commands that simulate payments, SMS and endpoints in the sandbox, and demo."""

from collections.abc import Iterator
from typing import Any, Final

from daemon.wire import MessageState, Path
from momo_cli import system
from momo_cli.errors import usage
from momo_cli.frame.command import command
from momo_cli.inputs.ids import METHODS, find_match
from momo_cli.inputs.parameters import flag, option
from momo_cli.inputs.typed_values import amount_of, only_given, read_text
from momo_cli.listener import VIEW as WEBHOOKS_VIEW
from momo_cli.listener import PostResult, Webhook, listen
from momo_cli.service.daemon_program import exec_daemon
from momo_cli.show.answer import Answer, Row, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import money, state, styled
from momo_cli.socket.client import Client, Reply, path_of
from momo_cli.text import at, clean
from momo_cli.views.transactions import find_transaction

_VIEW: Final = view_of(
    "message_id=message.id message_state=message.state reference=transaction.reference",
    "status=transaction.status actual_amount=transaction.actual_amount review_id=review.id",
    "review_reason=review.reason",
    id="message.id",
)
_STRANGER: Final = "+233241112222"
"""An ordinary number, as the sender of a forged receipt."""
_LETTERS: Final = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
_ERRORS: Final = {"timeout": "timeout", "drop": "connection_reset"}
_COUNT_MAX: Final = 200


@command("simulate payment", view=_VIEW)
def payment(
    client: Client,
    terminal: Terminal,
    order: str | None = option("REF|CODE", "The sandbox transaction to pay."),
    code: str | None = option("CODE", "What the payer types: a code that only head office knows."),
    amount: str | None = option("The amount paid; default: the expected amount."),
    payer: str | None = option("The payer's number."),
    name: str | None = option("The payer's name."),
    network: str = option("mtn|telecel", "The network of the receipt.", default="mtn"),
    wrong_code: bool = flag("The payer mistypes one character of the code."),
    late: bool = flag("Expire the transaction first."),
    fake: bool = flag("Send the receipt from an ordinary number, as a forger does."),
    count: int = option("Payments to simulate.", default=1, min=1, max=10_000),
    rate: str = option("N/s", "With --count: payments per second.", default="2/s"),
) -> Answer:
    """The sandbox receives a payment SMS, which the real parser reads; no real money moves. Without --order, the payment
    belongs to no transaction. Create a transaction to pay with momo init --sandbox.

    Examples:
        momo simulate payment --order 7KQ2MX
        momo simulate payment --order 7KQ2MX --amount 10 --late
        momo simulate payment --amount 5 --network telecel --payer 0209000111
        momo simulate payment --order 7KQ2MX --fake
        momo simulate payment --code 2KQ7MX --amount 10
    """
    if order is None and amount is None:
        raise usage("name the transaction with --order, or the amount with --amount")
    if order is not None and code is not None:
        raise usage("--order and --code exclude each other")
    if wrong_code and order is None:
        raise usage("--wrong-code needs --order")
    given = {
        "amount": None if amount is None else amount_of(amount)[0],
        "payer_phone": payer,
        "payer_name": name,
        "provider": _provider(network),
        "late": True if late else None,
        "sender": _STRANGER if fake else None,
        "reference_text": code,
    }
    body = only_given(given)
    number, _, unit = rate.partition("/")
    try:
        each_s = float(number)
    except ValueError:
        each_s = 0.0
    if each_s <= 0 or unit not in ("", "s"):
        raise usage("--rate: a number per second, such as 2/s")
    pause_s = 1 / each_s
    if order is not None:
        seen = find_transaction(client, order)
        body["reference"] = seen.data["reference"]
        if wrong_code:
            code = str(seen.data["svc_code"])
            place = (_LETTERS.index(code[2]) + 1) % len(_LETTERS)
            body["reference_text"] = code[:2] + _LETTERS[place] + code[3:]
    if count > 1:
        return Answer(rows=_many(client, body, count, pause_s), stream=True, summary=True)
    return _answer(client, terminal, body)


def _provider(network: str) -> str:
    return network if network.startswith("momo_") else f"momo_{network.lower()}"


def _many(client: Client, body: dict[str, Any], count: int, pause_s: float) -> Iterator[Row]:
    for number in range(count):
        if number:
            system.sleep(pause_s)
        yield _sms(client, body).data


@command("simulate endpoint", view=WEBHOOKS_VIEW)
def endpoint(
    client: Client,
    terminal: Terminal,
    fail: str = option("500|410|timeout|drop", "The answer to each webhook.", default=...),
    count: int = option("Attempts until it ends.", default=20, min=1, max=_COUNT_MAX),
) -> Answer:
    """It adds a sandbox endpoint that fails every webhook, and simulates payments for it, to show retries, dead letters,
    and the pause after 20 failures in a row. It ends after --count attempts, or when momo has paused the endpoint. The
    endpoint stays, so that you can inspect it; delete it with momo endpoints delete. After three failures momo tries a
    failing endpoint only every 5, 15 and then 30 s, so 20 attempts take some minutes.

    Examples:
        momo simulate endpoint --fail 500
        momo simulate endpoint --fail 410 --count 3
    """
    heard = _heard(fail.strip())
    made = client.call("POST", Path.LOCAL_LISTEN).data
    id_ = str(made["id"])
    return Answer(
        rows=_attempts(client, terminal, id_, heard, count),
        stream=True,
        next=["momo dead-letters list --sandbox", f"momo endpoints show {id_}", f"momo endpoints delete {id_} --yes"],
    )


def _attempts(client: Client, terminal: Terminal, id_: str, heard: PostResult, count: int) -> Iterator[Row]:
    def handle(_webhook: Webhook) -> PostResult:
        return heard

    for number, row in enumerate(listen(client, id_, handle, terminal.now)):
        if row is None:
            terminal.note(f"A failing endpoint: {id_}. Ctrl-C ends it.")
            # Not earlier: payments made while no listener is connected are delivered late, as after an outage.
            for _ in range(count):
                _sms(client, {"amount": "1.00"})
            continue
        yield row
        if number == count:
            return
        if client.get(path_of(Path.ENDPOINT, id=id_)).data.get("auto_paused_at"):
            terminal.note(f"momo has paused it; next: momo endpoints show {id_}")
            return


def _heard(fail: str) -> PostResult:
    if fail in _ERRORS:
        return PostResult(None, _ERRORS[fail], "", 0)
    if fail.isdecimal() and len(fail) == 3 and 300 <= int(fail) <= 599:
        return PostResult(int(fail), None, "momo simulate endpoint", 0)
    raise usage("--fail: a status from 300 to 599, timeout or drop")


@command("simulate sms", view=_VIEW)
def sms(
    client: Client,
    terminal: Terminal,
    file: str = option("FILE", "The text of the SMS; - = stdin.", default=...),
    network: str | None = option("mtn|telecel", "The network of the SIM; default: mtn."),
    line: str | None = option("NUMBER", "The merchant number; its SIM gets the SMS."),
    sender: str | None = option("The sender name; default: the network's own."),
) -> Answer:
    """The sandbox receives an SMS with the text of a file, which the real parser reads; no real money moves.

    Examples:
        momo simulate sms --file receipt.txt
        momo simulate sms --file - --network telecel --sender T-CASH < receipt.txt
    """
    if network is not None and line is not None:
        raise usage("--line decides the network; leave out --network")
    text = read_text(terminal, file)
    if not text.strip():
        raise usage(f"--file: {clean(file)} is empty; it must contain the text of one SMS")
    given = {"provider": _provider(network or "mtn"), "sender": sender, "text": text}
    body = only_given(given)
    if line is not None:
        rows = client.get(Path.PAYMENT_METHODS).data or ()
        body["provider"] = find_match(line, rows, METHODS)["provider"]
    return _answer(client, terminal, body)


@command("demo")
def demo(terminal: Terminal, keep: bool = flag("Leave the shop running.")) -> Answer:
    """It runs a temporary shop with a simulated phone and a real daemon. Your own shop is not touched. --keep leaves the
    temporary shop running and shows the commands to try.

    Examples:
        momo demo
        momo demo --keep
    """
    exec_daemon(terminal, "demo", *(["--keep"] if keep else []))


def _sms(client: Client, body: dict[str, Any]) -> Reply:
    """Let the sandbox receive one simulated SMS."""
    return client.call("POST", Path.TEST_PAYMENTS, body=body, sandbox=True)


def _answer(client: Client, terminal: Terminal, body: dict[str, Any]) -> Answer:
    """Let the sandbox receive one simulated SMS, and return the answer with the result."""
    reply = _sms(client, body)
    message = reply.data.get("message") or {}
    status, sender = styled(state(message.get("state")), terminal), clean(message.get("sender"))
    found = [
        f"{status}  from {sender}  {terminal.style('(simulated: no real money)', 'dim')}",
        *(f"  {clean(line)}" for line in str(message.get("body") or "").splitlines()),
    ]
    paid = reply.data.get("transaction")
    if paid:
        amount = money(paid.get("actual_amount"), paid.get("currency"))
        kind = "transaction" if paid.get("origin") == "request" else "new transaction"
        target = f"→ {kind} {clean(paid.get('reference'))}"
        found.append(f"{target}  {styled(state(paid.get('status')), terminal)}  {amount}".rstrip())
    named = reply.data.get("request")
    if named and at(reply.data, "transaction.reference") != named.get("reference"):
        status = styled(state(named.get("status")), terminal)
        found.append(f"→ transaction {clean(named.get('reference'))}  {status}, not paid by it")
    if reply.data.get("review"):
        why = at(reply.data, "review.why") or at(reply.data, "review.reason")
        found.append(f"→ held for review: {clean(why)}")
    return Answer(*reply.parts, lines=found, next=_next(reply.data))


def _next(row: Row) -> list[str]:
    """Return the commands to type next."""
    if row.get("review"):
        return [f"momo review show {at(row, 'review.id')}"]
    if at(row, "transaction.reference"):
        return [f"momo tx show {at(row, 'transaction.reference')} --events"]
    if at(row, "message.state") == MessageState.UNPARSED:
        return ["momo messages list --state unparsed"]
    return []
