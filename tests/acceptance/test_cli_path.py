"""A shop's first day by `momo` commands alone, with a real daemon: exit codes and JSON documents."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import ROOT, SOON_S, utc_now, wait_until
from tests.fakes.receipts import mtn
from tests.fakes.receiver import Receiver

PAYER = "KOFI AMOS MENSAH"


class Momo:
    """Runs `momo` commands in one shop."""

    def __init__(self, home: Path) -> None:
        self._environ = {
            **{key: value for key, value in os.environ.items() if not key.startswith("MOMO_")},
            "MOMO_HOME": str(home),
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "momo_cli", *arguments],
            cwd=ROOT, env=self._environ, capture_output=True, text=True, timeout=60, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def __call__(self, *arguments: str, exits: int = 0) -> Any:
        """Run a command with `--json`; return its document."""
        done = self.run(*arguments, "--json")
        assert done.returncode == exits, f"momo {arguments}: {done.stdout}{done.stderr}"
        assert done.stdout.count("\n") == 1, "one document on one line"
        document = json.loads(done.stdout)
        assert document["success"] is (exits == 0)
        if exits:
            assert document["exit_code"] == exits
            assert document["error"]["next"], "an error says what to type"
        return document


@pytest.fixture
def momo(tmp_path: Path) -> Iterator[Momo]:
    made = Momo(tmp_path / "shop")
    yield made
    done = made.run("daemon", "status", "--json")
    if done.returncode == 0:
        with contextlib.suppress(ProcessLookupError):
            os.kill(json.loads(done.stdout)["data"]["pid"], signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_shops_first_day_by_commands_alone(momo: Momo, tmp_path: Path) -> None:
    with (
        Receiver(tmp_path / "receiver") as receiver,
        PhoneProcess(tmp_path / "tty") as phone,
    ):
        _set_up(momo, tmp_path, receiver)
        _start(momo, phone)
        method = _give_the_sim_a_number(momo)
        endpoint = momo("endpoints", "add", receiver.url(), "--description", "till")
        assert set(endpoint) == {"success", "data", "secret"}
        receiver.secrets = [endpoint["secret"]]
        paid = _sell(momo, phone, receiver)
        _reconcile_codes(momo, phone, receiver)
        _look_around(momo, method, endpoint["data"], paid)
        assert momo("daemon", "stop")["data"] == {"status": "stopped"}
        assert momo("daemon", "stop")["data"] == {"status": "already_stopped"}
        assert momo("status", exits=7)["error"]["code"] == "DAEMON_DOWN"
        assert all(request.verified for request in receiver.requests)


def _set_up(momo: Momo, folder: Path, receiver: Receiver) -> None:
    assert momo("init", "1.00", "--phone", "0244123456", exits=11)["error"]["code"] == "NOT_SET_UP"
    password = folder / "password"
    password.write_text("correct horse 42\n", encoding="utf-8")
    flags = ("--no-input", "--shop", "Ama Provisions", "--password-file", str(password))
    first = momo("setup", *flags)["data"]
    assert first["shop"] == {"name": "Ama Provisions", "timezone": "Africa/Accra"}
    assert first["api_key"].startswith("svc_live_sk_")
    assert first["test_api_key"].startswith("svc_test_sk_")
    assert first["webhook_secret"].startswith("whsec_")
    again = momo("setup", *flags)["data"]
    assert [again[name] for name in ("api_key", "test_api_key", "webhook_secret")] == [None] * 3
    (folder / "shop" / "config.toml").write_text(
        f'[webhooks]\nallow_private_hosts = ["localhost"]\nca_file = "{receiver.ca_file}"\n',
        encoding="utf-8",
    )
    assert momo("lines", exits=7)["error"]["code"] == "DAEMON_DOWN"


def _start(momo: Momo, phone: PhoneProcess) -> None:
    flags = ("--http", "127.0.0.1:0", "--modem", str(phone.link))
    started = momo("daemon", "start", *flags)["data"]
    assert (started["status"], started["supervisor"]) == ("started", "none")
    assert momo("daemon", "start", *flags)["data"]["status"] == "already_running"
    assert momo("daemon", "status")["data"]["pid"] == started["pid"]


def _give_the_sim_a_number(momo: Momo) -> dict[str, Any]:
    (device,) = momo("phones", "list", "--wait=20s")["data"]
    (sim,) = device["sims"]
    assert (sim["slot_index"], sim["network"], sim["payment_method_id"]) == (0, "MTN", None)
    flags = ("0244124567", "--provider", "momo_mtn", "--name", "Ama Mensah")
    method: dict[str, Any] = momo("lines", "add", *flags, "--sim", f"{device['name']}:0")["data"]
    assert method["phone_number"] == "+233244124567"
    assert method["sim"]["device_id"] == device["device_id"]
    twice = momo("lines", "add", *flags, exits=5)
    assert twice["error"]["code"] == "PAYMENT_METHOD_EXISTS"
    (line,) = [sim["line"] for phone in momo("lines")["data"]["phones"] for sim in phone["sims"]]
    assert (line["payment_method_id"], line["account_name"]) == (method["id"], "Ama Mensah")
    return method


def _sell(momo: Momo, phone: PhoneProcess, receiver: Receiver) -> dict[str, Any]:
    """Sell to a customer: the payment carries the code and is slightly too high."""
    flags = ("--phone", "0244123456", "--name", "Kofi", "--client-ref", "order-1")
    request = momo("init", "25.00", *flags, "--meta", '{"till": 3}')["data"]
    assert (request["status"], request["amount"]) == ("PENDING", "25.00")
    _pay(phone, 2600, 50_000, request["svc_code"], "93214500001")
    receiver.wait_for(1)
    paid: dict[str, Any] = momo("tx", "show", request["svc_code"])["data"]
    assert paid == momo("tx", "show", request["reference"])["data"]
    wanted = {
        "reference": request["reference"],
        "svc_code": request["svc_code"],
        "status": "OVERPAID",
        "expected_amount": "25.00",
        "actual_amount": "26.00",
        "difference": "1.00",
        "difference_type": "OVERPAID",
        "currency": "GHS",
        "client_reference": "order-1",
        "meta": {"till": 3},
        "matched_by": "code",
    }
    assert {key: paid[key] for key in wanted} == wanted
    assert paid["payer"] == {"phone_number": "+233244123456", "name": PAYER}
    assert paid["payer_source"] == {"phone_number": "request", "name": "receipt"}
    assert paid["telco"]["provider"] == "mtn"
    assert paid["telco"]["transaction_id"] == "93214500001"
    return paid


def _reconcile_codes(momo: Momo, phone: PhoneProcess, receiver: Receiver) -> None:
    """Reconcile a payment without a code: exit 3 until the SMS arrives, 5 for every refusal, 0 when matched."""
    order = momo("init", "40.00", "--phone", "0244123457")["data"]
    code, telco_id = order["svc_code"], "93214500002"
    early = momo("reconcile", code, telco_id, exits=3)
    assert early["error"]["code"] == "NO_MATCHING_TRANSACTION"
    _pay(phone, 3800, 53_800, "for the maize and rubber bags", telco_id)
    receiver.wait_for(2)

    mismatch = momo("reconcile", code, telco_id, "--amount", "40.00", exits=5)
    assert mismatch["error"]["code"] == "AMOUNT_MISMATCH"
    assert (mismatch["claimed_amount"], mismatch["matched_amount"]) == ("40.00", "38.00")
    unknown = momo("reconcile", "svc_trx_" + "0" * 32, telco_id, exits=5)
    assert unknown["error"]["code"] == "TRANSACTION_NOT_FOUND"
    used = momo("reconcile", code, "93214500001", exits=5)
    assert used["error"]["code"] == "TRANSACTION_ID_ALREADY_USED"
    assert used["expected_amount"] == "40.00"

    done = momo("reconcile", code, telco_id, "--notes", "customer showed the SMS")["data"]
    assert done.pop("reconciliation_id").startswith("rec_")
    assert done.pop("message")
    assert done == {
        "status": "VERIFIED",
        "transaction_id": telco_id,
        "transaction_updated": True,
        "new_transaction_status": "PARTIAL",
        "matched_amount": "38.00",
        "expected_amount": "40.00",
        "difference": "-2.00",
        "difference_type": "underpaid",
    }
    again = momo("reconcile", code, telco_id, exits=5)
    assert again["error"]["code"] == "ALREADY_VERIFIED"
    assert again["transaction_status"] == "PARTIAL"
    receiver.wait_for(3)
    assert momo.run("reconcile", code).returncode == 2


def _look_around(
    momo: Momo, method: dict[str, Any], endpoint: dict[str, Any], paid: dict[str, Any]
) -> None:
    listed = momo("tx", "list")
    assert listed["pagination"]["total"] == 2
    assert {item["reference"] for item in listed["data"]} >= {paid["reference"]}
    messages = momo("messages", "list")["data"]
    assert [(item["state"], item["kind"], item["parts"]) for item in messages] == [
        ("payment", "payment_received", {"total": 2, "seen": 2})
    ] * 2
    assert all("body" not in item for item in messages), "texts are shown only when asked for"
    shown = momo("messages", "show", messages[0]["id"], "--show-body")["data"]
    assert "for the maize" in shown["body"]

    def settled() -> list[dict[str, Any]] | None:
        found: list[dict[str, Any]] = momo("deliveries", "list")["data"]
        return found if all(item["status"] == "delivered" for item in found) else None

    deliveries = wait_until(settled, SOON_S, "all is delivered")
    # Both payments are forwarded. Only the reconcile is also completed: the endpoint did not ask for that event.
    assert [item["endpoint_id"] for item in deliveries] == [endpoint["id"]] * 3
    assert sorted(item["event"] for item in deliveries) == [
        "transaction.completed",
        "transaction.forwarded",
        "transaction.forwarded",
    ]
    status = momo("status")["data"]
    assert status["today"]["over"]["count"] == status["today"]["short"]["count"] == 1
    assert status["queue"] == {"pending": 0, "retrying": 0, "failed": 0, "dead_letters": 0}
    assert status["secrets"] == "unlocked"
    assert [phone["state"] for phone in status["phones"]] == ["ready"]
    assert momo("lines", "list")["data"][0]["id"] == method["id"]
    assert [item["id"] for item in momo("endpoints", "list")["data"]] == [endpoint["id"]]
    # For a script without JSON: tab-separated, no header, nothing truncated.
    plain = momo.run("tx", "list", "--fields", "reference,status")
    assert sorted(line.split("\t")[1] for line in plain.stdout.splitlines()) == [
        "OVERPAID",
        "PARTIAL",
    ]


def _pay(
    phone: PhoneProcess, amount_minor: int, balance_minor: int, reference: str, telco_id: str
) -> None:
    receipt = mtn(amount_minor, PAYER, balance_minor, reference, telco_id, sent_at=utc_now(),
                  concatenation=int(telco_id) % 256)  # fmt: skip
    phone.deliver(receipt.pdus)
