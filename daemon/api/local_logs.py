"""GET /local/v1/logs: what the daemon wrote into its log, for `momo logs`. On the Unix socket only."""

import asyncio

from daemon.api.service import Call, Reply, ok
from daemon.log_file import LEVELS, LINES_MAX, Wanted, read

LINES = 200


async def get_list(call: Call) -> Reply:
    """Return lines, oldest first, and in `meta.cursor` what `after` takes to go on from there."""
    query = call.query
    wanted = Wanted(
        since=query.value("since") or "",
        level=query.word("level", LEVELS) or LEVELS[0],
        component=query.value("component") or "",
        lines=query.number("lines", LINES, high=LINES_MAX),
        after=query.value("after") or "",
    )
    query.done()
    rows, cursor = await asyncio.to_thread(read, call.service.hooks.log_folder, wanted)
    return ok(rows, query.meta(cursor=cursor))
