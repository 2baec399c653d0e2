"""What the commands about phones share: fields, the table, the lines of one, finding one by name, id or port."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from daemon.wire import ErrorCode, Path
from momo_cli.answer import Answer, Cell, Field, Head, Row, View
from momo_cli.client import Client
from momo_cli.errors import Failure, usage
from momo_cli.terminal import Terminal
from momo_cli.text import at, clean
from momo_cli.values import dumps
from momo_cli.words import ago, phone, styled

_READY: Final = "ready"
_PASSING: Final = ("opening", "starting", "resuming", "restarting")
_BARS: Final = "▂▄▆█"
FAIL: Final = "fail"

VIEW: Final = View(
    fields=(
        Field("device_id"),
        Field("name"),
        Field("port"),
        Field("state"),
        Field("signal_dbm", "signal.dbm"),
        Field("signal_bars", "signal.bars"),
        Field("registration"),
        Field("network_name"),
        Field("storage_used", "storage.used"),
        Field("storage_total", "storage.total"),
        Field("last_sms_at"),
    ),
    heads=(
        Head("MODEM", lambda row, _: called(row), cut=True),
        Head("STATE", lambda row, _: state(row)),
        Head("SIGNAL", lambda row, terminal: signal(row, terminal)),  # noqa: PLW0108 -- it stands below
        Head("NETWORK", lambda row, _: network(row)),
        Head("SIM HOLDS", lambda row, _: storage(row), right=True),
        Head("LAST SMS", lambda row, terminal: ago(row.get("last_sms_at"), terminal) or "—"),
        Head("TROUBLE", lambda row, _: _first_trouble(row)),
    ),
    id="device_id",
)


def find(client: Client, wanted: str) -> Row:
    """Return the phone that is called so, or has that id or that port.

    Raises:
        Failure: DEVICE_NOT_FOUND, or USAGE when two phones are meant.
    """
    phones: Sequence[Row] = client.get(Path.LOCAL_MODEMS).data or ()
    for member, text in (("device_id", wanted.lower()), ("name", wanted), ("port", wanted)):
        found = [row for row in phones if row.get(member) == text]
        if len(found) > 1:
            ids = ", ".join(clean(row.get("device_id")) for row in found)
            raise usage(f"two phones are called {wanted!r}; give one of {ids}", "momo modems list")
        if found:
            return found[0]
    names = ", ".join(called(row) for row in phones) or "none"
    raise Failure(
        ErrorCode.DEVICE_NOT_FOUND,
        f"no phone is called {wanted!r}; there are: {names}",
        next=("momo modems list",),
    )


def simulated(phones: Iterable[Row]) -> Iterator[str]:
    """Say which phones are no phones: `daemon run --simulated-phone` plays them."""
    names = [called(row) for row in phones if row.get("simulated")]
    if names:
        yield f"{', '.join(names)}: simulated, for the sandbox alone; nothing from there is real money."


def called(row: Row) -> str:
    """Return how people call a phone: its name, else its port."""
    return clean(row.get("name") or row.get("port"))


def named(row: Row, trouble: Row) -> str:
    """Return a trouble under the phone's name; a sentence about a port begins with the port."""
    text = clean(trouble.get("text"))
    return text if text.startswith(called(row)) else f"{called(row)}: {text}"


def state(row: Row) -> Cell:
    """Return a phone's state as a word."""
    word = clean(row.get("state")).replace("_", " ")
    if row.get("simulated"):
        return Cell(f"~ simulated, {word}", "dim")
    if row.get("state") == _READY:
        failing = any(trouble.get("level") == FAIL for trouble in _troubles(row))
        return Cell("! ready", "yellow") if failing else Cell("✓ ready", "green")
    if row.get("state") in _PASSING:
        return Cell(f"… {word}", "dim")
    if row.get("state") == "away":
        return Cell("— away", "dim")
    return Cell(f"✗ {word}", "red")


def bars(row: Row, terminal: Terminal) -> str:
    """Return how strong the signal is: `▂▄▆_`, or `3/4` where only ASCII can be shown."""
    found = at(row, "signal.bars")
    if not isinstance(found, int):
        return "—"
    most = len(_BARS)
    return f"{_BARS[:found]}{'_' * (most - found)}" if terminal.symbols else f"{found}/{most}"


def signal(row: Row, terminal: Terminal) -> str:
    """Return the bars and what they stand for: `▂▄▆_ -79 dBm`."""
    shown, dbm = bars(row, terminal), at(row, "signal.dbm")
    return shown if dbm is None else f"{shown} {dbm} dBm"


def network(row: Row) -> str:
    """Return the network and how the SIM stands with it, which is only said when it is not at home."""
    name = clean(row.get("network_name"))
    word = clean(row.get("registration")).replace("_", " ")
    return " ".join(part for part in (name, "" if word == "home" else word) if part) or "—"


def storage(row: Row) -> str:
    """Return how full the SIM is: `2/30`."""
    used, total = at(row, "storage.used"), at(row, "storage.total")
    return f"{used}/{total}" if used is not None else "—"


def _storages(row: Row) -> str:
    """Return how full each storage is, where there is more than one: `SM 2/30, ME 0/100`."""
    all_of = row.get("storages") or ()
    if len(all_of) < 2:
        return storage(row)
    return ", ".join(
        f"{clean(one.get('name'))} {one.get('used')}/{one.get('total')}" for one in all_of
    )


def _troubles(row: Row) -> Sequence[Row]:
    return row.get("troubles") or ()


def _first_trouble(row: Row) -> Cell | str:
    troubles = _troubles(row)
    if not troubles:
        return ""
    more = f" (+{len(troubles) - 1})" if len(troubles) > 1 else ""
    style = "red" if troubles[0].get("level") == FAIL else "yellow"
    return Cell(clean(troubles[0].get("id")).removeprefix("modem.").replace("_", " ") + more, style)


def trouble_lines(row: Row, terminal: Terminal) -> Iterator[str]:
    """Return each trouble and, below it, what to do."""
    for trouble in _troubles(row):
        mark = Cell("✗", "red") if trouble.get("level") == FAIL else Cell("!", "yellow")
        yield f"{styled(mark, terminal)} {clean(trouble.get('text'))}"
        yield f"    {clean(trouble.get('fix'))}"


def lines(row: Row, terminal: Terminal) -> list[str]:
    """Return one phone as a person reads it."""
    made = " ".join(clean(row.get(part)) for part in ("manufacturer", "model") if row.get(part))
    told = (
        ("port", clean(row.get("port"))),
        ("make", made),
        ("IMEI", clean(row.get("imei"))),
        ("signal", signal(row, terminal)),
        ("network", network(row)),
        ("storage", f"{_storages(row)} messages" if row.get("storage") else ""),
        ("last SMS", ago(row.get("last_sms_at"), terminal)),
    )
    found = [f"{terminal.style(called(row), 'bold')}  {styled(state(row), terminal)}"]
    found += [f"  {name:<9} {value}" for name, value in told if value and value != "—"]
    found += [f"  {'SIM':<9} {_sim(sim)}" for sim in row.get("sims") or ()]
    return found + list(trouble_lines(row, terminal))


def _sim(sim: Row) -> str:
    number = phone(sim.get("phone_number")) or "no number"
    last4 = clean(sim.get("iccid_last4"))
    parts = (
        f"slot {sim.get('slot_index')}",
        clean(sim.get("network")),
        number,
        last4 and f"ICCID …{last4}",
    )
    return "  ".join(part for part in parts if part)


def document(row: Row) -> str:
    """Return the document of a phone that the API has no address for."""
    return dumps({"success": True, "data": row})


def shown(text: str, row: Row, terminal: Terminal) -> Answer:
    """Answer with one phone; `text` is the document."""
    return Answer(document=text, rows=[row], lines=lines(row, terminal))
