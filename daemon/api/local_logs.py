"""GET /local/v1/logs: what the daemon wrote into its log, for `momo logs`. On the Unix socket only."""

import asyncio

from daemon.api.fields import Query
from daemon.api.service import Call, Reply, ok
from daemon.log_file import LEVELS, LINES_MAX, Wanted, read


async def get_list(call: Call) -> Reply:
    """Return lines, oldest first, and in `meta.cursor` what `after` takes to go on from there."""
    query = Query(call.query)
    given = query.body
    level, lines = str(given.get("level", LEVELS[0])), str(given.get("lines", "200"))
    if level not in LEVELS:
        query.fail("level", "invalid", f"must be one of {', '.join(LEVELS)}")
    if not (lines.isascii() and lines.isdigit() and 0 < int(lines) <= LINES_MAX):
        query.fail("lines", "invalid", f"must be 1 to {LINES_MAX}")
    query.done()
    wanted = Wanted(
        since=str(given.get("since", "")),
        level=level,
        component=str(given.get("component", "")),
        lines=int(lines),
        after=str(given.get("after", "")),
    )
    rows, cursor = await asyncio.to_thread(read, call.service.hooks.log_folder, wanted)
    return ok(rows, {"cursor": cursor})
