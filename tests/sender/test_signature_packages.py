"""Third-party packages verify our webhooks, with the unchanged code of docs/developers/webhooks.md."""

import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import Headers

from daemon.core.webhooks.signing import AttemptMetadata, headers, make_secret
from tests.fakes.receiver import Receiver
from tests.fakes.signed_webhook import MakeSender

PAGE = (Path(__file__).parents[2] / "docs" / "developers" / "webhooks.md").read_text(encoding="utf-8")
IMPORT = r"(?:import|from) (standardwebhooks|svix|stripe)\b"
SNIPPETS = {
    re.findall(IMPORT, code)[0]: code
    for code in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    if re.match(IMPORT, code)
}
OLD, NEW, OTHER = (make_secret(bytes([number]) * 32) for number in (1, 2, 3))
BODY = '{"webhook_id":"ocl_0123456789abcdefghijklmn","name":"Akosua ɔ","amount":"25.00"}'.encode()
RUN: Sequence[tuple[int, list[str]]] = [
    *((number, [OLD]) for number in range(1, 6)),
    *((number, [NEW, OLD]) for number in range(6, 11)),
    *((number, [NEW]) for number in range(11, 14)),
]
"""Attempt and secrets: rotated after the fifth, and the overlap over after the tenth."""

package = pytest.mark.parametrize("package", ["standardwebhooks", "svix", "stripe"])


def signed(secrets: list[str], number: int = 1, ago_s: int = 0) -> dict[str, str]:
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
    return headers(secrets, about, timestamp=now - ago_s, body=BODY)


def verified(package: str, given: dict[str, str], secret: str, body: bytes = BODY) -> bool:
    """Run the code of the page as a receiver does; any exception means that it refuses."""
    names: dict[str, Any] = {"headers": Headers(given), "body": body, "secret": secret}
    try:
        exec(SNIPPETS[package], names)
    except Exception:  # noqa: BLE001 - the page says so: answer 400 to anything raised
        return False
    assert names.get("event", json.loads(body)) == json.loads(body)
    return True


@package
def test_the_code_of_the_page_has_at_most_three_lines(package: str) -> None:
    assert 2 <= len([line for line in SNIPPETS[package].splitlines() if line]) <= 3


@package
async def test_a_webhook_that_was_really_sent_is_verified(
    package: str, receiver: Receiver, make_sender: MakeSender
) -> None:
    receiver.secrets = [NEW]
    await make_sender().post(receiver.url("/hook"), signed([NEW, OLD]), BODY)
    (request,) = receiver.requests
    assert verified(package, request.headers, NEW, request.body)
    assert verified(package, request.headers, OLD, request.body)
    assert not verified(package, request.headers, OTHER, request.body)


@package
@pytest.mark.parametrize(("number", "secrets"), RUN)
def test_every_attempt_verifies_with_each_secret_that_is_valid_and_no_other(
    package: str, number: int, secrets: list[str]
) -> None:
    given = signed(secrets, number)
    assert ("X-Svc-Signature-Previous" in given) == (len(secrets) > 1)
    for secret in (OLD, NEW, OTHER):
        assert verified(package, given, secret) == (secret in secrets)


@package
@pytest.mark.parametrize("secrets", [[NEW], [NEW, OLD]], ids=["one secret", "rotated"])
def test_a_changed_body_is_refused(package: str, secrets: list[str]) -> None:
    assert not verified(package, signed(secrets), NEW, BODY.replace(b"25.00", b"95.00"))
    assert not verified(package, signed(secrets), NEW, BODY + b" ")


@package
@pytest.mark.parametrize("secret", [NEW, OLD], ids=["new", "old"])
def test_an_old_timestamp_is_refused(package: str, secret: str) -> None:
    assert verified(package, signed([NEW, OLD], ago_s=200), secret)
    assert not verified(package, signed([NEW, OLD], ago_s=310), secret)


@package
def test_a_recorded_webhook_with_a_new_time_is_refused(package: str) -> None:
    then, now = signed([NEW], ago_s=310), signed([OTHER])
    fresh = str(now["webhook-timestamp"])
    moved = {name: value.replace(then["webhook-timestamp"], fresh) for name, value in then.items()}
    assert not verified(package, moved, NEW)
    # The parts of the first scheme's two headers are read as one: a fresh `t` in one does not help the other.
    previous = {**then, "X-Svc-Signature-Previous": then["X-Svc-Signature"]}
    assert not verified(package, previous | {"X-Svc-Signature": f"t={fresh},v1=00"}, NEW)


@package
def test_missing_and_garbled_signatures_are_refused(package: str) -> None:
    given = signed([NEW])
    assert not verified(package, {}, NEW)
    for value in ("", "x", "t=x,v1=y", "v1,*", "t=1,v1=é"):
        garbled = dict.fromkeys(("X-Svc-Signature", "webhook-signature"), value)
        assert not verified(package, given | garbled, NEW)
