"""GET /v1/open-collections/lines: are the lines ready?"""

from collections.abc import Sequence
from typing import Any

from daemon.api.described import described
from daemon.api.permission import needs_live
from daemon.api.service import Call, Reply, ok
from daemon.core.balance import unaccounted
from daemon.core.lines import UNACCOUNTED_WINDOW_US, UNPLACED_WINDOW_US, line_status, with_troubles
from daemon.core.phones import Condition, real
from daemon.store import balances, devices, payment_methods
from daemon.store.engine import Reader
from daemon.wire import ErrorCode


@described("Get the line status", "lines", errors=(ErrorCode.LIVE_KEY_REQUIRED,))
async def get(call: Call) -> Reply:
    """Return the line status: the shop's numbers and what they were paid, so nothing for a test key."""
    needs_live(call.caller)
    now = call.env.clock.now_us()
    phones = call.service.hooks.phone_states()
    return ok(await call.env.store.read(lambda reader: status(reader, now, phones)))


def status(reader: Reader, now: int, phones: Sequence[Condition]) -> dict[str, Any]:
    """Read the line status object; `phones` is what the ports say now."""
    gaps = balances.gaps_since(reader, now - UNACCOUNTED_WINDOW_US)
    found = line_status(
        devices.known(reader),
        devices.sims_in_phones(reader),
        payment_methods.in_use(reader),
        payment_methods.unplaced_by_sim(reader, now - UNPLACED_WINDOW_US),
        now,
        {sim_key: unaccounted(entries) for sim_key, entries in gaps.items()},
    )
    return with_troubles(found, real(phones))
