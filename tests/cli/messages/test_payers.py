"""`momo review payers revoke`: a second call succeeds and reports that the approval was revoked before."""

import pytest

from daemon.wire import Path
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, Says, ok

ID = samples.PAYER["id"]
PAYER = f"/v1/approved-payers/{ID}"
GONE = {**samples.PAYER, "state": "revoked", "revoked_at": "2026-11-20T09:16:00.000Z"}


@pytest.fixture
def payer(api: FakeApi) -> FakeApi:
    """A payer that is approved until it is revoked, as the daemon lists and shows it."""

    def listed(only: str) -> Says:
        done = any(asked.method == "DELETE" for asked in api.asked)
        row = GONE if done else samples.PAYER
        return ok([row] if only == "all" or not done else [])

    api.on("GET", Path.APPROVED_PAYERS, lambda asked: listed(asked.query.get("state", "approved")))
    api.on("GET", PAYER, ok(samples.PAYER), ok(GONE))
    api.on("DELETE", PAYER, ok(GONE))
    return api


@pytest.mark.parametrize("typed", [ID, "0244124567", "Esi Ansah", ID[:8]])
def test_it_is_revoked_once_and_then_was_revoked_already(
    typed: str, payer: FakeApi, momo: Momo
) -> None:
    first = momo("review", "payers", "revoke", typed, "--json")
    assert (first.code, first.json["data"]) == (0, {**GONE, "status": "revoked"})
    again = momo("review", "payers", "revoke", typed, "-o", "table")
    assert (again.code, again.out) == (0, "It was revoked already, 2m ago.\n")
    third = momo("review", "payers", "revoke", typed, "--get", "data.status")
    assert (third.code, third.out) == (0, "already_revoked\n")
    assert [asked.method for asked in payer.asked].count("DELETE") == 1


def test_one_that_never_was_is_3(payer: FakeApi, momo: Momo) -> None:
    ran = momo("review", "payers", "revoke", "Kofi", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (3, "APPROVED_PAYER_NOT_FOUND")
    assert all(asked.method == "GET" for asked in payer.asked)
