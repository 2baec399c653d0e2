"""The example receivers in Python, PHP and Node accept genuine webhooks only, and each of them once."""

import http.client
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from daemon.core.webhooks.signing import sign
from tests.fakes.real_shop import utc_now

RECEIVERS = Path(__file__).parents[2] / "examples" / "receivers"
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
OLD = "whsec_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="


def _python_kept(folder: Path) -> int:
    with sqlite3.connect(folder / "payments.db") as db:
        (count,) = db.execute("SELECT COUNT(*) FROM events").fetchone()
    db.close()
    return int(count)


def _files_kept(folder: Path) -> int:
    return len(list((folder / "events").glob("ocl_*.json")))


@dataclass(frozen=True)
class Receiver:
    """One running example.

    Attributes:
        kept: Counts the events that it stored.
    """

    port: int
    kept: Callable[[], int]

    def post(self, body: bytes, headers: dict[str, str]) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("POST", "/momo", body, headers)
            return connection.getresponse().status
        finally:
            connection.close()


def _argv(name: str) -> list[str]:
    path = str(RECEIVERS / name)
    if name.endswith(".php"):
        return ["php", "-S", "127.0.0.1:0", path]
    return [sys.executable if name.endswith(".py") else "node", path, "0"]


@pytest.fixture(scope="module", params=["receiver.py", "receiver.php", "receiver.mjs"])
def receiver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    name, folder = request.param, tmp_path_factory.mktemp("receiver")
    program = {"php": "php", "mjs": "node"}.get(name.rpartition(".")[2])
    if program is not None and shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    environ = {
        **os.environ,
        "MOMO_WEBHOOK_SECRET": SECRET,
        "DATABASE": str(folder / "payments.db"),
        "EVENTS": str(folder / "events"),
        "PHP_CLI_SERVER_WORKERS": "4",
    }
    process = subprocess.Popen(
        _argv(name), env=environ, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, process_group=0
    )
    try:
        kept = _python_kept if name.endswith(".py") else _files_kept
        yield Receiver(_port(process), lambda: kept(folder))
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # PHP's workers outlive the server otherwise
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()


def _port(process: "subprocess.Popen[bytes]") -> int:
    """Read the port from the line that the program prints when it listens."""
    assert process.stdout is not None
    for line in process.stdout:
        text = line.decode()
        if "127.0.0.1:" in text and ("listening" in text or "started" in text):
            return int(text.rpartition("127.0.0.1:")[2].split(")")[0])
    raise AssertionError("the receiver did not start")


def _now() -> int:
    return int(utc_now().timestamp())


def event(number: int) -> tuple[str, bytes]:
    webhook_id = f"ocl_{number:024d}"
    data = {"reference": "svc_trx_" + "0" * 32, "status": "SUCCESS", "payer": {"name": "Kofi Ɔsei"}}
    body = {"webhook_id": webhook_id, "type": "transaction.completed", "data": data}
    return webhook_id, json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def headers(number: int, *secrets: str, ago_s: int = 0) -> dict[str, str]:
    webhook_id, body = event(number)
    return sign(secrets or (SECRET,), webhook_id=webhook_id, timestamp=_now() - ago_s, body=body)


def test_what_is_genuine_is_stored_once(receiver: Receiver) -> None:
    before = receiver.kept() if receiver.post(event(1)[1], headers(1)) == 204 else -1
    assert before >= 1
    assert receiver.post(event(1)[1], headers(1)) == 204
    assert receiver.kept() == before
    assert receiver.post(event(2)[1], headers(2)) == 204
    assert receiver.kept() == before + 1


def test_the_old_secret_still_fits_while_a_new_one_signs_too(receiver: Receiver) -> None:
    assert receiver.post(event(3)[1], headers(3, OLD, SECRET)) == 204


def test_what_is_not_genuine_is_refused_and_not_stored(receiver: Receiver) -> None:
    receiver.post(event(1)[1], headers(1))
    before = receiver.kept()
    _, body = event(4)
    good = headers(4)
    for sent, said in (
        (body, {}),
        (body, headers(4, OLD)),
        (body, headers(4, ago_s=301)),
        (body, headers(4, ago_s=-301)),
        (body + b"\n", good),
        (body.replace(b"SUCCESS", b"PARTIAL"), good),
        (body, {"X-Svc-Signature": "v1=" + "0" * 64}),
        (body, {"X-Svc-Signature": "t=now,v1=zz"}),
        # Some languages treat non-ASCII characters as digits, others cannot compare them: refused, without a crash.
        (body, {"X-Svc-Signature": "t=\u00b2,v1=" + "0" * 64}),
        (body, {"X-Svc-Signature": f"t={_now()},v1=\u00e9"}),
        (body, {"X-Svc-Signature": f"t={_now()}"}),
    ):
        assert receiver.post(sent, said) == 400, said
    assert receiver.kept() == before


def test_many_at_once_are_stored_once(receiver: Receiver) -> None:
    assert receiver.post(event(1)[1], headers(1)) == 204
    before = receiver.kept()
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda _n: receiver.post(event(5)[1], headers(5)), range(16)))
    assert set(codes) == {204}
    assert receiver.kept() == before + 1
