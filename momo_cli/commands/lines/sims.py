"""The commands about SIMs."""

from collections.abc import Iterator
from typing import Annotated, Final

from typer import Argument, Option

from daemon.wire import ErrorCode, Path
from momo_cli import exit_codes, system
from momo_cli.errors import Failure
from momo_cli.frame.command import command
from momo_cli.inputs import passwords
from momo_cli.inputs.ids import sim_object, split_sim
from momo_cli.inputs.parameters import Reason
from momo_cli.inputs.typed_values import only_given
from momo_cli.show.answer import Answer, Cell, Head, Row, View, document_of, fields
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import clock, money, phone
from momo_cli.socket.client import Client, Reply
from momo_cli.text import at, clean
from momo_cli.times import duration_s
from momo_cli.views.lines import METHODS_VIEW, assign_sim, method_answer, simulated_notes

_OF_SIM: Final = (
    "slot_index",
    "network",
    "iccid_last4",
    "payment_method_id",
    "phone_number",
    "available",
)
_LIST_VIEW: Final = View(
    fields=fields("device_id", "phone", *_OF_SIM),
    heads=(
        Head("SIM", lambda row, _: f"{clean(row['phone'])}:{row['slot_index']}"),
        Head("NETWORK", lambda row, _: clean(row["network"]) or "—"),
        Head(
            "ICCID", lambda row, _: f"…{clean(row['iccid_last4'])}" if row["iccid_last4"] else "—"
        ),
        Head("NUMBER", lambda row, _: phone(row["phone_number"]) or Cell("free", "green")),
        Head("DEVICE", lambda row, _: clean(row["device_id"]), cut=True),
    ),
    id="device_id",
)
_PAUSE_S: Final = 0.2
_UNACCOUNTED_VIEW: Final = View(
    fields=fields("message_id at amount currency"),
    heads=(
        Head("AT", lambda row, terminal: clock(row["at"], terminal)),
        Head("UNEXPLAINED", lambda row, _: money(row["amount"], row["currency"]), right=True),
        Head("BEFORE MESSAGE", lambda row, _: row["message_id"]),
    ),
    id="message_id",
)

_Sim = Annotated[str, Argument(metavar="DEVICE:SLOT", help="The SIM: momo sims list shows them.")]


@command("sims list", view=_LIST_VIEW)
def list_(
    client: Client,
    terminal: Terminal,
    wait: Annotated[str | None, Option(metavar="[=30s]", help="Wait until a SIM is there.")] = None,
) -> Answer:
    """List the phones and their SIMs.

    DEVICE in other commands is the phone's name or its id. --wait waits until a SIM is there (exit 0) or the time is
    over (exit 8).

    Examples:
        momo sims list
        momo sims list --wait=60s
        momo sims list --fields phone,slot_index,network
    """
    wait_s = None if wait is None else duration_s(wait, "--wait")
    reply = client.get(Path.SIMS)
    rows = list(_rows(reply))
    simulated = (
        list(simulated_notes(client.get(Path.LOCAL_MODEMS).data or ())) if terminal.human else []
    )
    if wait_s is not None:
        deadline = system.monotonic() + wait_s
        while not rows and (wait_s == 0 or system.monotonic() < deadline):
            client.pause(_PAUSE_S)
            reply = client.get(Path.SIMS)
            rows = list(_rows(reply))
    free = [row for row in rows if not row["phone_number"]]
    return Answer(
        reply.text,
        rows,
        empty="No SIM was found. Plug in the modem, with its SIM.",
        notes=simulated,
        exit_code=exit_codes.PENDING if wait_s is not None and not rows else exit_codes.OK,
        next=[
            f"momo sims assign {row['phone']}:{row['slot_index']} --method ID" for row in free[:1]
        ],
    )


def _rows(reply: Reply) -> Iterator[Row]:
    for device in reply.data or ():
        for sim in device.get("sims") or ():
            place = {"device_id": device.get("device_id"), "phone": device.get("name")}
            yield place | {name: sim.get(name) for name in _OF_SIM}


@command("sims pin")
def set_pin(
    client: Client,
    terminal: Terminal,
    sim: _Sim,
    pin_file: Annotated[
        str | None, Option(metavar="FILE", help="The PIN, 4 to 8 digits; - = stdin.")
    ] = None,
) -> Answer:
    """Store the PIN of a SIM, encrypted.

    With it the phone can be read after a restart. momo asks for the PIN; it is never a flag. The PIN is tried once. If
    the SIM rejects it, it is never tried again, because three wrong PINs block a SIM.

    Examples:
        momo sims pin zte-front:0
        momo sims pin zte-front:0 --pin-file - < pin.txt
    """
    device, slot = split_sim(sim, "DEVICE:SLOT")
    if pin_file is not None:
        pin = passwords.read_pin_file(pin_file, terminal)
    else:
        pin = passwords.checked_pin(terminal.ask_secret("The SIM's PIN: ", "--pin-file FILE"))
    reply = passwords.send_pin(client, device, slot, pin)
    data = reply.data or {}
    where = f"{clean(data.get('device_name'))}:{data.get('slot_index')}"
    lines = [f"{terminal.tick} The PIN of {where} is stored, encrypted."]
    if data.get("wants") == "SIM PIN":
        lines.append("It is tried now, once.")
    elif data.get("wants"):
        lines.append(f"The SIM asks for its {clean(data['wants'])} first: unblock it in a phone.")
    else:
        lines.append("It is tried once, when the SIM asks for it.")
    return Answer(reply.text, lines=lines, next=["momo modems list"])


@command("sims acknowledge", view=_UNACCOUNTED_VIEW)
def acknowledge(client: Client, terminal: Terminal, sim: _Sim, notes: Reason = None) -> Answer:
    """Acknowledge money that no message explains.

    It is then no longer shown or counted as a fault. If the balance of a SIM changes by more than the messages explain,
    a message was lost or the wallet was used elsewhere. Check the wallet's own history first. Later differences are
    reported again.

    Examples:
        momo sims acknowledge zte-front:0
        momo sims acknowledge zte-front:0 --notes "interest of November"
    """
    device, slot = split_sim(sim, "DEVICE:SLOT")
    body = {**sim_object(client, device, slot), "notes": notes}
    reply = client.call("POST", Path.LOCAL_SIM_UNTOLD, body=only_given(body))
    rows: list[Row] = reply.data or []
    tick = terminal.style("✓", "green", message=True)
    return Answer(
        reply.text,
        rows,
        empty="All money of this SIM is accounted for.",
        notes=[f"{tick} Acknowledged. Later differences are reported again."]
        if rows and terminal.human
        else (),
    )


@command("sims assign", view=METHODS_VIEW)
def assign(
    client: Client,
    terminal: Terminal,
    sim: _Sim,
    method: Annotated[str, Option(metavar="METHOD", help="The number, the name on it, or its id.")],
    move: Annotated[
        bool, Option("--move", help="Remove the number that is on the SIM now.")
    ] = False,
) -> Answer:
    """Assign a number to a SIM.

    The number must be registered. It is removed from its earlier SIM. A SIM that holds another number is refused (exit
    5); with --move the other number is removed from the SIM first.

    Examples:
        momo sims assign zte-front:0 --method 0244124567
        momo sims assign zte-front:0 --method 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11
        momo sims assign zte-front:0 --method 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --move
    """
    device, slot = split_sim(sim, "DEVICE:SLOT")
    target = sim_object(client, device, slot)
    facts = {"method_id": method, "device": device, "slot": str(slot)}
    try:
        reply = assign_sim(client, method, target)
    except Failure as failure:
        failure.facts |= facts
        holder = at(failure.body, "error.payment_method_id")
        taken = failure.code == ErrorCode.SIM_ALREADY_ASSIGNED and isinstance(holder, str)
        if not (move and taken):
            raise
        number = phone(at(failure.body, "error.phone_number"))
        assign_sim(client, str(holder), None)
        terminal.note(f"Removed {number or holder} from that SIM.")
        reply = assign_sim(client, method, target)
    return method_answer(reply, terminal, "Moved")


@command("sims clear", view=METHODS_VIEW)
def clear(client: Client, terminal: Terminal, sim: _Sim) -> Answer:
    """Remove the number from a SIM.

    Its payments are then unplaced until it is on a SIM again. A SIM without a number does not change (exit 0).

    Examples:
        momo sims clear zte-front:0
    """
    device, slot = split_sim(sim, "DEVICE:SLOT")
    target = sim_object(client, device, slot)
    found = client.get(Path.PAYMENT_METHODS)
    on_it = [row for row in found.data or () if _is_on(row, target)]
    if not on_it:
        said = f"There is no number on {device}:{slot}."
        return Answer(document_of(None), empty=said)
    return method_answer(assign_sim(client, str(on_it[0].get("id")), None), terminal, "Removed")


def _is_on(row: Row, sim: Row) -> bool:
    found = row.get("sim")
    return isinstance(found, dict) and all(found.get(name) == sim[name] for name in sim)
