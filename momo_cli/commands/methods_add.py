"""Register a number that takes money, and put it on a SIM if you say which."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli import system
from momo_cli.answer import Answer, Call
from momo_cli.client import Client
from momo_cli.devices import sim_object, split_sim
from momo_cli.methods import VIEW, changed
from momo_cli.terminal import Terminal

EXAMPLES: Final = """\
  momo methods add --provider momo_mtn --phone 0244124567 --name "Ama Mensah"
  momo methods add --provider momo_telecel --phone 0204100011 --name "Ama Mensah" --sim zte-back:0
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo methods add`."""

    body: dict[str, Any]
    sim: tuple[str, int] | None


def command(
    provider: Annotated[
        str, typer.Option(help="momo_mtn, momo_telecel or momo_at; or mtn, telecel, at.")
    ],
    phone: Annotated[str, typer.Option(help="The number, local or +233...")],
    name: Annotated[str, typer.Option(help="The account's name, as customers see it.")],
    sim: Annotated[
        str | None, typer.Option(metavar="DEVICE:SLOT", help="The SIM that it is on.")
    ] = None,
    merchant_code: Annotated[str | None, typer.Option(help="The merchant code, if any.")] = None,
) -> Call:
    """Read the flags."""
    body: dict[str, Any] = {
        "provider": provider if provider.startswith("momo_") else f"momo_{provider.lower()}",
        "phone_number": phone,
        "account_name": name,
    }
    if merchant_code is not None:
        body["merchant_code"] = merchant_code
    return Call(run, Options(body, None if sim is None else split_sim(sim, "--sim")), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Register the number."""
    body = dict(options.body)
    if options.sim is not None:
        body["sim"] = sim_object(client, *options.sim)
    reply = client.call("POST", Path.PAYMENT_METHODS, body=body, idempotency_key=system.new_key())
    return changed(reply, terminal, "Registered")
