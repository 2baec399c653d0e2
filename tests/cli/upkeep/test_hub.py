"""`momo hub init` and `momo hub end`: the question, and the way back."""

import io

import pytest

from daemon import wire
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok, refusal

HUB = wire.Path.LOCAL_HUB


@pytest.fixture
def ordinary(api: FakeApi) -> FakeApi:
    """A shop that is no hub yet."""
    api.on("GET", HUB, refusal(409, "NOT_A_HUB"))
    api.on("POST", HUB, ok({"changed": True, "url": "https://hub.example"}))
    return api


def test_a_shop_becomes_a_hub_only_after_a_yes(
    ordinary: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = io.StringIO("n\n")
    monkeypatch.setattr(typed, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", typed)
    ran = momo("hub", "init", "-o", "table")
    assert (ran.code, "Make this shop a hub?" in ran.err) == (10, True)
    without = momo("hub", "init", "--no-input")
    assert (without.code, "--yes" in without.err) == (2, True)
    assert [asked.method for asked in ordinary.asked] == ["GET", "GET"]
    done = momo("hub", "init", "--yes", "-o", "table")
    assert (done.code, ordinary.asked[-1].method) == (0, "POST")
    assert "momo hub end" in done.err


def test_a_hub_is_not_asked_about_again(api: FakeApi, momo: Momo) -> None:
    api.on("GET", HUB, ok([]))
    api.on("POST", HUB, ok({"changed": False, "url": "https://hub.example"}))
    ran = momo("hub", "init", "--no-input", "-o", "table")
    assert (ran.code, ran.out) == (0, "✓ This shop is a hub already.\n")


def test_the_end_of_a_hub_names_what_was_withdrawn(api: FakeApi, momo: Momo) -> None:
    api.on("DELETE", HUB, ok({"changed": True, "withdrawn": 2}))
    ran = momo("hub", "end", "-o", "table")
    assert (ran.code, ran.out) == (0, "✓ This shop is an ordinary one again.\n")
    assert ran.err == "2 invitations withdrawn.\n"


def test_a_hub_with_branches_is_refused_its_end_and_told_where_they_are(
    api: FakeApi, momo: Momo
) -> None:
    why = "Branches have joined this hub (kumasi), so it stays one."
    api.on("DELETE", HUB, refusal(409, "BRANCH_EXISTS", why))
    ran = momo("hub", "end", "-o", "table")
    assert ran.code == 5
    assert "branches have joined this hub (kumasi), so it stays one" in ran.err
    assert ran.err.endswith("next:  momo hub status\n")


@pytest.mark.parametrize(
    ("url", "http", "warned"),
    [
        ("https://hub.example:8420", "0.0.0.0:8420", False),
        ("https://hub.example", "127.0.0.1:8420", False),  # a proxy has the name
        ("http://127.0.0.1:8420", "127.0.0.1:8420", True),
        ("https://hub.example:8420", None, True),
    ],
)
def test_an_invitation_to_a_hub_that_no_branch_reaches_comes_with_a_warning(
    url: str, http: str | None, warned: bool, api: FakeApi, momo: Momo
) -> None:
    row = {"name": "kumasi", "word": "7k2m9xq4", "decides": "all", "expires_in_s": 900, "url": url}
    api.on("POST", wire.Path.LOCAL_HUB_INVITES, ok(row))
    api.on("GET", wire.Path.LOCAL_STATUS, ok({"http": http}))
    ran = momo("hub", "invite", "kumasi", "-o", "table")
    told = " ".join(ran.err.split())
    assert ran.code == 0
    assert ("Branches cannot reach this hub yet" in told) is warned
    assert ("momo config set http.bind 0.0.0.0:8420" in told) is warned
    assert ("momo hub status" in told) is not warned


def test_leaving_at_once_tells_the_sum_that_head_office_may_have_used(
    api: FakeApi, momo: Momo
) -> None:
    sums = [{"currency": "GHS", "count": 2, "amount": "75.00"}]
    api.on("POST", wire.Path.LOCAL_BRANCH_LEAVE, ok({"left": True, "unanswered": sums}))
    told = momo("hub", "leave", "--force", "-o", "table")
    assert "2 payments of GHS 75.00 together were sent to head office" in told.out + told.err
