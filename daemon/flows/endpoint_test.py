"""Send one made-up payment to an endpoint, at once and over the path of real ones; it counts for nothing."""

from daemon.core import sample_payment, signing
from daemon.core.delivery import Outcome
from daemon.core.errors import Unavailable
from daemon.core.limits import SECOND_US
from daemon.core.model import Endpoint
from daemon.core.webhook_headers import Sent, headers
from daemon.env import Env
from daemon.secrets import SecretsLocked
from daemon.store import webhook_secrets
from daemon.webhooks.targets import Target
from daemon.wire import EventKind


async def send(env: Env, endpoint: Endpoint, sender: Target) -> Outcome:
    """Sign and send a `transaction.forwarded` with `test: true`; also to a paused endpoint. Nothing is written down.

    Raises:
        Unavailable: The signing secret cannot be had.
    """
    now = env.clock.now_us()
    sealed = await env.store.read(
        lambda reader: webhook_secrets.valid_at(reader, webhook_secrets.owner_of(endpoint), now)
    )
    try:
        secrets = [env.vault.unseal(each, webhook_secrets.PURPOSE).decode() for each in sealed]
    except SecretsLocked as error:
        raise Unavailable(f"the signing secret cannot be had: {error}") from error
    kind = EventKind.FORWARDED
    # About no payment, so under an id that no payment will ever have.
    webhook_id = signing.webhook_id(
        env.account_key, endpoint.mode, endpoint.url_normalised, kind, env.new_id(), 0
    )
    body = sample_payment.forwarded_body(webhook_id, now, include_raw=endpoint.include_raw)
    sent = Sent(webhook_id, kind, env.new_id(), 1, 0, replay=False, test=True)
    return await sender.post(
        endpoint.url, headers(secrets, sent, timestamp=now // SECOND_US, body=body), body
    )
