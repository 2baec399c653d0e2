"""Let the sandbox's network send a payment SMS: through the real parser, with no real money.

Without --order it is a payment that nobody asked for. Make an order to pay with momo init --sandbox.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from momo_cli import orders, system
from momo_cli.amounts import amount_of
from momo_cli.answer import Answer, Call, Row
from momo_cli.client import Client
from momo_cli.errors import usage
from momo_cli.simulated import VIEW, ask, lines, next_commands
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo simulate payment --order 7KQ2MX
  momo simulate payment --order 7KQ2MX --amount 10 --late
  momo simulate payment --amount 5 --network telecel --payer 0209000111
  momo simulate payment --order 7KQ2MX --fake
"""
_STRANGER: Final = "+233241112222"
_LETTERS: Final = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo simulate payment`."""

    order: str | None
    body: dict[str, Any]
    wrong_code: bool
    count: int
    pause_s: float


def command(  # noqa: PLR0913, PLR0917  # one argument per flag
    order: Annotated[
        str | None, typer.Option(metavar="REF|CODE", help="The sandbox order that is paid.")
    ] = None,
    amount: Annotated[
        str | None, typer.Option(help="What is paid; what the order asks for, if not said.")
    ] = None,
    payer: Annotated[str | None, typer.Option(help="The payer's number.")] = None,
    name: Annotated[str | None, typer.Option(help="The payer's name.")] = None,
    network: Annotated[str, typer.Option(metavar="mtn|telecel", help="Whose receipt.")] = "mtn",
    wrong_code: Annotated[
        bool, typer.Option("--wrong-code", help="The payer gets one character wrong.")
    ] = False,
    late: Annotated[bool, typer.Option("--late", help="The order expires first.")] = False,
    fake: Annotated[
        bool, typer.Option("--fake", help="An ordinary number pretends to be the network.")
    ] = False,
    count: Annotated[int, typer.Option(min=1, max=10_000, help="So many of them.")] = 1,
    rate: Annotated[str, typer.Option(metavar="N/s", help="With --count: how fast.")] = "2/s",
) -> Call:
    """Read the flags."""
    if order is None and amount is None:
        raise usage("say which order is paid with --order, or how much with --amount")
    if wrong_code and order is None:
        raise usage("--wrong-code needs --order")
    body: dict[str, Any] = {
        "amount": None if amount is None else amount_of(amount)[0],
        "payer_phone": payer,
        "payer_name": name,
        "provider": network if network.startswith("momo_") else f"momo_{network.lower()}",
        "late": True if late else None,
        "sender": _STRANGER if fake else None,
    }
    given = {key: value for key, value in body.items() if value is not None}
    return Call(run, Options(order, given, wrong_code, count, _pause(rate)), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Send one, or many."""
    body = dict(options.body)
    if options.order is not None:
        seen = orders.find(client, options.order.strip())
        body["reference"] = seen.data["reference"]
        if options.wrong_code:
            body["reference_text"] = _mistyped(str(seen.data["svc_code"]))
    if options.count > 1:
        rows = _many(client, body, options)
        return Answer(rows=rows, stream=True, summary=True)
    reply = ask(client, body)
    return Answer(
        document=reply.text,
        rows=[reply.data],
        lines=lines(reply.data, terminal),
        next=next_commands(reply.data),
    )


def _many(client: Client, body: dict[str, Any], options: Options) -> Iterator[Row]:
    for number in range(options.count):
        if number:
            system.sleep(options.pause_s)
        yield ask(client, body).data


def _mistyped(code: str) -> str:
    """Return a code with its third character one further: the check character finds it out."""
    place = (_LETTERS.index(code[2]) + 1) % len(_LETTERS)
    return code[:2] + _LETTERS[place] + code[3:]


def _pause(rate: str) -> float:
    number, _, unit = rate.partition("/")
    try:
        each_s = float(number)
    except ValueError:
        each_s = 0.0
    if each_s <= 0 or unit not in ("", "s"):
        raise usage("--rate: a number a second, such as 2/s")
    return 1 / each_s
