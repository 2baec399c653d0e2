"""Sign a webhook outside the delivery loop: a test of an endpoint, or a delivery that is sent by hand."""

from collections.abc import Sequence

from daemon.core.errors import Unavailable
from daemon.core.limits import SECOND_US
from daemon.core.webhooks.signing import AttemptMetadata, headers
from daemon.env import Env
from daemon.runtime.secrets import SecretsLocked
from daemon.store.webhooks.secrets import PURPOSE


def sign_now(env: Env, sealed: Sequence[str], sent: AttemptMetadata, body: bytes) -> dict[str, str]:
    """Return the headers of a webhook, signed with these sealed secrets and the best known time, as real attempts are.

    Raises:
        Unavailable: A signing secret cannot be opened.
    """
    try:
        secrets = [env.vault.unseal(each, PURPOSE).decode() for each in sealed]
    except SecretsLocked as error:
        raise Unavailable(f"the signing secret cannot be opened: {error}") from error
    return headers(secrets, sent, timestamp=env.times().best_us // SECOND_US, body=body)
