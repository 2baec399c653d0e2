"""Claiming payments that had no number, and sending them on in one go."""

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, Says, refusal

FROM, TO = "2026-11-20T08:00:00.000Z", "2026-11-20T09:00:00.000Z"
ENDPOINT = samples.ENDPOINT["id"]
CLAIM = ("claim", samples.METHOD, "--yes", "--replay-to", ENDPOINT)


@pytest.fixture
def claimed(api: FakeApi) -> FakeApi:
    body = {"success": True, "claimed": 3, "dry_run": False, "from": FROM, "to": TO}
    api.on("POST", f"/v1/payment-methods/{samples.METHOD}/claim-unplaced", Says(body))
    api.on("POST", wire.Path.REPLAY, Says({"success": True, "enqueued": 3}))
    return api


def test_what_was_claimed_is_sent_on_over_its_own_window(claimed: FakeApi, momo: Momo) -> None:
    ran = momo(*CLAIM, "--json")
    assert (ran.code, ran.json["claimed"], ran.json["replay"]["enqueued"]) == (0, 3, 3)
    assert claimed.asked[-1].body == {"endpoint_id": ENDPOINT, "from": FROM, "to": TO}


def test_claim_stays_done_when_the_replay_is_refused(claimed: FakeApi, momo: Momo) -> None:
    claimed.on("POST", wire.Path.REPLAY, refusal(404, "ENDPOINT_NOT_FOUND"))
    ran = momo(*CLAIM)
    assert ran.code == 3
    assert "Claimed 3 payments" in ran.err
    assert f"momo replay --endpoint {ENDPOINT} --from {FROM} --to {TO}" in ran.err


def test_nothing_claimed_is_nothing_sent(claimed: FakeApi, momo: Momo) -> None:
    body = {"success": True, "claimed": 0, "dry_run": False, "from": None, "to": None}
    claimed.on("POST", f"/v1/payment-methods/{samples.METHOD}/claim-unplaced", Says(body))
    assert momo(*CLAIM).code == 0
    assert wire.Path.REPLAY not in [asked.path for asked in claimed.asked]
