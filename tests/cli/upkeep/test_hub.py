"""`momo hub init` and `end`: the question, and the way back; `invite` for many branches; the sums of `status`."""

import io
from pathlib import Path

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok, refusal

HUB = wire.Path.LOCAL_HUB


@pytest.fixture
def ordinary(api: FakeApi) -> FakeApi:
    """A shop that is no hub yet."""
    api.on("GET", HUB, refusal(409, "NOT_A_HUB"))
    api.on("POST", HUB, ok({"changed": True, "url": "https://hub.example"}))
    return api


def test_a_shop_becomes_a_hub_only_after_a_yes(ordinary: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch) -> None:
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
    api.on("DELETE", HUB, ok({"changed": True, "withdrawn": 2, "ended": ["efua", "web shop"]}))
    ran = momo("hub", "end", "-o", "table")
    assert (ran.code, ran.out) == (0, "✓ This shop is an ordinary one again.\n")
    assert ran.err == "2 invitations withdrawn.\nEnded with them: efua, web shop.\n"


def test_a_hub_with_branches_is_refused_its_end_and_told_where_they_are(api: FakeApi, momo: Momo) -> None:
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


def test_leaving_at_once_tells_the_sum_that_head_office_may_have_used(api: FakeApi, momo: Momo) -> None:
    sums = [{"currency": "GHS", "count": 2, "amount": "75.00"}]
    api.on("POST", wire.Path.LOCAL_BRANCH_LEAVE, ok({"left": True, "unanswered": sums}))
    told = momo("hub", "leave", "--force", "-o", "table")
    assert "2 payments of GHS 75.00 together were sent to head office" in told.out + told.err


def test_a_file_invites_a_branch_for_each_line_and_names_the_lines_that_are_wrong(
    api: FakeApi, momo: Momo, tmp_path: Path
) -> None:
    made = {"word": "7k2m", "decides": "all", "expires_in_s": 604800, "url": "https://hub.example"}
    api.on(
        "POST",
        wire.Path.LOCAL_HUB_INVITES,
        ok({"name": "kumasi", **made}),
        refusal(422, "VALIDATION_ERROR", "The name is too long."),
        ok({"name": "box-7", **made}),
    )
    file = tmp_path / "branches.txt"
    file.write_text("kumasi\n\nnew york office\n" + "x" * 41 + "\nbox-7 nothing\n")
    ran = momo("hub", "invite", "--file", str(file), "--valid", "7d", "-o", "table")
    assert ran.code == 9
    assert ran.out.count("momo hub join https://hub.example 7k2m") == 2
    assert "without blanks" in ran.out
    assert "2 lines refused; the others are invited." in ran.err
    asked = [one.body for one in api.asked]
    assert [one["valid_s"] for one in asked] == [604_800] * 3
    assert asked[-1]["decides"] == "nothing"


def test_an_invitation_after_a_theft_says_what_no_longer_counts_and_which_orders_stay_paid(
    api: FakeApi, momo: Momo
) -> None:
    row = {
        "name": "kumasi", "word": "7k2m", "decides": "all", "expires_in_s": 900, "url": "https://hub.example",
        "distrusted": [{"currency": "GHS", "count": 2, "amount": "7777.00"}],
        "paid_orders": [{"reference": "svc_trx_9", "currency": "GHS", "amount": "50.00"}],
    }  # fmt: skip
    api.on("POST", wire.Path.LOCAL_HUB_INVITES, ok(row))
    api.on("GET", wire.Path.LOCAL_STATUS, ok({"http": "0.0.0.0:8420"}))
    typed = ("hub", "invite", "kumasi", "--distrust-since", "2026-11-20T14:00Z", "-o", "table")
    told = " ".join(momo(*typed).err.split())
    assert "2 payments of GHS 7,777.00 together no longer count." in told
    assert "svc_trx_9 (GHS 50.00)" in told
    (asked,) = [one for one in api.asked if one.method == "POST"]
    assert asked.body["distrust_since"] == "2026-11-20T14:00:00.000Z"
    assert momo("hub", "invite", "--file", "x", "--distrust-since", "1h").code == 2


def test_a_key_ends_only_after_a_yes_and_the_way_back_is_named(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.LOCAL_HUB_DISTRUST, ok({"branch": "kumasi", "distrusted": [], "paid_orders": []}))
    without = momo("hub", "distrust", "kumasi", "--no-input")
    assert (without.code, api.asked) == (2, [])
    done = momo("hub", "distrust", "kumasi", "--since", "1h", "--yes", "-o", "table")
    assert (done.code, done.out) == (0, "✓ The key of kumasi has ended.\n")
    assert "No payment came since then." in done.err
    assert done.err.endswith("next:  momo hub invite kumasi\n")


def test_accepting_names_the_payment_that_counts_or_what_was_stored(api: FakeApi, momo: Momo) -> None:
    chosen = {"branch": "kumasi", "payment_id": samples.METHOD, "stored": 0, "refused": 0}
    api.on(
        "POST",
        wire.Path.LOCAL_HUB_ACCEPT,
        ok(chosen),
        ok({**chosen, "payment_id": None, "stored": 3, "refused": 1, "counted": [UNKNOWN[0]]}),
    )
    assert momo("hub", "accept", samples.METHOD, "-o", "table").out == "✓ The payment of kumasi counts.\n"
    taken = momo("hub", "accept", "kumasi", "-o", "table")
    assert taken.out == "✓ 3 rows of kumasi stored, 1 still kept aside.\n"
    assert taken.err.startswith("3 payments of GHS 7,777.00 together count now.\n")


def test_a_name_or_a_file_is_needed(momo: Momo) -> None:
    assert momo("hub", "invite").code == 2
    assert momo("hub", "invite", "kumasi", "--file", "x").code == 2


def test_status_sums_up_silent_branches_waiting_payments_and_money(api: FakeApi, momo: Momo) -> None:
    lost = {"payment_id": "p", "reference": "svc_trx_9", "amount": "9.00", "currency": "GHS"}
    silent = {**samples.BRANCH, "name": "tamale", "status": "disputed", "lost_orders": [lost]}
    heard = {**samples.BRANCH, "last_heard_at": "2026-11-20T09:14:00.000Z", "unconfirmed": UNKNOWN}
    api.on("GET", HUB, ok([heard, silent]))
    ran = momo("hub", "status", "-o", "table")
    assert ran.err.startswith("2 branches; ")
    assert "a restore of this hub lost: svc_trx_9 (GHS 9.00)" in ran.err
    assert "1 disputed; 6 payments to be decided here; " in ran.err
    assert "; 24 payments today, GHS 821.00." in ran.err
    assert "3 payments of GHS 7,777.00 together on a new SIM of kumasi wait: momo hub accept kumasi; " in ran.err


def test_status_has_by_day_what_a_branch_sends_together(api: FakeApi, momo: Momo) -> None:
    days = [{**UNKNOWN[0], "day": "2026-11-19", "mode": "live"}]
    brings = {"at": "2026-11-20T09:14:00.000Z", "days": days}
    api.on("GET", HUB, ok([{**samples.BRANCH, "brings": brings}, samples.BRANCH]))
    told, rest = momo("hub", "status", "-o", "table").err.split("\n", 1)
    assert told.startswith("kumasi began ")
    assert told.endswith("to send what had waited. By day: 2026-11-19: 3 payments of GHS 7,777.00 together")
    assert rest.startswith("2 branches; ")


UNKNOWN = [{"currency": "GHS", "count": 3, "amount": "7777.00"}]


@pytest.mark.parametrize(
    ("typed", "flags", "taken"),
    [
        ("n\n", (), False),
        ("\n", (), False),
        ("y\n", (), True),
        ("", ("--yes",), False),
        ("", ("--no-input",), False),
        ("", ("--take-unknown",), True),
    ],
)
def test_payments_that_only_the_hub_has_come_back_after_a_yes_or_with_the_flag(
    typed: str, flags: tuple[str, ...], taken: bool, api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = io.StringIO(typed)
    monkeypatch.setattr(answers, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", answers)
    done = {"rows": {"payment": 1, "transaction": 1}, "aside": [], "unknown": UNKNOWN, "taken": taken}
    counted_first = [ok({"unknown": UNKNOWN})] if typed else []
    api.on("POST", wire.Path.LOCAL_BRANCH_RESTORE, *counted_first, ok(done))
    ran = momo("hub", "restore", "--from-hub", *flags, "-o", "table")
    assert ran.code == 0
    assert api.asked[-1].body == {"take_unknown": taken}
    told = " ".join(ran.err.split())
    assert "3 payments of GHS 7,777.00 together" in told
    assert ("--take-unknown" in told) is not taken
