"""A person calls a phone by a name of their own."""

from daemon.core.access import Caller
from daemon.core.errors import FieldError, Refusal, invalid
from daemon.env import Env
from daemon.store import devices, events
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, Mode


async def name_modem(env: Env, caller: Caller, device_id: str, name: str) -> None:
    """Give a phone its name; the name it has already is left as it is.

    Raises:
        Refusal: DEVICE_NOT_FOUND; VALIDATION_ERROR when another phone is called so.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> None:
        device = devices.get(tx, device_id)
        if device is None or device.forgotten_at is not None:
            raise Refusal(ErrorCode.DEVICE_NOT_FOUND)
        if device.name == name:
            return
        other = devices.named(tx, name)
        if other is not None and other.device_id != device_id:
            raise invalid([FieldError("name", "taken", "another phone is called so")])
        devices.rename(tx, device_id, name)
        events.add(
            tx,
            type="modem.named",
            mode=Mode.LIVE,
            at=now,
            actor=caller.name,
            data={"device_id": device_id, "from": device.name, "to": name},
        )

    await env.store.write(job)
