"""Claim unplaced payments, and replay them in one command."""

import io

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, Says, ok, refusal

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


SEEN = {
    "success": True, "claimed": 3, "dry_run": True, "from": FROM, "to": TO,
    "amounts": [{"currency": "GHS", "amount": "96.00"}],
    "payments": [
        {
            "telco_transaction_id": "0012345678",
            "amount": "40.00",
            "currency": "GHS",
            "payer": {"phone_number": "+233244124567", "name": "Kofi"},
            "received_at": FROM,
        }
    ],
}  # fmt: skip
PATH = f"/v1/payment-methods/{samples.METHOD}/claim-unplaced"


def test_a_dry_run_lists_what_would_be_claimed(api: FakeApi, momo: Momo) -> None:
    api.on("POST", PATH, Says(SEEN))
    ran = momo("claim", samples.METHOD, "--dry-run", "-o", "table")
    assert ran.out == (
        "  today 08:00      GHS 40.00  Kofi 024…4567  0012345678\n"
        "  and 2 more\n"
        "3 payments (GHS 96.00) would be claimed.\n"
    )
    assert ran.err == f"next:  momo claim {samples.METHOD} --yes\n"
    assert [asked.body for asked in api.asked] == [{"dry_run": True}]


def test_what_is_claimed_is_shown_before_it_is_asked_about(
    api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.on("POST", PATH, Says(SEEN))
    api.on("GET", f"/v1/payment-methods/{samples.METHOD}", ok(samples.METHOD_ROW))
    typed = io.StringIO("n\n")
    monkeypatch.setattr(typed, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", typed)
    ran = momo("claim", samples.METHOD, "-o", "table")
    assert ran.code == 10
    assert "Kofi 024…4567  0012345678" in ran.err
    assert "Claim 3 payments (GHS 96.00) for 024 412 4567? [y/N]" in ran.err
    assert [asked.method for asked in api.asked] == ["POST", "GET"]


def test_done_it_says_that_nothing_was_sent_and_how_to_send_it(
    claimed: FakeApi, momo: Momo
) -> None:
    sandbox = {**samples.ENDPOINT, "id": samples.MESSAGE, "is_sandbox": True}
    claimed.on("GET", wire.Path.ENDPOINTS, ok([samples.ENDPOINT, sandbox]))
    ran = momo("claim", samples.METHOD, "--yes", "-o", "table")
    assert ran.out == "✓ Claimed 3 payments. They were NOT sent to any webhook yet.\n"
    assert ran.err == f"next:  momo replay --endpoint {ENDPOINT} --from {FROM} --to {TO}\n"


def test_an_endpoint_that_there_is_not_is_refused_before_anything_is_claimed(
    claimed: FakeApi, momo: Momo
) -> None:
    claimed.on("GET", wire.Path.ENDPOINTS, ok([samples.ENDPOINT]))
    assert momo("claim", samples.METHOD, "--yes", "--replay-to", "nobody").code == 3
    assert [asked.method for asked in claimed.asked] == ["GET"]
