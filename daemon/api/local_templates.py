"""GET /local/v1/templates, and POST /local/v1/messages/{id}/confirm-wording: wordings that wait for, or have, a proof."""

from collections.abc import Iterable
from typing import Any

from daemon.api.fields import Fields, read_uuid
from daemon.api.permission import needs_owner
from daemon.api.read_json import read_object
from daemon.api.service import Call, Reply, ok
from daemon.core.errors import Refusal
from daemon.core.shapes import Json, timestamp
from daemon.flows import confirm_wording, password
from daemon.own_wordings import OwnWordings
from daemon.store import confirmed
from daemon.wire import ErrorCode
from parsers.read import PROVIDERS, wordings
from parsers.template import Wording


async def get_list(call: Call) -> Reply:
    """List the shop's own wordings by file, and ours that no genuine message has confirmed."""
    own = call.env.own
    rows = await call.env.store.read(confirmed.every)
    networks = {provider.network for provider in PROVIDERS.values()}
    data = {
        "folder": None if own.folder is None else str(own.folder),
        "files": [
            {
                "file": file.name,
                "wordings": [_shape(wording, rows) for wording in file.loaded.wordings],
                "problems": [
                    {"line": one.line, "why": one.why, "todo": one.todo}
                    for one in file.loaded.problems
                ],
            }
            for file in own.files
        ],
        "unverified": [
            _shape(wording, rows)
            for wording in wordings()
            if wording.unverified and wording.network in networks
        ],
    }
    return ok(data)


def summary(own: OwnWordings) -> Json:
    """Make what the status says of the shop's own wordings."""
    return {
        "files": len(own.files),
        "wordings": len(own.wordings),
        "problems": [
            {"file": file.name, "line": one.line, "why": one.why, "todo": one.todo}
            for file in own.files
            for one in file.loaded.problems
        ],
    }


async def confirm(call: Call) -> Reply:
    """Believe a wording from a sender from now on, by one genuine message; needs the account password."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    undo = fields.boolean("undo", default=False)
    given = fields.value("password", required=not undo)
    if given is not None and not isinstance(given, str):
        fields.fail("password", "wrong_type", "must be a string")
    fields.done()
    message_id = read_uuid(call.path("id"))
    if message_id is None:
        raise Refusal(ErrorCode.MESSAGE_NOT_FOUND)
    if not undo:
        # To believe less needs no password.
        await password.confirm(call.env, call.caller, given)
    row = await confirm_wording.confirm(call.env, call.caller, message_id, undo=undo)
    data: dict[str, Any] = {
        "network": row.network,
        "wording": row.wording,
        "sender": row.sender,
        "message_id": row.message_id,
        "confirmed": not undo,
    }
    return ok(data)


def _shape(wording: Wording, rows: Iterable[confirmed.Confirmed]) -> Json:
    return {
        "name": wording.name,
        "network": wording.network,
        "kind": wording.kind,
        "confirmed": [
            {
                "sender": row.sender,
                "message_id": row.message_id,
                "by": row.confirmed_by,
                "at": timestamp(row.confirmed_at),
                "test": row.mode == "test",
            }
            for row in rows
            if (row.network, row.wording) == (wording.network, wording.name)
        ],
    }
