"""Unplaced: payments that came to a SIM without a number, and claiming them for the number that it has now."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import urlencode

from msgspec import Struct

from daemon.core.access.callers import Operation
from daemon.core.errors import Refusal
from daemon.core.lines.line_json import ClaimedAnswer
from daemon.core.lines.readiness import UNPLACED_WINDOW_US
from daemon.core.model import Device, PaymentMethod, Sim
from daemon.core.names import network_name, provider_name
from daemon.dash.parts.message_text import visible
from daemon.dash.web.visit import Goto, Outcome, Shown, Visit
from daemon.flows.lines import payment_methods as flow
from daemon.store.engine import Reader
from daemon.store.lines import devices, payment_methods
from daemon.store.payments import payments
from daemon.store.payments.payments import UnplacedSum
from daemon.wire import ErrorCode, Mode


class UnplacedGroup(Struct, frozen=True):
    """Payments of one SIM and network.

    Attributes:
        found: Their number, sum, and times.
        sim: The SIM; None if it is not known any more.
        device: The modem that it is in, or was in.
        method: The number that may claim them; None if the SIM has none of this network.
    """

    found: UnplacedSum
    sim: Sim | None
    device: Device | None
    method: PaymentMethod | None


async def show_list(visit: Visit) -> Shown:
    """Show the sums by SIM and network."""
    groups = await visit.env.store.read(lambda reader: _groups(reader, visit.now))
    return Shown(
        "lines/unplaced.html",
        {
            "groups": groups,
            "network_of": network_name,
            "provider_of": provider_name,
            "manages": visit.may(Operation.MANAGE_LINES),
            "replay": _replay(visit),
            "text": visible,
        },
    )


def _groups(reader: Reader, now: int) -> Sequence[UnplacedGroup]:
    found = []
    for one in payments.unplaced_sums(reader, now - UNPLACED_WINDOW_US):
        sim = devices.sim_by_key(reader, one.sim_key)
        device = None if sim is None else devices.get(reader, sim.device_id)
        method = None if sim is None else payment_methods.on_sim(reader, sim.seq)
        mine = method if method is not None and method.provider == one.provider else None
        found.append(UnplacedGroup(one, sim, device, mine))
    return found


def _replay(visit: Visit) -> str:
    """Return the address of the replay of the payments just claimed; "" if there are none.

    Its fields have minutes of the shop's zone; the end is the minute after the last payment.
    """
    try:
        first, last = (datetime.fromisoformat(visit.query.get(name, "")) for name in ("from", "to"))
        last = last.astimezone(visit.words.zone) + timedelta(minutes=1)
        first = first.astimezone(visit.words.zone)
    except (ValueError, OverflowError):
        return ""
    window = urlencode({"from": f"{first:%Y-%m-%dT%H:%M}", "to": f"{last:%Y-%m-%dT%H:%M}"})
    return f"/dash/replay?{window}"


async def show_claim(visit: Visit) -> Shown:
    """Show the payments that a claim would assign to a number."""
    method = await visit.env.store.read(
        lambda reader: payment_methods.get(reader, visit.places["id"], Mode.LIVE)
    )
    if method is None:
        raise Refusal(ErrorCode.PAYMENT_METHOD_NOT_FOUND)
    found = await flow.claim_unplaced(visit.env, visit.caller, method.id, dry_run=True)
    would = ClaimedAnswer.of(found.count, found.first, found.last, found.details, dry_run=True)
    return Shown(
        "lines/claim.html",
        {
            "method": method,
            "count": found.count,
            "amounts": would.amounts or [],
            "payments": would.payments or [],
            "provider": provider_name(method.provider),
            "text": visible,
        },
    )


async def claim(visit: Visit) -> Outcome:
    """Claim them, and offer the replay of the same time."""

    def place(done: flow.Claimed) -> Goto:
        if not done.count:
            return Goto("/dash/unplaced", "said_claimed_none")
        found = ClaimedAnswer.of(done.count, done.first, done.last, dry_run=False)
        window = urlencode({"from": found.since, "to": found.until})
        return Goto(f"/dash/unplaced?{window}", "said_claimed")

    done = await flow.claim_unplaced(
        visit.env, visit.caller, visit.places["id"], dry_run=False, keep=visit.keep(place)
    )
    return place(done)
