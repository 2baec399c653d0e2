"""The commands about payment methods and their SIMs, and claim."""

from collections.abc import Iterator
from typing import Final

from daemon.wire import ErrorCode, Path
from momo_cli import exit_codes, system
from momo_cli.errors import Failure, known, usage
from momo_cli.frame.command import command
from momo_cli.inputs import typed_values
from momo_cli.inputs.ids import MESSAGES, METHODS, endpoint_id, endpoint_name, id_of, sim_object, split_sim
from momo_cli.inputs.parameters import DRY_RUN, METHOD, PASSWORD_FILE, REASON, argument, flag, option
from momo_cli.inputs.typed_values import only_given
from momo_cli.show.answer import Answer, Cell, Head, Row, dumps, unchanged, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import clock, counted, money, payer_text, phone
from momo_cli.show.words import phone as shown_phone
from momo_cli.socket.client import Client, Reply, path_of
from momo_cli.text import at, clean
from momo_cli.times import duration_s, parse_stamp
from momo_cli.views.lines import (
    METHODS_VIEW,
    SMSCS_VIEW,
    agrees_to_network,
    ask_test_payment,
    change_method,
    ignore_sim,
    method_answer,
    proof_lines,
    proved,
    simulated_notes,
    smscs_of,
    test_payment_text,
)
from momo_cli.views.reviews import settled_lines

_HINTS_MAX: Final = 3


@command("lines add", view=METHODS_VIEW)
def add(
    client: Client,
    terminal: Terminal,
    phone: str = argument("NUMBER", "The number, local or +233..."),
    name: str = option("The account's name, as customers see it.", default=...),
    provider: str | None = option("momo_mtn, momo_telecel or momo_at; or mtn, telecel, at."),
    sim: str | None = option("DEVICE:SLOT", "The SIM of the number."),
    merchant_code: str | None = option("The merchant code, if any."),
) -> Answer:
    """With --sim it is assigned to that SIM too. Without --provider the network is that of the SIM, and without --sim the SIM
    is the only one that has no number; if there are several, it asks which. With --provider alone it is on no SIM. It
    asks if the number is in the range of another network. Exit 10: not confirmed.

    Examples:
        momo lines add 0244124567 --name "Ama Mensah"
        momo lines add 0244124567 --provider momo_mtn --name "Ama Mensah"
        momo lines add 0244000001 --provider mtn --name "Practice" --sim simulated-mtn:0 --sandbox
    """
    place: Row | None = None if sim is None else sim_object(client, *split_sim(sim, "--sim"))
    if provider is None:
        place, provider = _found_place(client, terminal, phone, place)
    given = {
        "provider": provider if provider.startswith("momo_") else f"momo_{provider.lower()}",
        "phone_number": phone,
        "account_name": name,
        "merchant_code": merchant_code,
        "sim": place,
    }
    if not agrees_to_network(terminal, phone, provider):
        return unchanged()
    reply = client.post_once(Path.PAYMENT_METHODS, only_given(given))
    return method_answer(reply, terminal, "Registered")


def _found_place(client: Client, terminal: Terminal, number: str, place: Row | None) -> tuple[Row | None, str]:
    """Return the SIM of a new number and the provider: of the SIM that is named, the only free one, or the chosen one.

    Without a SIM, the provider is that of the number's range. Fail (exit 2) if neither is known.
    """
    from parsers.phone import network_of_number, read_phone  # noqa: PLC0415  # few calls need them
    from parsers.read import provider_of_network  # noqa: PLC0415  # the same

    sims = {
        f"{device.get('name') or device['device_id']}:{each['slot_index']}": {**each, "device_id": device["device_id"]}
        for device in client.get(Path.SIMS).data or ()
        for each in device.get("sims") or ()
    }
    if place is not None:
        found = [row for row in sims.values() if _is_at(row, place)]
    else:
        free = {n: row for n, row in sims.items() if not (row["phone_number"] or row["ignored"])}
        found = list(free.values())
        if len(free) > 1:
            names = " or ".join(free)
            typed = terminal.ask(f"Which SIM, {clean(names)}? ", "--sim DEVICE:SLOT")
            if typed not in free:
                raise usage(f"{typed!r} is not {names}", "momo phones list")
            found = [free[typed]]
    network = found[0]["network"] if found else network_of_number(read_phone(number) or "")
    provider = provider_of_network(str(network or "").lower())
    if provider is None:
        raise usage("--provider is missing: the network is not known", "momo lines add --help")
    if place is None and found:
        place = {name: found[0][name] for name in ("device_id", "slot_index")}
    return place, provider


def _is_at(row: Row, place: Row) -> bool:
    return all(row[name] == place[name] for name in ("device_id", "slot_index"))


@command("lines wallet", view=view_of("settled question sentence balance untold currency"))
def wallet(
    client: Client,
    terminal: Terminal,
    method: str = METHOD,
    amount: str = argument("AMOUNT", "The balance that the wallet shows, such as 214.56."),
    answer: str | None = option("QUESTION", "Say yes to this question: untold, left or found."),
    password_file: str | None = PASSWORD_FILE,
) -> Answer:
    """Look into the wallet, on the phone or with *170#, and type its balance. The messages that lead to it are believed and
    pay; what they contradict is refuted. If nothing that came by SMS leads to it, it asks again. Type it at closing, and
    whenever momo asks for it. Exit 10: not confirmed.

    Examples:
        momo lines wallet 0244124567 214.56
        momo lines wallet 0244124567 214.56 --answer untold --password-file pw.txt
    """
    path = path_of(Path.WALLET, id=id_of(client, METHODS, method))
    password = typed_values.owners_password(terminal, password_file)
    body = only_given({"balance": amount, "answer": answer, "password": password})
    reply = proved(client, terminal, path, body)
    if reply is None:
        return unchanged()
    code = exit_codes.OK if reply.data["settled"] else exit_codes.CANCELLED
    return Answer(*reply.parts, lines=proof_lines(terminal, reply.data), exit_code=code)


@command("lines list", view=METHODS_VIEW)
def list_(client: Client) -> Answer:
    """These are the merchant numbers, which receive payments.

    Examples:
        momo lines list
    """
    reply = client.get(Path.PAYMENT_METHODS)
    return Answer(*reply.parts, empty="No numbers yet.", next=[] if reply.data else ["momo lines add --help"])


@command("lines show", view=METHODS_VIEW)
def show(client: Client, method: str = METHOD) -> Answer:
    """It shows the SIM of the number and the time of its last payment.

    Examples:
        momo lines show 0244124567
    """
    reply = client.get(path_of(Path.PAYMENT_METHOD, id=id_of(client, METHODS, method)))
    return Answer(*reply.parts)


@command("lines update", view=METHODS_VIEW)
def update(
    client: Client,
    terminal: Terminal,
    method: str = METHOD,
    sim: str | None = option("DEVICE:SLOT|none", "The new SIM of the number."),
    name: str | None = option("The account's name, as customers see it."),
    phone: str | None = option("The right number, if a wrong one was registered."),
    move: bool = flag("With --sim: remove the number that is on the SIM now."),
) -> Answer:
    """--phone and --name correct what was typed wrongly; payments that came before show the new values too. It asks if the
    new number is in the range of another network. Exit 10: not confirmed.

    --sim assigns the number to a SIM, and removes it from its earlier one. A SIM that holds another number is refused
    (exit 5); with --move the other number is removed from the SIM first. --sim none removes the number from its SIM: the
    payments of that SIM are then unplaced.

    Examples:
        momo lines update 0244124567 --sim zte-front:0 --move
        momo lines update 0244124567 --name "Ama Mensah Ventures"
        momo lines update 0244124567 --phone 0244124568
    """
    changes = only_given({"account_name": name, "phone_number": phone})
    facts: dict[str, str] = {}
    if sim is not None and sim != "none":
        device, slot = split_sim(sim, "--sim")
        changes["sim"] = sim_object(client, device, slot)
        facts = {"device": device, "slot": str(slot)}
    elif sim is not None:
        changes["sim"] = None
    if move and not facts:
        raise usage("--move goes with --sim DEVICE:SLOT")
    if not changes:
        raise usage("give --sim, --name or --phone", "momo lines update --help")
    method = method.strip()
    if phone is not None and terminal.can_ask():
        now = client.get(path_of(Path.PAYMENT_METHOD, id=id_of(client, METHODS, method))).data
        if not agrees_to_network(terminal, phone, str(now["provider"])):
            return unchanged()
    facts["method_id"] = method
    try:
        reply = change_method(client, method, changes)
    except Failure as failure:
        failure.facts |= facts
        holder = at(failure.body, "error.payment_method_id")
        taken = failure.code == ErrorCode.SIM_ALREADY_ASSIGNED and isinstance(holder, str)
        if not (move and taken):
            raise
        change_method(client, str(holder), {"sim": None})
        number = shown_phone(at(failure.body, "error.phone_number"))
        terminal.note(f"Removed {number or holder} from that SIM.")
        reply = change_method(client, method, changes)
    verb = "Moved" if changes.get("sim") else ""
    verb = "Changed" if name is not None or phone is not None else verb
    return method_answer(reply, terminal, verb)


@command("lines remove", view=METHODS_VIEW)
def remove(client: Client, terminal: Terminal, method: str = METHOD) -> Answer:
    """Its payments are kept. New payments to its SIM match no number. Exit 10: not confirmed.

    Examples:
        momo lines remove 6f1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11 --yes
    """
    path = path_of(Path.PAYMENT_METHOD, id=id_of(client, METHODS, method))
    if not terminal.flags.yes:
        seen = client.get(path)
        number = shown_phone(seen.data.get("phone_number"))
        if not terminal.confirm(f"Remove {number}? Payments to it will match no number."):
            return unchanged(seen)
    reply = client.call("DELETE", path)
    number = shown_phone(reply.data.get("phone_number"))
    said = f"{terminal.tick} {number} is removed; its payments are kept."
    return Answer(*reply.parts, lines=[said], next=["momo lines"])


@command("claim", view=view_of("claimed dry_run from to", id="claimed"))
def claim(
    client: Client,
    terminal: Terminal,
    method: str = METHOD,
    dry_run: bool = DRY_RUN,
    replay_to: str | None = option("ENDPOINT", "Then send them to this endpoint: its label, host or id."),
) -> Answer:
    """These are the payments of the last 30 days that came to its SIM while the SIM had no number. --dry-run lists them.
    They are sent to no endpoint, unless --replay-to names one; the command that sends them later is printed. Exit 10:
    not confirmed.

    Examples:
        momo claim 0244124567 --dry-run
        momo claim 0244124567 --replay-to shop.example
    """
    method = method.strip()
    path = path_of(Path.CLAIM_UNPLACED, id=id_of(client, METHODS, method))
    target = None if replay_to is None else endpoint_id(client, replay_to)
    if dry_run or (not terminal.flags.yes and terminal.can_ask()):
        with known(method_id=method):
            seen = client.call("POST", path, body={"dry_run": True})
        count = seen.body.get("claimed") or 0
        found = list(_candidates(seen, terminal))
        if dry_run:
            next_ = [f"momo claim {method} --yes"] if count else []
            said = f"{_counted(seen)} would be claimed."
            return _answer(seen, [*found, said], next_=next_)
        if not count:
            return _answer(seen, ["There is nothing to claim."])
        for line in found:
            terminal.note(line)
        row = client.get(path.rpartition("/")[0]).data or {}
        shown = shown_phone(row.get("phone_number")) or "this number"
        if not terminal.confirm(f"Claim {_counted(seen)} for {shown}?"):
            return _answer(seen, ["Nothing was changed."], exit_code=exit_codes.CANCELLED)
    with known(method_id=method):
        reply = client.post_once(path)
    line = f"{terminal.tick} Claimed {_counted(reply)}."
    if not reply.body.get("claimed"):
        return _answer(reply, [line])
    if target is None:
        line += " They were NOT sent to any webhook yet."
        replays: list[str] = []
        if terminal.human:
            rows = client.get(Path.ENDPOINTS).data or ()
            mine = (row for row in rows if bool(row.get("is_sandbox")) is client.sandbox)
            names = [endpoint_name(row, rows) for row in mine]
            replays = [_replay(each, reply) for each in names[:_HINTS_MAX]]
            replays = replays or ["momo endpoints add --help"]
        return _answer(reply, [line], next_=replays)
    again = _replay(target, reply)
    window = {name: reply.body[name] for name in ("from", "to")}
    try:
        sent = client.post_once(Path.REPLAY, {"endpoint_id": target, **window}).body
    except Failure as failure:
        terminal.complain(line)
        failure.next = (again,)
        raise
    number = int(sent.get("enqueued") or 0)
    queued = f"{terminal.tick} {counted(number, 'payment')} queued for {target}."
    more = bool(sent.get("has_more"))
    return _answer(
        reply,
        [line, queued],
        document=dumps({**reply.body, "replay": sent}),
        notes=["There are more payments than one call sends: repeat the replay."] if more else [],
        next_=[again] if more else [f"momo deliveries list --endpoint {target}"],
    )


def _candidates(seen: Reply, terminal: Terminal) -> Iterator[str]:
    """Yield a line for each payment of the dry run: time, amount, payer, ID."""
    rows = seen.body.get("payments") or ()
    for row in rows:
        when = clock(row.get("received_at"), terminal)
        amount = money(row.get("amount"), row.get("currency"))
        payer = payer_text(at(row, "payer.name"), at(row, "payer.phone_number"))
        yield f"  {when:<12}  {amount:>12}  {payer}  {clean(row.get('telco_transaction_id'))}"
    more = (seen.body.get("claimed") or 0) - len(rows)
    if rows and more:
        yield f"  and {more} more"


def _replay(endpoint: str, claimed: Reply) -> str:
    return f"momo replay --endpoint {endpoint} --from {claimed.body['from']} --to {claimed.body['to']}"


def _counted(reply: Reply) -> str:
    """Return `3 payments (GHS 96.00)`; without the total if the daemon does not send it."""
    amounts = reply.body.get("amounts") or ()
    total = " + ".join(money(each.get("amount"), each.get("currency")) for each in amounts)
    return counted(reply.body.get("claimed") or 0, "payment") + (f" ({total})" if total else "")


def _answer(
    reply: Reply,
    lines: list[str],
    *,
    document: str = "",
    notes: list[str] | None = None,
    next_: list[str] | None = None,
    exit_code: int = exit_codes.OK,
) -> Answer:
    return Answer(
        document or reply.text,
        [{name: reply.body.get(name) for name in ("claimed", "dry_run", "from", "to")}],
        lines=lines,
        notes=notes or (),
        next=next_ or (),
        exit_code=exit_code,
    )


_OF_SIM: Final = ("slot_index", "network", "iccid_last4", "payment_method_id", "phone_number", "available", "ignored")


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

_NEIGHBOURS: Final = "A number that differs from a home one in its last two digits only is home too."
_LOOK_S: Final = 1.0

_SIM = argument("DEVICE:SLOT", "The SIM: momo phones list shows them.")


@command("phones list", view=_LIST_VIEW)
def list_phones(
    client: Client, terminal: Terminal, wait: str | None = option("[=30s]", "Wait until a SIM is there.")
) -> Answer:
    """DEVICE in other commands is the phone's name or its id. --wait waits until a SIM is there (exit 0) or the time is
    over (exit 8). --sandbox lists the simulated phones of momo daemon run --simulated-phone.

    Examples:
        momo phones list
        momo phones list --wait=60s
        momo phones list --sandbox
    """
    wait_s = None if wait is None else duration_s(wait, "--wait")
    reply = client.get(Path.SIMS)
    rows = list(_rows(reply))
    simulated = list(simulated_notes(client.get(Path.LOCAL_MODEMS).data or ())) if terminal.human else []
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
def show_centres(client: Client, terminal: Terminal, sim: str = _SIM) -> Answer:
    """A receipt pays at once only through a home service centre (SMSC), and if its balance follows from the one before.
    Messages through any other one are foreign: they are only listed until you prove them.

    Examples:
        momo lines centres zte-front:0
    """
    reply = smscs_of(client, sim_object(client, *split_sim(sim, "DEVICE:SLOT")))
    data, rows = reply.data, reply.data["smscs"]
    begun, asked = data["has_chain"], data.get("test_payment")
    notes = [_NEIGHBOURS] if begun else [_NEIGHBOURS, "A test payment makes its balance known."]
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
    """Its service centre becomes home if its balance joins. Do it only if the wallet holds the balance that the message
    names. A message with other doubts is refused: momo review approve decides about it.

    Examples:
        momo lines trust zte-front:0 --message 0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f --password-file pw.txt
    """
    body = {
        **sim_object(client, *split_sim(sim, "DEVICE:SLOT")),
        "message_id": id_of(client, MESSAGES, message),
        "password": typed_values.owners_password(terminal, password_file),
    }
    reply = client.call("POST", Path.LOCAL_SIM_TRUST, body=body)
    lines = [f"{terminal.tick} The message is accepted.", *settled_lines(reply.data)]
    return Answer(*reply.parts, lines=lines, next=[f"momo lines centres {sim}"])


@command("lines test-payment", view=view_of("amount currency expires_at", id="amount"))
def expect_test_payment(
    client: Client, terminal: Terminal, sim: str = _SIM, wait: str | None = option("[=1h]", "Wait until it has come.")
) -> Answer:
    """Its receipt proves the service centre and the balance of the SIM. Nobody else knows the amount, so nobody can forge
    that receipt first. It is expected for an hour. With --wait: exit 0 when it has come, 8 if it has not.

    Examples:
        momo lines test-payment zte-front:0
        momo lines test-payment zte-front:0 --wait=10m
    """
    wait_s = None if wait is None else duration_s(wait, "--wait")
    target = sim_object(client, *split_sim(sim, "DEVICE:SLOT"))
    on_it = (row for row in _rows(client.get(Path.SIMS)) if _is_at(row, target))
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
    """With it the phone can be read after a restart. momo asks for the PIN; it is never a flag. The PIN is tried once. If
    the SIM rejects it, it is never tried again, because three wrong PINs block a SIM.

    Examples:
        momo lines pin zte-front:0
        momo lines pin zte-front:0 --pin-file - < pin.txt
    """
    device, slot = split_sim(sim, "DEVICE:SLOT")
    if pin_file is not None:
        pin = typed_values.read_pin_file(pin_file, terminal)
    else:
        pin = typed_values.checked_pin(terminal.ask_secret("The SIM's PIN: ", "--pin-file FILE"))
    reply = typed_values.send_pin(client, device, slot, pin)
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
def acknowledge(client: Client, terminal: Terminal, sim: str = _SIM, notes: str | None = REASON) -> Answer:
    """It is then no longer shown or counted as a fault. If the balance of a SIM changes by more than the messages explain,
    a message was lost or the wallet was used elsewhere. Check the wallet's own history first. Later differences are
    reported again.

    Examples:
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
        notes=[f"{tick} Acknowledged. Later differences are reported again."] if rows and terminal.human else (),
    )


@command("lines ignore", view=_LIST_VIEW)
def ignore(
    client: Client, terminal: Terminal, sim: str = _SIM, undo: bool = flag("The SIM is for payments again.")
) -> Answer:
    """It then needs no number: the lines, setup, doctor and the status leave it out, and endpoints can be created. Its
    messages are still read. A SIM with a number is refused (exit 5). A number that is assigned to it ends it.

    Examples:
        momo lines ignore zte-front:0
        momo lines ignore zte-front:0 --undo
    """
    device, slot = split_sim(sim, "DEVICE:SLOT")
    reply = ignore_sim(client, sim_object(client, device, slot), ignored=not undo)
    row: Row = {"phone": reply.data.get("name"), **reply.data}
    where = f"{clean(row['phone'])}:{row['slot_index']}"
    said = f"{where} is for payments again" if undo else f"{where} is set aside"
    then = ["momo lines"] if undo else [f"momo lines ignore {sim} --undo"]
    return Answer(reply.text, [row], lines=[f"{terminal.tick} {said}."], next=then)
