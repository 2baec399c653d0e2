"""`momo keys` and `momo users password`: requests, output, and secrets that are not printed."""

import stat
from pathlib import Path

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, Says, ok, refusal
from tests.fakes.real_shop import RealShop

KEY = f"/v1/keys/{samples.KEY['id']}"
MADE = Says({"success": True, "data": samples.KEY, "key": "svc_live_sk_secret"}, 201)


def test_the_flags_become_the_body(api: FakeApi, momo: Momo) -> None:
    api.on("POST", wire.Path.KEYS, MADE)
    words = "--name till --test --scope transactions:read --scope webhooks:manage --expires 90d"
    assert momo("keys", "create", *words.split()).code == 0
    (asked,) = api.asked
    assert asked.body == {
        "name": "till",
        "mode": "test",
        "scopes": ["transactions:read", "webhooks:manage"],
        "expires_in_days": 90,
    }


def test_a_key_and_a_user_of_one_branch_name_it(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    api.on("POST", wire.Path.KEYS, MADE)
    api.on("POST", wire.Path.LOCAL_USERS, ok(samples.USER))
    (tmp_path / "pw").write_text("long enough")
    assert momo("keys", "create", "--name", "till", "--branch", "kumasi").code == 0
    assert (
        momo("users", "add", "efua", "viewer", "--branch", "kumasi", "--password-file", str(tmp_path / "pw")).code == 0
    )
    assert [asked.body["branch"] for asked in api.asked] == ["kumasi", "kumasi"]


def test_the_list_of_keys_has_the_branch_of_each_at_a_hub(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.KEYS, ok([samples.KEY, samples.KEY | {"branch": "kumasi"}]))
    heads, _first, second = momo("keys", "list", "-o=table").out.splitlines()[:3]
    assert heads.split()[-1] == "BRANCH"
    assert second.split()[-1] == "kumasi"


def test_a_key_that_ends_within_a_day_is_not_made(momo: Momo) -> None:
    ran = momo("keys", "create", "--name", "x", "--expires", "36h")
    assert ran.code == 2
    assert "whole days" in ran.err


def test_the_key_goes_to_its_file_and_not_to_the_output(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    api.on("POST", wire.Path.KEYS, MADE)
    file = tmp_path / "till.key"
    for form in ("--json", "-o=table"):
        ran = momo("keys", "create", "--name", "till", "--key-file", str(file), form)
        assert "svc_live_sk_secret" not in ran.out + ran.err
        assert file.read_text() == "svc_live_sk_secret\n"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        file.unlink()


def test_no_key_is_made_that_could_not_be_kept(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    file = tmp_path / "till.key"
    file.write_text("mine")
    assert momo("keys", "create", "--name", "till", "--key-file", str(file)).code == 2
    assert (file.read_text(), api.asked) == ("mine", [])


def test_the_file_of_a_key_that_was_refused_is_removed(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    api.on("POST", wire.Path.KEYS, refusal(503, "UNAVAILABLE"))
    file = tmp_path / "till.key"
    assert momo("keys", "create", "--name", "till", "--key-file", str(file)).code == 7
    assert not file.exists()


@pytest.mark.parametrize(
    ("ends", "told"),
    [("2027-02-19T17:04:00.000Z", "19 Feb 2027 17:04"), ("2026-11-22T17:04:00.000Z", "22 Nov 17:04"), (None, "never")],
)
def test_when_a_key_ends_is_told_in_the_shops_time(ends: str | None, told: str, api: FakeApi, momo: Momo) -> None:
    api.on("GET", KEY, ok({**samples.KEY, "expires_at": ends}))
    ran = momo("keys", "show", samples.KEY["id"], "-o", "table", "--utc")
    assert f"  ends       {told}\n" in ran.out


def test_a_key_says_when_and_from_where_it_was_last_used(api: FakeApi, momo: Momo) -> None:
    never = {**samples.KEY, "last_used_at": None, "last_used_from": None}
    before = {**samples.KEY, "last_used_from": None}
    api.on("GET", KEY, ok(samples.KEY), ok(before), ok(never))
    for told in ("2m ago from 102.176.10.7", "2m ago", "never"):
        out = momo("keys", "show", samples.KEY["id"], "-o", "table").out
        assert f"  last used  {told}\n" in out
    api.on("GET", wire.Path.KEYS, ok([samples.KEY]))
    assert "102.176.10.7" in momo("keys", "list", "-o", "table", COLUMNS="140").out
    assert momo("keys", "list", "--fields", "last_used_from").out == "102.176.10.7\n"


def test_a_key_with_every_scope_that_a_person_can_give_is_told_in_two_words(api: FakeApi, momo: Momo) -> None:
    scopes = [each for each in wire.Scope if each not in {"keys:manage", "branch"}]
    api.on("GET", wire.Path.KEYS, ok([{**samples.KEY, "scopes": scopes}]))
    assert "all permissions" in momo("keys", "list", "-o", "table", COLUMNS="140").out


def test_revoke_asks_first_and_without_a_person_says_how(api: FakeApi, momo: Momo) -> None:
    api.on("GET", KEY, ok(samples.KEY))
    ran = momo("keys", "revoke", samples.KEY["id"])
    assert ran.code == 2
    assert "--yes" in ran.err
    assert [asked.method for asked in api.asked] == ["GET"]


def test_a_key_is_ended_once_and_then_was_ended_already(api: FakeApi, momo: Momo) -> None:
    gone = {**samples.KEY, "state": "revoked", "revoked_at": "2026-11-20T09:16:00.000Z"}
    api.on("GET", KEY, ok(samples.KEY), ok(gone))
    api.on("DELETE", KEY, ok(gone))
    words = ("keys", "revoke", samples.KEY["id"])
    assert momo(*words, "--yes", "--get", "data.status").out == "revoked\n"
    again = momo(*words, "-o", "table")
    assert (again.code, again.out) == (0, "svc_live_sk_...aB3d was ended already.\n")
    assert momo(*words, "--json").json["data"]["status"] == "already_revoked"
    assert [asked.method for asked in api.asked] == ["GET", "DELETE", "GET", "GET"]


@pytest.mark.slow
def test_a_new_password_with_the_daemon_and_without(tmp_path: Path) -> None:
    with RealShop(tmp_path) as shop:
        new = tmp_path / "new.txt"
        for text in ("battery staple", "correct horse battery"):
            new.write_text(text + "\n")
            done = shop.momo("users", "password", "--password-file", str(new), "--json")
            assert done.returncode == 0, done.stderr
            new.write_text("short\n")
            refused = shop.momo("users", "password", "--password-file", str(new), "--json")
            assert refused.returncode == 2, refused.stdout
            if not shop.running():
                shop.start()
        assert shop.rows("SELECT COUNT(*) FROM events WHERE type = 'password.changed'") == [(2,)]


def test_a_rotated_key_says_when_the_old_one_ends(api: FakeApi, momo: Momo, tmp_path: Path) -> None:
    api.on("POST", f"{KEY}/rotate", Says(samples.ROTATED, 201))
    ran = momo("keys", "rotate", samples.KEY["id"], "-o", "table", "--utc")
    assert (api.asked[0].body, "svc_live_sk_new" in ran.out) == ({"overlap_hours": 24}, True)
    assert "old  svc_live_sk_...oLd1 ends 21 Nov 09:18" in ran.out
    file = tmp_path / "shop.key"
    words = ("keys", "rotate", samples.KEY["id"], "--overlap", "48h", "--key-file", str(file))
    ran = momo(*words, "--json")
    assert (api.asked[1].body, ran.json["key"]) == ({"overlap_hours": 48}, None)
    assert file.read_text() == "svc_live_sk_new\n"


def test_ending_the_old_key_at_once_asks_first(api: FakeApi, momo: Momo) -> None:
    api.on("POST", f"{KEY}/rotate", Says(samples.ROTATED, 201))
    assert momo("keys", "rotate", samples.KEY["id"], "--overlap", "0").code == 2
    assert momo("keys", "rotate", samples.KEY["id"], "--overlap", "90m").code == 2
    assert api.asked == []
    ran = momo("keys", "rotate", samples.KEY["id"], "--overlap", "0", "--yes", "-o", "table")
    assert (ran.code, "ends now" in ran.out) == (0, True)
