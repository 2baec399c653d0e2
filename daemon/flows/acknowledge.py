"""A person knows where the money went that no message of a SIM told of: it is a finding no more."""

from daemon.core.access import Caller
from daemon.core.balance_line import Entry
from daemon.core.errors import Refusal
from daemon.core.lines import UNACCOUNTED_WINDOW_US
from daemon.core.provider_names import currency_of
from daemon.env import Env
from daemon.store import balances, devices, events
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, Mode


async def acknowledge(
    env: Env, caller: Caller, device_id: str, slot_index: int, notes: str | None
) -> tuple[list[Entry], str | None]:
    """Note that every amount of a SIM that is unaccounted for now is known; what goes missing later is told again.

    Returns:
        The messages in front of which it went missing, oldest first, and the currency. None left is no fault.

    Raises:
        Refusal: SIM_NOT_FOUND.
        Unavailable: Nothing could be written.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> tuple[list[Entry], str | None]:
        sim = devices.sim_in_slot(tx, device_id, slot_index)
        if sim is None:
            raise Refusal(ErrorCode.SIM_NOT_FOUND)
        currency = None if sim.network is None else currency_of(sim.network)
        gaps = balances.gaps_since(tx, now - UNACCOUNTED_WINDOW_US).get(sim.sim_key, [])
        for entry in gaps:
            balances.know_gap(tx, entry, notes=notes, by=caller.name, now=now)
            data = {"gap_minor": entry.gap_minor, "currency": currency}
            events.add(
                tx,
                type="balance.gap_known",
                mode=Mode.LIVE,
                at=now,
                actor=caller.name,
                message_id=entry.key,
                data={**data, "notes": notes} if notes else data,
            )
        return gaps, currency

    return await env.store.write(job)
