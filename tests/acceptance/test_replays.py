"""A receiver that is down: the delivery is given up, replayed after the repair, and arrives under its original ID."""

import json

import pytest

from tests.acceptance.conftest import Scene
from tests.fakes.real_shop import utc_now, wait_until
from tests.fakes.receipts import mtn_receipts
from tests.fakes.receiver import Answer

pytestmark = pytest.mark.slow


@pytest.mark.timeout(120)
def test_a_dead_letter_is_replayed_and_arrives_under_the_same_webhook_id(scene: Scene) -> None:
    scene.open_for_business()
    scene.receiver.script(Answer(404, body=b"no such page"))
    (receipt,) = mtn_receipts(1, started=utc_now())
    scene.phone.deliver(receipt.pdus)
    wait_until(lambda: listed(scene), 30, "the refused webhook is a dead letter")
    (letter,) = listed(scene)
    assert "localhost" in letter["diagnosis"]
    assert (letter["cause"], letter["last_response_body"]) == ("no_such_address", "no such page")
    endpoint = letter["endpoint_id"]
    gap = scene.shop.momo("replay", "--gap", "--endpoint", endpoint, "--json")
    assert (gap.returncode, json.loads(gap.stdout)["data"][0]["state"]) == (6, "failed")

    assert scene.shop.momo("endpoints", "test", endpoint).returncode == 0
    again = scene.shop.momo("dead-letters", "replay", letter["id"], "--json")
    assert again.returncode == 0, again.stderr
    wait_until(lambda: len(scene.receiver.requests) == 3, 30, "it was sent again")
    refused, _test, arrived = scene.receiver.requests
    assert (arrived.body, arrived.webhook_id) == (refused.body, refused.webhook_id)
    assert arrived.headers["x-svc-replay"] == "true"
    assert [request.verified for request in scene.receiver.requests] == [True, True, True]
    wait_until(lambda: gap_of(scene, endpoint) == 0, 30, "nothing is missing any more")
    assert listed(scene) == []
    after = scene.shop.momo("replay", "--endpoint", endpoint, "--from", "1h", "--json")
    assert json.loads(after.stdout)["enqueued"] == 0


def listed(scene: Scene) -> list[dict[str, str]]:
    said = scene.shop.momo("dead-letters", "list", "--json")
    found: list[dict[str, str]] = json.loads(said.stdout)["data"]
    return found


def gap_of(scene: Scene, endpoint: str) -> int:
    return scene.shop.momo("replay", "--gap", "--endpoint", endpoint, "--quiet").returncode
