"""Approved payers (a name for a number) and the wordings of networks: list and confirm them."""

from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

from msgspec import Struct

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import read_object
from daemon.api.http.fields import Fields
from daemon.api.http.service import Call, Reply, ok
from daemon.api.openapi.describe import answer, described
from daemon.core.errors import Refusal
from daemon.core.json_values import Json, timestamp
from daemon.core.payments.review_json import ApprovedPayerAnswer
from daemon.core.shape import Offset, PageMeta, marked, page_size, sample
from daemon.flows.access import password
from daemon.flows.messages import confirmations as confirmation_flow
from daemon.runtime.own_wordings import OwnWordings
from daemon.store.messages import confirmations
from daemon.store.payments import payments
from daemon.wire import ErrorCode
from parsers.read import PROVIDERS, wordings
from parsers.wording import Wording

LIMIT: Final = 50
LIMIT_MAX: Final = 200


class ApprovedPayersQuery(Struct, frozen=True):
    """The page and the filter of the list."""

    limit: Annotated[int, page_size(LIMIT_MAX)] = LIMIT
    offset: Offset = 0
    phone_number: (
        Annotated[str, sample("0241234567", "only this payer's number"), marked(read="phone")]
        | None
    ) = None
    state: (
        Annotated[
            Literal["approved", "all"], sample("all", "`all` includes decided or revoked ones")
        ]
        | None
    ) = None


@described(
    "List approved payers", answer(list[ApprovedPayerAnswer], PageMeta), query=ApprovedPayersQuery
)
async def list_approved_payers(call: Call) -> Reply:
    """List approvals, newest first. `phone_number` selects one number, `state=all` includes revoked approvals."""
    query = call.query
    asked = query.read(ApprovedPayersQuery)
    limit, offset, phone_number = asked.limit, asked.offset, asked.phone_number
    revoked = asked.state == "all"
    found, total = await call.env.store.read(
        lambda reader: payments.approved_payers(
            reader,
            phone_number=phone_number,
            revoked=revoked,
            mode=call.caller.mode,
            limit=limit,
            offset=offset,
        )
    )
    return ok(
        [ApprovedPayerAnswer.of(each) for each in found],
        query.meta(limit=limit, offset=offset, total=total),
    )


@described(
    "Get an approved payer",
    answer(ApprovedPayerAnswer),
    errors=(ErrorCode.APPROVED_PAYER_NOT_FOUND,),
)
async def get_approved_payer(call: Call) -> Reply:
    """Return one approval, also a revoked one."""
    payer_id, mode = call.uuid(ErrorCode.APPROVED_PAYER_NOT_FOUND), call.caller.mode
    found = await call.env.store.look(
        lambda reader: payments.approved_payer(reader, payer_id, mode)
    )
    if found is None:
        raise Refusal(ErrorCode.APPROVED_PAYER_NOT_FOUND)
    return ok(ApprovedPayerAnswer.of(found))


@described(
    "Revoke an approved payer",
    answer(ApprovedPayerAnswer),
    errors=(ErrorCode.APPROVED_PAYER_NOT_FOUND,),
)
async def revoke_approved_payer(call: Call) -> Reply:
    """Revoke an approval; a second call changes nothing."""
    return ok(
        ApprovedPayerAnswer.of(
            await confirmation_flow.revoke_approved_payer(
                call.env, call.caller, call.uuid(ErrorCode.APPROVED_PAYER_NOT_FOUND)
            )
        )
    )


async def list_wordings(call: Call) -> Reply:
    """List the shop's own wordings by file, and built-in wordings not yet confirmed by a genuine message."""
    own = call.env.own_wordings
    rows = await call.env.store.read(confirmations.all_confirmed)
    networks = {provider.network for provider in PROVIDERS.values()}
    data = {
        "folder": None if own.folder is None else str(own.folder),
        "files": [
            {
                "file": file.name,
                "wordings": [_wording_json(wording, rows) for wording in file.loaded.wordings],
                "problems": [
                    {"line": one.line, "why": one.why, "todo": one.todo}
                    for one in file.loaded.problems
                ],
            }
            for file in own.files
        ],
        "unverified": [
            _wording_json(wording, rows)
            for wording in wordings()
            if wording.unverified and wording.network in networks
        ],
    }
    return ok(data)


def summary(own: OwnWordings) -> Json:
    """Build the summary of the shop's own wordings for the status."""
    return {
        "files": len(own.files),
        "wordings": len(own.wordings),
        "problems": [
            {"file": file.name, "line": one.line, "why": one.why, "todo": one.todo}
            for file in own.files
            for one in file.loaded.problems
        ],
    }


async def confirm_wording(call: Call) -> Reply:
    """Confirm a wording from a sender by one genuine message; needs the account password. `undo` withdraws it."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    undo = fields.boolean("undo", default=False)
    given = fields.value("password", required=not undo)
    if given is not None and not isinstance(given, str):
        fields.fail("password", "wrong_type", "must be a string")
    fields.done()
    message_id = call.uuid(ErrorCode.MESSAGE_NOT_FOUND)
    if not undo:
        # Withdrawing trust needs no password.
        await password.confirm(call.env, call.caller, given)
    row = await confirmation_flow.confirm_wording(call.env, call.caller, message_id, undo=undo)
    data: dict[str, Any] = {
        "network": row.network,
        "wording": row.wording,
        "sender": row.sender,
        "message_id": row.message_id,
        "confirmed": not undo,
        "test": row.mode == "test",
    }
    return ok(data)


def _wording_json(wording: Wording, rows: Iterable[confirmations.Confirmed]) -> Json:
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
