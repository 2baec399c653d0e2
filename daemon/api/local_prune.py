"""/local/v1/prune: what is too old to keep, and its removal; on the Unix socket only."""

from typing import Any

from daemon.api.permission import needs_owner
from daemon.api.service import Call, Reply, ok
from daemon.flows import prune as flow
from daemon.flows.prune import Pruned


async def survey(call: Call) -> Reply:
    """Say how much there is. Changes nothing."""
    return ok(_shape(call, await flow.survey(call.env)))


async def prune(call: Call) -> Reply:
    """Prune one batch of each kind; with `more` in the answer, call again."""
    needs_owner(call.caller)
    return ok(_shape(call, await flow.prune(call.env)))


def _shape(call: Call, pruned: Pruned) -> dict[str, Any]:
    kept = call.env.config.retention
    return {
        "counts": pruned.counts,
        "total": sum(pruned.counts.values()),
        "more": pruned.more,
        "doubt": pruned.doubt or None,
        "days": {
            "attempts": kept.attempts_days,
            "deliveries": kept.deliveries_days,
            "messages": kept.messages_days,
        },
    }
