"""The commands about SIMs."""

from collections.abc import Iterator
from typing import Final

from daemon.wire import Path
from momo_cli import exit_codes, system
from momo_cli.frame.command import command
from momo_cli.inputs import passwords
from momo_cli.inputs.ids import MESSAGES, id_of, sim_object, split_sim
from momo_cli.inputs.parameters import PASSWORD_FILE, REASON, argument, flag, option
from momo_cli.inputs.typed_values import only_given
from momo_cli.show.answer import Answer, Cell, Head, Row, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import clock, money, phone
from momo_cli.socket.client import Client, Reply
from momo_cli.text import clean
from momo_cli.times import duration_s, parse_stamp
from momo_cli.views.lines import (
    ignore_sim,
    simulated_notes,
)
from momo_cli.views.reviews import settled_lines
from momo_cli.views.service_centres import (
    SMSCS_VIEW,
    ask_test_payment,
    smscs_of,
    test_payment_text,
)

_OF_SIM: Final = (
    "slot_index",
    "network",
    "iccid_last4",
    "payment_method_id",
    "phone_number",
    "available",
    "ignored",
)


def _without_number(row: Row) -> Cell:
    return Cell("ignored", "dim") if row["ignored"] else Cell("free", "green")


_LIST_VIEW: Final = view_of(
    "device_id",
    "phone",
    *_OF_SIM,
    Head("SIM", lambda row, _: f"{clean(row['phone'])}:{row['slot_index']}"),
    Head("NETWORK", lambda row, _: clean(row["network"]) or "—"),
    Head("ICCID", lambda row, _: f"…{clean(row['iccid_last4'])}" if row["iccid_last4"] else "—"),
    Head("NUMBER", lambda row, _: phone(row["phone_number"]) or _without_number(row)),
    id="device_id",
)
_PAUSE_S: Final = 0.2
_UNACCOUNTED_VIEW: Final = view_of(
    "message_id at amount currency",
    Head("AT", lambda row, terminal: clock(row["at"], terminal)),
    Head("UNEXPLAINED", lambda row, _: money(row["amount"], row["currency"]), right=True),
    Head("BEFORE MESSAGE", lambda row, _: row["message_id"]),
    id="message_id",
)

_NEIGHBOURS: Final = (
    "A number that differs from a home one in its last two digits only is home too."
)
_NO_CHAIN: Final = "A test payment makes its balance known."
_LOOK_S: Final = 1.0

_SIM = argument("DEVICE:SLOT", "The SIM: momo phones list shows them.")


@command("phones list", view=_LIST_VIEW)
def list_(
    client: Client,
    terminal: Terminal,
    wait: str | None = option("[=30s]", "Wait until a SIM is there."),
) -> Answer:
    """List the phones and their SIMs.

    DEVICE in other commands is the phone's name or its id. --wait waits until a SIM is there (exit 0) or the time is
    over (exit 8). --sandbox lists the simulated phones of momo daemon run --simulated-phone.

    Examples:
        momo phones list
        momo phones list --wait=60s
        momo phones list --sandbox
        momo phones list --fields phone,slot_index,network
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
    free = [row for row in rows if not row["phone_number"] and not row["ignored"]]
    hidden = simulated and not rows and not client.sandbox
    return Answer(
        reply.text,
        rows,
        empty="No SIM was found. Plug in the modem, with its SIM.",
        notes=simulated,
        exit_code=exit_codes.PENDING if wait_s is not None and not rows else exit_codes.OK,
        next=["momo lines"] if free else ["momo phones list --sandbox"] if hidden else [],
    )


def _rows(reply: Reply) -> Iterator[Row]:
    for device in reply.data or ():
        for sim in device.get("sims") or ():
            place = {"device_id": device.get("device_id"), "phone": device.get("name")}
            yield place | {name: sim.get(name) for name in _OF_SIM}


@command("lines centres", view=SMSCS_VIEW)
def show(client: Client, terminal: Terminal, sim: str = _SIM) -> Answer:
    """Show which service centres are home, and why.

    A receipt pays at once only through a home service centre (SMSC), and if its balance follows from the one before.
    Messages through any other one are foreign: they wait until later messages, or you, prove them.

    Examples:
        momo lines centres zte-front:0
        momo lines centres zte-front:0 --fields smsc,home,source
    """
    reply = smscs_of(client, sim_object(client, *split_sim(sim, "DEVICE:SLOT")))
    data, rows = reply.data, reply.data["smscs"]
    begun, asked = data["has_chain"], data.get("test_payment")
    notes = [_NEIGHBOURS] if begun else [_NEIGHBOURS, _NO_CHAIN]
    if asked:
        notes.append(test_payment_text(asked, None, terminal))
    next_ = [] if begun or asked else [f"momo lines test-payment {sim}"]
    if not all(row["home"] for row in rows):
        next_.append("momo review list")
    chain = "its balance is known" if begun else "its balance is not known yet"
    return Answer(
        reply.text,
        rows,
        heading=f"{sim}, {clean(data['network']).upper()}: {chain}",
        empty="The SIM names no service centre, so all its messages wait for you.",
        notes=notes if terminal.human else (),
        next=next_,
    )


@command("lines trust", view=view_of("message_id settled", id="message_id"))
def trust(
    client: Client,
    terminal: Terminal,
    sim: str = _SIM,
    message: str = option("ID", "The held message.", default=...),
    password_file: str | None = PASSWORD_FILE,
) -> Answer:
    """Accept a held message, and all that waits for it.

    Its service centre becomes home if its balance joins. Do it only if the wallet holds the balance that the message
    names. A message with other doubts is refused: momo review approve decides about it.

    Examples:
        momo lines trust zte-front:0 --message 0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f --password-file pw.txt
    """
    body = {
        **sim_object(client, *split_sim(sim, "DEVICE:SLOT")),
        "message_id": id_of(client, MESSAGES, message),
        "password": passwords.owners_password(terminal, password_file),
    }
    reply = client.call("POST", Path.LOCAL_SIM_TRUST, body=body)
    lines = [f"{terminal.tick} The message is accepted.", *settled_lines(reply.data)]
    return Answer(*reply.parts, lines=lines, next=[f"momo lines centres {sim}"])


@command("lines test-payment", view=view_of("amount currency expires_at", id="amount"))
def expect_test_payment(
    client: Client,
    terminal: Terminal,
    sim: str = _SIM,
    wait: str | None = option("[=1h]", "Wait until it has come."),
) -> Answer:
    """Name an odd amount for you to pay to a SIM.

    Its receipt proves the service centre and the balance of the SIM. Nobody else knows the amount, so nobody can forge
    that receipt first. It is expected for an hour. With --wait: exit 0 when it has come, 8 if it has not.

    Examples:
        momo lines test-payment zte-front:0
        momo lines test-payment zte-front:0 --wait=10m
    """
    wait_s = None if wait is None else duration_s(wait, "--wait")
    target = sim_object(client, *split_sim(sim, "DEVICE:SLOT"))
    on_it = (row for row in _rows(client.get(Path.SIMS)) if _is_on({"sim": row}, target))
    reply = ask_test_payment(client, target)
    said = test_payment_text(reply.data, next(on_it, {}).get("phone_number"), terminal)
    if wait_s is None:
        return Answer(*reply.parts, lines=[said], next=[f"momo lines centres {sim}"])
    terminal.note(said)
    deadline = system.monotonic() + wait_s
    while (seen := smscs_of(client, target).data)["test_payment"] and system.monotonic() < deadline:
        client.pause(_LOOK_S)
    until = parse_stamp(reply.data["expires_at"])
    come = not seen["test_payment"] and (until is None or terminal.now() < until)
    said = f"{terminal.tick} It has come." if come else "It has not come."
    code = exit_codes.OK if come else exit_codes.PENDING
    return Answer(*reply.parts, lines=[said], exit_code=code, next=[f"momo lines centres {sim}"])


@command("lines pin")
def set_pin(
    client: Client,
    terminal: Terminal,
    sim: str = _SIM,
    pin_file: str | None = option("FILE", "The PIN, 4 to 8 digits; - = stdin."),
) -> Answer:
    """Store the PIN of a SIM, encrypted.

    With it the phone can be read after a restart. momo asks for the PIN; it is never a flag. The PIN is tried once. If
    the SIM rejects it, it is never tried again, because three wrong PINs block a SIM.

    Examples:
        momo lines pin zte-front:0
        momo lines pin zte-front:0 --pin-file - < pin.txt
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
    return Answer(reply.text, lines=lines, next=["momo phones status"])


@command("lines acknowledge", view=_UNACCOUNTED_VIEW)
def acknowledge(
    client: Client, terminal: Terminal, sim: str = _SIM, notes: str | None = REASON
) -> Answer:
    """Acknowledge money that no message explains.

    It is then no longer shown or counted as a fault. If the balance of a SIM changes by more than the messages explain,
    a message was lost or the wallet was used elsewhere. Check the wallet's own history first. Later differences are
    reported again.

    Examples:
        momo lines acknowledge zte-front:0
        momo lines acknowledge zte-front:0 --notes "interest of November"
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


@command("lines ignore", view=_LIST_VIEW)
def ignore(
    client: Client,
    terminal: Terminal,
    sim: str = _SIM,
    undo: bool = flag("The SIM is for payments again."),
) -> Answer:
    """Set aside a SIM that is not for payments.

    It then needs no number: the lines, setup, doctor and the status leave it out, and endpoints can be created. Its
    messages are still read. A SIM with a number is refused (exit 5). A number that is assigned to it ends it.

    Examples:
        momo lines ignore zte-front:0
        momo lines ignore zte-front:0 --undo
        momo lines ignore simulated-mtn:0 --sandbox
    """
    device, slot = split_sim(sim, "DEVICE:SLOT")
    reply = ignore_sim(client, sim_object(client, device, slot), ignored=not undo)
    row: Row = {"phone": reply.data.get("name"), **reply.data}
    where = f"{clean(row['phone'])}:{row['slot_index']}"
    said = f"{where} is for payments again" if undo else f"{where} is set aside"
    then = ["momo lines"] if undo else [f"momo lines ignore {sim} --undo"]
    return Answer(reply.text, [row], lines=[f"{terminal.tick} {said}."], next=then)


def _is_on(row: Row, sim: Row) -> bool:
    found = row.get("sim")
    return isinstance(found, dict) and all(found.get(name) == sim[name] for name in sim)
