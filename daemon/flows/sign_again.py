"""Sign a delivery anew, as of now, for a person who sends it somewhere by hand. Nothing is sent and nothing changes."""

from dataclasses import dataclass

from daemon.core.access import Caller
from daemon.core.errors import Refusal, Unavailable
from daemon.core.limits import SECOND_US
from daemon.core.webhook_headers import Sent, headers
from daemon.env import Env
from daemon.secrets import SecretsLocked
from daemon.store import delivery_log, events, webhook_secrets
from daemon.store.delivery_log import Logged
from daemon.store.engine import Tx
from daemon.wire import ErrorCode


@dataclass(frozen=True, slots=True)
class Signed:
    """A delivery that would be taken as genuine, for five minutes."""

    url: str
    headers: dict[str, str]
    body: str


async def sign_again(env: Env, caller: Caller, delivery_id: str) -> Signed:
    """Sign it with the secrets that are valid now. The journal notes who asked.

    Raises:
        Refusal: DELIVERY_NOT_FOUND.
        Unavailable: The signing secret cannot be had.
    """
    now = env.clock.now_us()

    def job(tx: Tx) -> tuple[Logged, list[str]]:
        found = delivery_log.one(tx, delivery_id)
        if found is None:
            raise Refusal(ErrorCode.DELIVERY_NOT_FOUND)
        delivery, endpoint = found
        events.add(
            tx,
            type="delivery.signed",
            mode=endpoint.mode,
            at=now,
            actor=caller.name,
            transaction_id=delivery.transaction_id,
            endpoint_id=endpoint.id,
            data={"delivery_id": delivery.id, "event": delivery.event},
        )
        return found, webhook_secrets.valid_at(tx, webhook_secrets.owner_of(endpoint), now)

    (delivery, endpoint), sealed = await env.store.write(job)
    try:
        secrets = [env.vault.unseal(each, webhook_secrets.PURPOSE).decode() for each in sealed]
    except SecretsLocked as error:
        raise Unavailable(f"the signing secret cannot be had: {error}") from error
    sent = Sent(
        webhook_id=delivery.webhook_id,
        event=delivery.event,
        delivery_id=delivery.id,
        attempt=max(delivery.attempt_count, 1),
        sequence=delivery.seq,
        replay=True,
        test=delivery.test,
    )
    body = delivery.body.encode()
    signed = headers(secrets, sent, timestamp=now // SECOND_US, body=body)
    return Signed(endpoint.url, signed, delivery.body)
