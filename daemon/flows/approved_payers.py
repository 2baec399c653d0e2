"""Take back the approval of a name for a number: its next receipt without a number waits for a person again."""

from daemon.core.access import Caller
from daemon.core.errors import Refusal
from daemon.core.model import ApprovedPayer
from daemon.env import Env
from daemon.store import approved_payers, events
from daemon.store.engine import Tx
from daemon.wire import ErrorCode


async def revoke(env: Env, caller: Caller, payer_id: str) -> ApprovedPayer:
    """Return the approval, revoked; what it let pay stays paid. A second time changes nothing.

    Raises:
        Refusal: APPROVED_PAYER_NOT_FOUND.
        Unavailable: Nothing could be written.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> ApprovedPayer:
        payer = approved_payers.get(tx, payer_id, caller.mode)
        if payer is None:
            raise Refusal(ErrorCode.APPROVED_PAYER_NOT_FOUND)
        if approved_payers.revoke(tx, payer_id, by=caller.name, now=now):
            events.add(
                tx,
                type="payer.revoked",
                mode=payer.mode,
                at=now,
                actor=caller.name,
                data={
                    "approved_payer_id": payer.id,
                    "phone_number": payer.phone_number,
                    "name": payer.name,
                },
            )
        revoked = approved_payers.get(tx, payer_id, None)
        assert revoked is not None, "approvals are never deleted"
        return revoked

    return await env.store.write(job)
