"""Open the page that the customer of an order sees, in your browser; where there is none, print its address.

An order has one page, so `checkout` and `tx` before its reference mean the same and may be left out. BROWSER names the
program that opens it.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client, path_of
from momo_cli.errors import Failure, usage
from momo_cli.orders import reference_of
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean, warnings_of

EXAMPLES: Final = """\
  momo open 7KQ2MX
  momo open checkout svc_trx_0f3c5d2a9b8e47c1a6d0e2f4b8c6a901
  momo open 7KQ2MX --print
"""
PAGES: Final = ("checkout", "tx")
VIEW: Final = View(
    fields=(Field("checkout_url"), Field("reference"), Field("svc_code")), id="reference"
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo open`."""

    order: str
    only_print: bool


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[checkout|tx] REF|CODE", help="The order's reference or code."),
    ] = None,
    only_print: Annotated[
        bool, typer.Option("--print", help="Print the address; open nothing.")
    ] = False,
) -> Call:
    """Read the flags."""
    match words or []:
        case [order] if order not in PAGES:
            return Call(run, Options(order, only_print), VIEW)
        case [page, order] if page in PAGES:
            return Call(run, Options(order, only_print), VIEW)
    raise usage("name one order: momo open checkout REF, or momo open REF")


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Ask for the address, and open it."""
    reference = reference_of(client, options.order)
    try:
        reply = client.get(path_of(Path.LOCAL_CHECKOUT, reference=reference))
    except Failure as failure:
        failure.facts["reference"] = options.order
        if at(failure.body, "error.reason") == "http_off":
            failure.next = ("momo config set http.bind 127.0.0.1:8420", "momo daemon restart")
        raise
    url = clean(reply.data["checkout_url"])
    return Answer(
        document=reply.text,
        rows=[reply.data],
        lines=[url],
        plain=url,
        notes=[*warnings_of(reply.body), *_shown(terminal, url, options)],
    )


def _shown(terminal: Terminal, url: str, options: Options) -> list[str]:
    if options.only_print:
        return []
    from momo_cli.browser import opened  # noqa: PLC0415  # --print starts no program

    code = clean(options.order)
    if opened(url, terminal.located.environ):
        return [f"The page of {code} is in your browser."]
    return ["There is no browser here: open this address in one."]
