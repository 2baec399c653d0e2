"""Send one SMS from one modem, because a person wants to see whether it can; the texts loop lets it go."""

from daemon.core.access import Caller
from daemon.core.errors import Refusal
from daemon.core.limits import HOUR_US, SECOND_US
from daemon.core.texting import test_text
from daemon.env import Env
from daemon.store import devices, shop, texts
from daemon.store.engine import Tx
from daemon.store.texts import Text
from daemon.wire import ErrorCode


async def start(env: Env, caller: Caller, device_id: str, number: str) -> Text:
    """Queue it for the SIM that is in the phone, with a number of the shop's on it or without.

    Args:
        env: The shop's doors.
        caller: For the journal.
        device_id: The phone.
        number: Who gets it, E.164.

    Raises:
        Refusal: SIM_NOT_FOUND; RATE_LIMITED where the number, or the SIM, has had as many as the settings allow.
        Unavailable: Nothing could be written.
    """
    now, text_id = env.clock.now_us(), env.new_id()

    def job(tx: Tx) -> Text:
        here = [sim for sim in devices.sims_in_phones(tx) if sim.device_id == device_id]
        if not here:
            raise Refusal(ErrorCode.SIM_NOT_FOUND, "No SIM that can be read is in that phone.")
        owner = shop.get(tx)
        queued = texts.owe_test(
            tx,
            env.texting,
            text_id,
            sim_seq=here[0].seq,
            number=number,
            body=test_text("momo" if owner is None else owner.name),
            actor=caller.name,
            now=now,
        )
        if not queued:
            wait_s = HOUR_US // SECOND_US
            raise Refusal(
                ErrorCode.RATE_LIMITED,
                "This number, or this SIM, has had as many SMS as the shop's limits allow.",
                headers={"Retry-After": str(wait_s)},
                retry_after=wait_s,
            )
        return texts.get(tx, text_id)

    return await env.store.write(job)
