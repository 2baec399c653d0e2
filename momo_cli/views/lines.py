"""How phones, SIMs, merchant numbers and service centres are shown, and the look-up of a phone by name, id or port."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from daemon.wire import ErrorCode, Path, SourceKind
from momo_cli.errors import Failure, usage
from momo_cli.inputs.ids import METHODS, id_of, sim_name
from momo_cli.show.answer import Answer, Cell, Head, Row, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, clock, money, phone, styled
from momo_cli.socket.client import Client, Reply, path_of
from momo_cli.text import at, clean, warnings_of

METHODS_VIEW: Final = view_of(
    "id provider phone_number account_name merchant_code device_id=sim.device_id",
    "slot_index=sim.slot_index is_active last_payment_at created_at",
    Head("NUMBER", lambda row, _: phone(row.get("phone_number"))),
    Head("NAME", lambda row, _: clean(row.get("account_name"))),
    Head("NETWORK", lambda row, _: clean(row.get("provider_name") or row.get("provider"))),
    Head("SIM", lambda row, _: sim_name(row.get("sim")) or Cell("no SIM", "yellow")),
    Head("LAST PAYMENT", lambda row, t: ago(row.get("last_payment_at"), t) or "—"),
    Head("ID", lambda row, _: clean(row.get("id")), cut=True),
)
_BARS: Final = "▂▄▆█"
TROUBLE_FAIL: Final = "fail"


def change_method(client: Client, method: str, changes: Row) -> Reply:
    """Change a number: its SIM, or the name on it."""
    path = path_of(Path.PAYMENT_METHOD, id=id_of(client, METHODS, method))
    return client.call("PATCH", path, body=changes)


_YES: Final = {
    "untold": "Type YES if the wallet really shows that: ",
    "left": "Type YES if this money left the wallet: ",
    "found": "Type YES if you see this money in the wallet: ",
}


def proved(client: Client, terminal: Terminal, path: str, body: Row) -> Reply | None:
    """Say what the wallet shows, and ask what the daemon asks; None if nothing was changed because the answer is no."""
    answer = body.get("answer")
    reply = client.call("POST", path, body=body)
    data = reply.data
    while data["question"] not in {None, answer} and terminal.human:
        terminal.note(clean(data["sentence"]))
        answer = data["question"]
        if terminal.ask(_YES[answer], "--answer").strip().upper() != "YES":
            return reply if data["settled"] else None
        reply = client.call("POST", path, body={**body, "answer": answer})
        data = reply.data
    return reply


def proof_lines(terminal: Terminal, data: Row) -> list[str]:
    """Return what a balance of the wallet has settled, and what that means for each message."""
    mark = terminal.tick if data["settled"] else "?"
    return [f"{mark} {clean(data['sentence'])}", *(f"  {clean(one['sentence'])}" for one in data["messages"])]


def agrees_to_network(terminal: Terminal, number: str, provider: str) -> bool:
    """Ask whether a number is right if another network than the provider's issued it; False if it is not.

    Without a terminal nothing is asked: the daemon's answer has a warning.
    """
    from parsers.phone import NETWORK_NAMES, network_of_number, read_phone  # noqa: PLC0415  # few calls need them
    from parsers.read import PROVIDERS, provider_of  # noqa: PLC0415  # the same

    known = provider_of(provider if provider.startswith("momo_") else f"momo_{provider}")
    theirs = network_of_number(read_phone(number) or "")
    ours = PROVIDERS[known].network if known else None
    if theirs in (None, ours) or ours is None or not terminal.can_ask():
        return True
    shown = " ".join((phone(read_phone(number)), "is in the number range of", NETWORK_NAMES[theirs]))
    return terminal.confirm(f"{shown}, not of {NETWORK_NAMES[ours]}. Is it right?")


def ignore_sim(client: Client, sim: Row, *, ignored: bool = True) -> Reply:
    """Set whether a SIM is not for payments."""
    place = {"device_id": sim["device_id"], "slot_index": str(sim["slot_index"])}
    return client.call("PATCH", path_of(Path.SIM, **place), body={"ignored": ignored})


def method_answer(reply: Reply, terminal: Terminal, verb: str) -> Answer:
    """Return the answer for a number that was made or moved; without a verb, for one that did not change."""
    row: dict[str, Any] = reply.data
    where = sim_name(row.get("sim"))
    name, number = clean(row.get("account_name")), phone(row.get("phone_number"))
    place = f"on SIM {where}" if where else "on no SIM now"
    said = f"{verb} {number} ({name}), {place}" if verb else f"{number} ({name}) is {place}"
    return Answer(
        document=reply.text,
        rows=[row],
        lines=[f"{terminal.tick} {said}"],
        notes=warnings_of(reply.body),
        next=["momo lines"] if where else ["momo phones list"],
    )


MODEMS_VIEW: Final = view_of(
    "device_id name port state signal_dbm=signal.dbm signal_bars=signal.bars registration",
    "network_name storage_used=storage.used storage_total=storage.total last_sms_at",
    Head("MODEM", lambda row, _: modem_name(row), cut=True),
    Head("STATE", lambda row, _: modem_state(row)),
    Head("SIGNAL", lambda row, terminal: signal(row, terminal)),  # noqa: PLW0108 -- defined below
    Head("NETWORK", lambda row, _: network(row)),
    Head("SIM HOLDS", lambda row, _: storage(row), right=True),
    Head("LAST SMS", lambda row, terminal: ago(row.get("last_sms_at"), terminal) or "—"),
    Head("TROUBLE", lambda row, _: _first_trouble(row)),
    id="device_id",
)


def find_modem(client: Client, wanted: str) -> Row:
    """Return the phone with that id, name or port; fail if none (DEVICE_NOT_FOUND) or two (USAGE) match."""
    phones: Sequence[Row] = client.get(Path.LOCAL_MODEMS).data or ()
    for member, text in (("device_id", wanted.lower()), ("name", wanted), ("port", wanted)):
        found = [row for row in phones if row.get(member) == text]
        if len(found) > 1:
            ids = ", ".join(clean(row.get("device_id")) for row in found)
            raise usage(f"two phones are called {wanted!r}; give one of {ids}", "momo phones status")
        if found:
            return found[0]
    names = ", ".join(modem_name(row) for row in phones) or "none"
    why = f"no phone is called {wanted!r}; there are: {names}"
    raise Failure(ErrorCode.DEVICE_NOT_FOUND, why, next=("momo phones status",))


def simulated_notes(phones: Iterable[Row]) -> Iterator[str]:
    """Yield a warning that names the phones simulated by `daemon run --simulated-phone`."""
    names = [modem_name(row) for row in phones if row.get("simulated")]
    if names:
        yield f"{', '.join(names)}: simulated, for the sandbox only; no real money."


def modem_name(row: Row) -> str:
    """Return the display name of a phone: its name, else its port."""
    return clean(row.get("name") or row.get("port"))


def trouble_text(row: Row, trouble: Row) -> str:
    """Return the text of a trouble with the phone's name before it, unless it begins with the name."""
    text = clean(trouble.get("text"))
    return text if text.startswith(modem_name(row)) else f"{modem_name(row)}: {text}"


def modem_state(row: Row) -> Cell:
    """Return a phone's state as a word."""
    word = clean(row.get("state")).replace("_", " ")
    if row.get("simulated"):
        return Cell(f"~ simulated, {word}", "dim")
    if row.get("state") == "ready":
        failing = any(trouble.get("level") == TROUBLE_FAIL for trouble in row.get("troubles") or ())
        return Cell("! ready", "yellow") if failing else Cell("✓ ready", "green")
    if row.get("state") in ("opening", "starting", "resuming", "restarting"):
        return Cell(f"… {word}", "dim")
    if row.get("state") == "away":
        return Cell("— away", "dim")
    return Cell(f"✗ {word}", "red")


def bars(row: Row, terminal: Terminal) -> str:
    """Return the signal strength as bars: `▂▄▆_`, or `3/4` if only ASCII can be shown."""
    found = at(row, "signal.bars")
    if not isinstance(found, int):
        return "—"
    most = len(_BARS)
    return f"{_BARS[:found]}{'_' * (most - found)}" if terminal.symbols else f"{found}/{most}"


def signal(row: Row, terminal: Terminal) -> str:
    """Return the bars and the signal strength: `▂▄▆_ -79 dBm`."""
    shown, dbm = bars(row, terminal), at(row, "signal.dbm")
    return shown if dbm is None else f"{shown} {dbm} dBm"


def network(row: Row) -> str:
    """Return the network, and the registration state unless it is the home network."""
    name = clean(row.get("network_name"))
    word = clean(row.get("registration")).replace("_", " ")
    return " ".join(part for part in (name, "" if word == "home" else word) if part) or "—"


def storage(row: Row) -> str:
    """Return the used and total message places of the SIM: `2/30`."""
    used, total = at(row, "storage.used"), at(row, "storage.total")
    return f"{used}/{total}" if used is not None else "—"


def _storages(row: Row) -> str:
    """Return the used and total places of each storage, if there are several: `SM 2/30, ME 0/100`."""
    all_of = row.get("storages") or ()
    if len(all_of) < 2:
        return storage(row)
    return ", ".join(f"{clean(one.get('name'))} {one.get('used')}/{one.get('total')}" for one in all_of)


def _first_trouble(row: Row) -> Cell | str:
    troubles = row.get("troubles") or ()
    if not troubles:
        return ""
    more = f" (+{len(troubles) - 1})" if len(troubles) > 1 else ""
    style = "red" if troubles[0].get("level") == TROUBLE_FAIL else "yellow"
    return Cell(clean(troubles[0].get("id")).removeprefix("modem.").replace("_", " ") + more, style)


def trouble_lines(row: Row, terminal: Terminal) -> Iterator[str]:
    """Yield each trouble and, below it, its remedy."""
    for trouble in row.get("troubles") or ():
        mark = Cell("✗", "red") if trouble.get("level") == TROUBLE_FAIL else Cell("!", "yellow")
        yield f"{styled(mark, terminal)} {clean(trouble.get('text'))}"
        yield f"    {clean(trouble.get('fix'))}"


def modem_lines(row: Row, terminal: Terminal) -> list[str]:
    """Return the lines of one phone."""
    made = " ".join(clean(row.get(part)) for part in ("manufacturer", "model") if row.get(part))
    hours = row.get("signal_hours") or ()
    day = ""
    if hours:
        lowest = min(int(hour["lowest_dbm"]) for hour in hours)
        highest = max(int(hour["highest_dbm"]) for hour in hours)
        day = f"{lowest} to {highest} dBm"
    kind = at(row, "source.kind")
    source = ""
    if kind not in {None, SourceKind.MODEM}:
        source_name, level = clean(at(row, "source.name")), clean(at(row, "source.trust_level"))
        source = f"{source_name} ({clean(kind)}, trust level {level})"
    facts = (
        ("port", clean(row.get("port"))),
        ("source", source),
        ("make", made),
        ("IMEI", clean(row.get("imei"))),
        ("signal", signal(row, terminal)),
        ("24 hours", day),
        ("network", network(row)),
        ("storage", f"{_storages(row)} messages" if row.get("storage") else ""),
        ("last SMS", ago(row.get("last_sms_at"), terminal)),
    )
    found = [f"{terminal.style(modem_name(row), 'bold')}  {styled(modem_state(row), terminal)}"]
    found += [f"  {name:<9} {value}" for name, value in facts if value and value != "—"]
    found += [f"  {'SIM':<9} {_sim(sim)}" for sim in row.get("sims") or ()]
    return found + list(trouble_lines(row, terminal))


def _sim(sim: Row) -> str:
    number = phone(sim.get("phone_number")) or ("ignored" if sim.get("ignored") else "no number")
    last4 = clean(sim.get("iccid_last4"))
    shown = last4 and f"ICCID …{last4}"
    parts = (f"slot {sim.get('slot_index')}", clean(sim.get("network")), number, shown)
    return "  ".join(part for part in parts if part)


_SOURCES: Final = {
    "sim": "the SIM's own (AT+CSCA)",
    "test_payment": "brought your test payment",
    "approved": "you approved a message through it",
    "proved": "what the wallet showed confirmed messages through it",
    "noticed": "not used before: its messages wait",
}
SMSCS_VIEW: Final = view_of(
    "smsc home source message_id since",
    Head("SERVICE CENTRE", lambda row, _: clean(row["smsc"])),
    Head("", lambda row, _: Cell("✓ home", "green") if row["home"] else Cell("! foreign", "yellow")),
    Head("WHY", lambda row, _: _SOURCES.get(row["source"], clean(row["source"]))),
    Head("SINCE", lambda row, terminal: ago(row["since"], terminal)),
    id="smsc",
)


def smscs_of(client: Client, sim: Row) -> Reply:
    """Get the service centres of a SIM, whether its balance chain has begun, and its expected test payment."""
    return client.call("POST", Path.LOCAL_SIM_SMSCS, body=_place(sim))


def ask_test_payment(client: Client, sim: Row) -> Reply:
    """Let the daemon expect a test payment on a SIM."""
    return client.call("POST", Path.LOCAL_SIM_TEST_PAYMENT, body=_place(sim))


def test_payment_text(asked: Row, number: object, terminal: Terminal) -> str:
    """Return the payment that the owner is to make."""
    amount, to = (money(asked["amount"], asked["currency"]), phone(number) or "the number of this SIM")
    until = clock(asked["expires_at"], terminal)
    return f"From any other phone, send exactly {amount} to {to}, without a code, until {until}."


def _place(sim: Row) -> Row:
    return {"device_id": sim["device_id"], "slot_index": sim["slot_index"]}


def sheet_columns(sheet: Row) -> list[tuple[str, Row]]:
    """Return the columns of a sheet: each wallet and the total; with a single wallet, that one alone."""
    own = [(_column_name(line, sheet["lines"]), line) for line in sheet["lines"]]
    return own if len(own) == 1 else [*own, ("All", sheet["all"])]


def _column_name(line: Row, every: Sequence[Row]) -> str:
    """Return the name of a column, with the last digits of the number if a network has two numbers."""
    name = clean(line["network_name"])
    if sum(other["network"] == line["network"] for other in every) > 1:
        return f"{name} {(clean(line['phone_number']) or 'no number')[-4:]}"
    return name
