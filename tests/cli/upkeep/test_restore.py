"""`momo restore` counts the payments and webhooks that are newer than the copy."""

from typing import Any

import pytest

from momo_cli.service.daemon_program import VerbResult
from tests.cli.conftest import Momo


def put_back(monkeypatch: pytest.MonkeyPatch, **since: Any) -> None:
    """Let the daemon's program restore a copy that is so far behind."""
    data: dict[str, Any] = {
        "id": "20261120T020000Z", "path": "/c.db", "bytes": 1, "shop": "Ama", "rows": {},
        "newest_at": "2026-11-20T02:00:00.000Z", "findings": [], "kept": "/momo.db.before", **since,
    }  # fmt: skip
    monkeypatch.setattr(
        "momo_cli.commands.upkeep.data.run_verb",
        lambda *_args, **_named: VerbResult(0, "{}", {"data": data}),
    )


@pytest.mark.parametrize(
    ("since", "said"),
    [
        ({"payments_since": 1}, "1 payment came after the backup (7h ago)"),
        ({"payments_since": 2}, "2 payments came after the backup (7h ago)"),
        ({"webhooks_repeated": 1}, "1 webhook delivered since goes out once more"),
        ({"webhooks_repeated": 3}, "3 webhooks delivered since go out once more"),
        (
            {"parts_to_recover": 1},
            "1 part of an SMS in the message journal is newer than the backup",
        ),
        (
            {"parts_to_recover": 4},
            "4 parts of SMS in the message journal are newer than the backup",
        ),
        ({"parts_to_recover": None}, "The message journal cannot be read"),
        ({"access": None}, "API keys revoked, and users disabled, after the backup are back."),
        (
            {
                "access": {
                    "still_off": [{"what": "key", "name": "web"}, {"what": "user", "name": "ama"}]
                }
            },
            "Revoked or disabled after the backup, and still so: key web, user ama.",
        ),
        (
            {"access": {"earlier": [{"what": "second_factor", "name": "esi"}]}},
            "now as in it: second factor of esi. Change what somebody else may know.",
        ),
        ({"webhooks_that_may_repeat": 1}, "1 webhook may be sent again, with the same id."),
    ],
)
def test_what_came_after_the_copy_is_counted(
    since: dict[str, Any], said: str, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_back(monkeypatch, **since)
    ran = momo("restore", "--confirm", "Ama", "-o", "table")
    assert ran.code == 0, ran.err
    assert said in " ".join(ran.err.split())
    assert "/momo.db.before" in ran.out


def test_nothing_is_changed_unless_the_shop_is_named(
    momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_back(monkeypatch, payments_since=1)
    ran = momo("restore", "--confirm", "Esi", "-o", "table")
    assert (ran.code, ran.out) == (10, "Nothing was changed.\n")
    assert "The shop is called Ama, not Esi." in ran.err


def test_yes_to_everything_is_not_the_name_of_the_shop(
    momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_back(monkeypatch, payments_since=1)
    ran = momo("restore", "--yes", "--json")
    assert ran.code == 2
    assert "--confirm Ama is missing" in ran.json["error"]["message"]


def test_a_shop_in_use_is_refused_before_its_name_is_asked_for(
    momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_back(monkeypatch)
    monkeypatch.setattr("momo_cli.socket.client.Client.alive", lambda _: True)
    for typed in ((), ("--confirm", "Ama")):
        ran = momo("restore", *typed, "--json")
        assert ran.code == 75
        assert ran.json["error"]["code"] == "LOCKED"
        assert ran.json["error"]["next"] == ["momo daemon stop"]


def test_a_trial_says_how_that_backup_is_restored(
    momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_back(monkeypatch)
    err = momo("restore", "--dry-run", "-o", "table").err
    assert err.splitlines() == ["next:  momo restore 20261120T020000Z"]
    monkeypatch.setattr("momo_cli.socket.client.Client.alive", lambda _: True)
    err = momo("restore", "/media/my stick/c.db", "--dry-run", "-o", "table").err
    assert err.splitlines() == ["next:  momo restore '/media/my stick/c.db' --stop"]
