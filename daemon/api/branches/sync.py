"""The calls of branches at their hub: join, exchange, take rows back, leave.

Not in the OpenAPI document: both sides are momo. docs/operators/hub.md describes it.
"""

import asyncio
import contextlib
from typing import Any, Final

from daemon.api.http.body import read_large, read_large_object
from daemon.api.http.fields import Fields, read_uuid
from daemon.api.http.service import NO_STORE, Call, Reply, ok
from daemon.core.branches.facts import BYTES_MAX, METHODS_MAX, SyncRequest, decode
from daemon.core.json_values import dump
from daemon.flows.branches import hub
from daemon.flows.branches import sync as sync_flow
from daemon.flows.branches.sync import SyncAnswer
from daemon.store.branches import branches

REQUEST_BYTES_MAX: Final = 2 * BYTES_MAX
"""One fact may be larger than a batch should be."""
LIVE_FACTS: Final = 16
"""More facts come from a branch that is behind: one payment makes about three."""
HELD_S: Final = 25.0
"""How long a request that brings nothing is held open."""


async def join(call: Call) -> Reply:
    """Join as a branch, with the word of an invitation (`momo hub invite`). The answer has the branch's key, once."""
    fields = Fields(await read_large_object(call.scope, call.receive, REQUEST_BYTES_MAX))
    word = fields.text("word", required=True, blank=False) or ""
    dry_run = fields.boolean("dry_run", default=False)
    fields.text("version")
    methods = fields.words("methods", None, most=METHODS_MAX) or ()
    fields.done()
    reply = ok(
        await hub.accept(
            call.env,
            word.strip(),
            dry_run=dry_run,
            methods=[*filter(None, map(read_uuid, methods))],
        )
    )
    return Reply(reply.status, reply.body, (NO_STORE,))


async def sync(call: Call) -> Reply:
    """Store facts of the branch with this key, and answer with commands for it; without any, after up to 25 s."""
    request = decode(await read_large(call.scope, call.receive, REQUEST_BYTES_MAX))
    if request.facts:
        await call.env.yield_to_live()
    async with call.service.behind if len(request.facts) > LIVE_FACTS else contextlib.nullcontext():
        answer = await sync_flow.sync(call.env, call.caller.key_id, request)
    held = _is_empty(request, answer)
    if held:
        answer = await _hold(call, request, answer)
    want = None if answer.want is None else {"from_seq": answer.want}
    return ok(
        {
            "acked": answer.acked,
            "commands": list(answer.commands),
            "pause_ms": 0,
            "want": want,
            "left": answer.left,
            "held": held,
        }
    )


def _is_empty(request: SyncRequest, answer: SyncAnswer) -> bool:
    brought = request.facts or request.outcomes or request.upto != request.after
    return not (brought or answer.commands or answer.left or answer.want is not None)


async def _hold(call: Call, request: SyncRequest, answer: SyncAnswer) -> SyncAnswer:
    """Wait for commands for this branch, for the end of the service, until it hangs up or the time is over."""
    changed = asyncio.Event()
    unsubscribe = call.env.store.subscribe(branches.TOPIC, changed.set)
    # The body is read, so the next message says that the branch has gone.
    ends: list[asyncio.Future[Any]] = [
        asyncio.ensure_future(call.service.stopping.wait()),
        asyncio.ensure_future(call.receive()),
    ]
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HELD_S):
                while not (answer.commands or any(end.done() for end in ends)):
                    answer = await sync_flow.look_for_commands(
                        call.env, call.caller.key_id, request, answer
                    )
                    if answer.commands:
                        break
                    waiting = asyncio.create_task(changed.wait())
                    try:
                        await asyncio.wait((waiting, *ends), return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        waiting.cancel()
                    changed.clear()
    finally:
        unsubscribe()
        for end in ends:
            end.cancel()
    return answer


async def rows(call: Call) -> Reply:
    """Return rows that the branch with this key has sent, page by page, for its restore."""
    fields = Fields(await read_large_object(call.scope, call.receive, REQUEST_BYTES_MAX))
    kind = fields.text("kind", required=True, blank=False) or ""
    after = fields.integer("after", 0, 1 << 60) or 0
    limit = fields.integer("limit", 1, hub.ROWS_MAX) or hub.ROWS_MAX
    fields.done()
    return Reply(
        200,
        dump(
            {
                "success": True,
                "data": await hub.rows(call.env, call.caller.key_id, kind, after, limit),
            }
        ),
    )


async def leave(call: Call) -> Reply:
    """Begin to leave. The branch goes on sending; an answer with `left: true` is the last one."""
    Fields(await read_large_object(call.scope, call.receive, REQUEST_BYTES_MAX)).done()
    return ok(await hub.begin_to_leave(call.env, call.caller.key_id))
