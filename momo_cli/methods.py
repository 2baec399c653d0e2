"""What the commands about numbers share: the fields and the table."""

from typing import Annotated, Any, Final

import typer

from daemon.wire import Path
from momo_cli.answer import Answer, Cell, Field, Head, View
from momo_cli.client import Client, Reply, path_of
from momo_cli.devices import sim_name
from momo_cli.naming import method_id
from momo_cli.terminal import Terminal
from momo_cli.text import clean, warnings_of
from momo_cli.words import ago, phone

Method = Annotated[
    str,
    typer.Argument(
        metavar="METHOD", help="The number, the name on it, or its id: momo methods list."
    ),
]
VIEW: Final = View(
    fields=(
        Field("id"),
        Field("provider"),
        Field("phone_number"),
        Field("account_name"),
        Field("merchant_code"),
        Field("device_id", "sim.device_id"),
        Field("slot_index", "sim.slot_index"),
        Field("is_active"),
        Field("last_payment_at"),
        Field("created_at"),
    ),
    heads=(
        Head("NUMBER", lambda row, _: phone(row.get("phone_number"))),
        Head("NAME", lambda row, _: clean(row.get("account_name"))),
        Head(
            "NETWORK",
            lambda row, _: clean(row.get("provider_name") or row.get("provider")),
        ),
        Head("SIM", lambda row, _: sim_name(row.get("sim")) or Cell("no SIM", "yellow")),
        Head("LAST PAYMENT", lambda row, t: ago(row.get("last_payment_at"), t) or "—"),
        Head("ID", lambda row, _: clean(row.get("id")), cut=True),
    ),
)


def put_on(client: Client, method: str, sim: dict[str, Any] | None) -> Reply:
    """Put a number on a SIM, or on none."""
    path = path_of(Path.PAYMENT_METHOD, id=method_id(client, method))
    return client.call("PATCH", path, body={"sim": sim})


def changed(reply: Reply, terminal: Terminal, verb: str) -> Answer:
    """Answer with one number that was just made or moved; without a verb, with where it is now."""
    row: dict[str, Any] = reply.data
    where = sim_name(row.get("sim"))
    name, number = clean(row.get("account_name")), phone(row.get("phone_number"))
    place = f"on SIM {where}" if where else "on no SIM now"
    said = f"{verb} {number} ({name}), {place}" if verb else f"{number} ({name}) is {place}"
    line = f"{terminal.style('✓', 'green')} {said}"
    typed = number.replace(" ", "") or clean(row.get("id"))
    return Answer(
        document=reply.text,
        rows=[row],
        lines=[line],
        notes=warnings_of(reply.body),
        next=["momo lines"]
        if where
        else ["momo sims list", f"momo sims assign DEVICE:SLOT --method {typed}"],
    )
