"""`momo deliveries verify`: check a received webhook from files and stdin."""

from pathlib import Path

import pytest

from daemon.core.webhooks.signing import sign
from tests.cli.conftest import Momo, Shop

pytestmark = pytest.mark.usefixtures("in_process")

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
T = 1_767_225_600
BODY = '{"webhook_id":"ocl_0123456789abcdefghijklmn","name":"Kofi Ɔsei"}'.encode()
HEADERS = sign([SECRET], webhook_id="ocl_0123456789abcdefghijklmn", timestamp=T, body=BODY)
HEAD = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items()).encode()


def write(folder: Path, secret: str = SECRET + "\n") -> tuple[str, str]:
    request, secret_file = folder / "request.txt", folder / "hook.secret"
    request.write_bytes(b"POST /hook HTTP/1.1\r\nHost: shop.example\r\n" + HEAD + b"\r\n" + BODY)
    secret_file.write_text(secret)
    return str(request), str(secret_file)


def test_a_genuine_request_is_told_with_its_secret_and_age(momo: Momo, tmp_path: Path) -> None:
    request, secret = write(tmp_path, f"whsec_{'A' * 44}\n{SECRET}\n")
    ran = momo("deliveries", "verify", request, "--secret-file", secret, "--at", str(T + 5), "--json")
    assert ran.code == 0
    data = ran.json["data"]
    assert (data["valid"], data["age_s"]) == (True, 5)
    assert {fit["secret"] for fit in data["fits"]} == {2}
    shown = momo("deliveries", "verify", request, "--secret-file", secret, "--at", str(T + 5), "-o", "table")
    assert "✓ genuine, signed 5 s ago" in shown.out
    assert "whsec_" not in shown.out + shown.err


def test_body_and_headers_apart_and_no_shop(momo: Momo, shop: Shop, tmp_path: Path) -> None:
    for path in shop.home.iterdir():
        path.unlink()
    (tmp_path / "body.json").write_bytes(BODY)
    (tmp_path / "headers.txt").write_bytes(HEAD)
    _, secret = write(tmp_path)
    words = ["--headers", str(tmp_path / "headers.txt"), "--secret-file", secret, "--at", str(T)]
    assert momo("deliveries", "verify", str(tmp_path / "body.json"), *words).code == 0


def test_a_webhook_that_must_not_be_taken_is_6_with_the_reason(momo: Momo, tmp_path: Path) -> None:
    request, secret = write(tmp_path, SECRET.removeprefix("whsec_"))
    ran = momo("deliveries", "verify", request, "--secret-file", secret, "--at", str(T), "-o", "table")
    assert ran.code == 0  # Standard Webhooks takes the part after the prefix
    late = momo("deliveries", "verify", request, "--secret-file", secret, "--at", str(T + 900), "-o", "table")
    assert late.code == 6
    assert "900 s old" in late.out
    Path(secret).write_text("whsec_" + "A" * 44)
    wrong = momo("deliveries", "verify", request, "--secret-file", secret, "--at", str(T), "-o", "table")
    assert wrong.code == 6
    assert "✗ not verified" in wrong.out


def test_files_that_cannot_be_used_are_named(momo: Momo, tmp_path: Path) -> None:
    request, secret = write(tmp_path)
    (tmp_path / "no_line").write_bytes(BODY)
    for words, said in (
        (("nowhere", "--secret-file", secret), "nowhere"),
        ((request, "--secret-file", "nowhere"), "--secret-file: nowhere"),
        ((str(tmp_path / "no_line"), "--secret-file", secret), "--headers"),
    ):
        ran = momo("deliveries", "verify", *words)
        assert ran.code == 2
        assert said in ran.err
