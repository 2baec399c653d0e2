"""The headers of a webhook: of a real attempt, of a test, and of a delivery that somebody sends by hand."""

import json
from collections.abc import Callable, Sequence

from daemon.core.errors import Unavailable
from daemon.core.limits import SECOND_US
from daemon.core.webhooks.endpoint import HEADER_PURPOSE, KEPT, Endpoint
from daemon.core.webhooks.signing import AttemptMetadata, headers
from daemon.env import Env
from daemon.runtime.secrets import SecretsLocked
from daemon.store.webhooks import endpoints


def head(
    unsealed: Callable[[str, str], str],
    endpoint: Endpoint,
    sealed: Sequence[str],
    sent: AttemptMetadata,
    body: bytes,
    at_us: int,
) -> dict[str, str]:
    """Return the headers of one attempt. `sealed` are the receiver's signing secrets that are valid now, newest first.

    `unsealed` opens a sealed text for its purpose. `at_us` is the best known time: receivers refuse a signature that is
    minutes old.

    Raises:
        SecretsLocked: A sealed text cannot be opened.
    """
    of_endpoint = json.loads(endpoint.headers)
    own = {name: unsealed(value, HEADER_PURPOSE) for name, value in of_endpoint.items()}
    signing = [unsealed(each, endpoints.SIGNING_PURPOSE) for each in sealed]
    return own | headers(signing, sent, timestamp=at_us // SECOND_US, body=body)


def head_now(env: Env, endpoint: Endpoint, sealed: Sequence[str], sent: AttemptMetadata, body: bytes) -> dict[str, str]:
    """Return the headers of a webhook that is sent outside the delivery loop.

    Raises:
        Unavailable: A sealed text cannot be opened.
    """
    try:
        return head(unsealing(env, {}), endpoint, sealed, sent, body, env.times().best_us)
    except SecretsLocked as error:
        raise Unavailable(f"the signing secret cannot be opened: {error}") from error


def head_to_show(
    env: Env, endpoint: Endpoint, sealed: Sequence[str], sent: AttemptMetadata, body: bytes
) -> dict[str, str]:
    """Return the headers of a webhook for a person who sends it with another program; the endpoint's own have no values.

    Raises:
        Unavailable: A sealed text cannot be opened.
    """
    shown = head_now(env, endpoint, sealed, sent, body)
    return shown | dict.fromkeys(json.loads(endpoint.headers), KEPT)


def unsealing(env: Env, opened: dict[tuple[str, str], str]) -> Callable[[str, str], str]:
    """Return a function that opens a sealed text for its purpose; `opened` keeps what it has opened."""

    def unsealed(text: str, purpose: str) -> str:
        if (text, purpose) not in opened:
            opened[text, purpose] = env.vault.unseal(text, purpose).decode()
        return opened[text, purpose]

    return unsealed
