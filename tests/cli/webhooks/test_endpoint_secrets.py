"""Test sends to endpoints from the command line, and their secrets."""

import io
from pathlib import Path
from typing import Any

import pytest

from daemon.wire import Path as ApiPath
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.cli.webhooks.test_deliveries import ENDPOINT, HOOK, LETTER, sent
from tests.fakes.fake_api import FakeApi, Says, refusal


def test_a_test_that_is_not_taken_is_6(api: FakeApi, momo: Momo) -> None:
    said = {"success": False, "status_code": 401, "response_body": "who?", "message": "It said 401."}
    api.on("POST", f"{HOOK}/test", Says(said))
    ran = momo("endpoints", "test", ENDPOINT, "-o", "table")
    assert (ran.code, ran.out) == (6, "✗ It said 401.\n  who?\n")
    assert momo("endpoints", "test", ENDPOINT, "--json").json == said


SECRET = {"success": True, "secret": "whsec_x", "previous_secret_expires_at": None}
ROTATED = {**SECRET, "data": samples.ENDPOINT, "previous_secret_expires_at": "2026-11-21T09:18:00.000Z"}


@pytest.fixture
def password(tmp_path: Path) -> str:
    path = tmp_path / "password"
    path.write_text("correct horse 42\n")
    return str(path)


@pytest.mark.parametrize(
    ("flags", "path", "body"),
    [
        (("reveal", ENDPOINT), f"{HOOK}/secret", {}),
        (("reveal", "--account"), ApiPath.ACCOUNT_SECRET, {}),
        (("rotate", ENDPOINT), f"{HOOK}/rotate-secret", {}),
        (("rotate", "--account"), ApiPath.ACCOUNT_ROTATE, {}),
        (("rotate", ENDPOINT, "--expire-previous"), f"{HOOK}/rotate-secret", {"expire_previous": True}),
    ],
)
def test_a_secret_is_asked_for_with_the_password(
    api: FakeApi, momo: Momo, password: str, flags: tuple[str, ...], path: str, body: dict[str, Any]
) -> None:
    api.on("POST", path, Says(SECRET))
    ran = momo("endpoints", *flags, "--password-file", password, "-o", "id")
    assert (ran.code, ran.out) == (0, "whsec_x\n")
    assert sent(api) == [(path, {**body, "password": "correct horse 42"})]


def test_a_rotation_says_how_long_the_old_one_signs(api: FakeApi, momo: Momo, password: str, tmp_path: Path) -> None:
    api.on("POST", f"{HOOK}/rotate-secret", Says(ROTATED))
    kept = tmp_path / "hook.secret"
    flags = ("--password-file", password, "--secret-file", str(kept))
    ran = momo("endpoints", "rotate", ENDPOINT, *flags, "-o", "table")
    assert ran.code == 0
    assert "whsec_x" not in ran.out + ran.err
    assert kept.read_text() == "whsec_x\n"
    assert "The old signature is also sent until 21 Nov 09:18 (X-Svc-Signature-Previous)." in ran.err


def test_a_wrong_password_is_4_and_says_what_is_left(api: FakeApi, momo: Momo, password: str, tmp_path: Path) -> None:
    api.on("POST", f"{HOOK}/secret", refusal(403, "INVALID_PASSWORD", attempts_remaining=2))
    kept = tmp_path / "hook.secret"
    flags = ("--password-file", password, "--secret-file", str(kept))
    ran = momo("endpoints", "reveal", ENDPOINT, *flags)
    assert ran.code == 4
    assert "attempts remaining 2" in ran.err
    assert [line.removeprefix("  next:").strip() for line in ran.err.splitlines()[-2:]] == [
        f"momo endpoints reveal {ENDPOINT} {' '.join(flags)}",
        "momo users password",
    ]
    assert not kept.exists()


@pytest.mark.parametrize("flags", [(), (ENDPOINT, "--account")])
def test_a_secret_must_have_an_owner(momo: Momo, flags: tuple[str, ...]) -> None:
    assert momo("endpoints", "reveal", *flags).code == 2


@pytest.mark.parametrize(
    "argv",
    [
        ("replay", "--gap", "--endpoint", ENDPOINT),
        ("dead-letters", "replay", LETTER),
        ("endpoints", "reveal", ENDPOINT, "--password-file", "-"),
        ("endpoints", "rotate", ENDPOINT, "--password-file", "-"),
    ],
)
def test_daemon_down_is_7(momo: Momo, argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse 42\n"))
    ran = momo(*argv, "--json")
    assert (ran.code, ran.json["error"]["code"]) == (7, "DAEMON_DOWN")
