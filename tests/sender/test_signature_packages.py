"""Every attempt of a run, with a rotation in its middle, is verified by packages that we did not write, as they come."""

import time
from collections.abc import Sequence

import pytest
import standardwebhooks
import stripe
import svix

from daemon.core.webhooks.signing import AttemptMetadata, headers, make_secret

OLD, NEW, OTHER = (make_secret(bytes([number]) * 32) for number in (1, 2, 3))
BODY = '{"webhook_id":"ocl_0123456789abcdefghijklmn","name":"Akosua ɔ","amount":"25.00"}'.encode()
RUN: Sequence[tuple[int, list[str]]] = [
    *((number, [OLD]) for number in range(1, 6)),
    *((number, [NEW, OLD]) for number in range(6, 11)),
    *((number, [NEW]) for number in range(11, 14)),
]
"""Attempt and secrets: rotated after the fifth, and the overlap over after the tenth."""


def sent(number: int, secrets: list[str]) -> dict[str, str]:
    about = AttemptMetadata(
        webhook_id="ocl_0123456789abcdefghijklmn",
        event="transaction.forwarded",
        delivery_id="11111111-1111-4111-8111-111111111111",
        attempt=number,
        sequence=7,
        replay=False,
        test=False,
    )
    now = int(time.time())  # noqa: TID251 - the packages read the real clock
    return headers(secrets, about, timestamp=now, body=BODY)


@pytest.mark.parametrize(("number", "secrets"), RUN)
def test_every_attempt_verifies_with_each_secret_that_is_valid_and_no_other(
    number: int, secrets: list[str]
) -> None:
    given = {name.lower(): value for name, value in sent(number, secrets).items()}
    text = BODY.decode()
    for secret in (OLD, NEW, OTHER):
        if secret in secrets:
            standardwebhooks.Webhook(secret).verify(text, given)
            svix.Webhook(secret).verify(text, given)
        else:
            with pytest.raises(standardwebhooks.WebhookVerificationError):
                standardwebhooks.Webhook(secret).verify(text, given)
            with pytest.raises(svix.WebhookVerificationError):
                svix.Webhook(secret).verify(text, given)
    verify = stripe.WebhookSignature.verify_header
    assert verify(text, given["x-svc-signature"], secrets[0], 300)
    for old in secrets[1:]:
        assert verify(text, given["x-svc-signature-previous"], old, 300)
    with pytest.raises(stripe.SignatureVerificationError):
        verify(text, given["x-svc-signature"], OTHER, 300)
    assert ("x-svc-signature-previous" in given) == (len(secrets) > 1)
