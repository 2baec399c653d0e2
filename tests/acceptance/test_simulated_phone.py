"""`daemon run --simulated-phone`: test payments take the whole path from a phone to the transaction, in test mode only."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.real_shop import RealShop, wait_until

NAMES = ["simulated-mtn", "simulated-telecel"]


def said(shop: RealShop, *arguments: str) -> Any:
    """Run a command with `--json`; return its `data`."""
    done = shop.momo(*arguments, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["data"]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[RealShop]:
    with RealShop(tmp_path / "shop") as made:
        yield made


def begin(shop: RealShop) -> None:
    # A missing path: the machine's own modems must not be used.
    shop.start(arguments=["--simulated-phone", "--modem", "/dev/ttyUSB_not_there"])

    def ready() -> bool:
        phones = [row for row in said(shop, "phones", "status") if row.get("simulated")]
        return len(phones) == 2 and all(row["state"] == "ready" for row in phones)

    wait_until(ready, 20, "both simulated phones are ready")


def counts(shop: RealShop, *tables: str) -> dict[str, int]:
    return {table: shop.rows(f"SELECT COUNT(*) FROM {table}")[0][0] for table in tables}


@pytest.mark.parametrize("network", ["mtn", pytest.param("telecel", marks=pytest.mark.slow)])
def test_a_made_up_payment_takes_the_way_through_the_phone(shop: RealShop, network: str) -> None:
    begin(shop)
    order = said(shop, "init", "25.00", "--phone", "0244111222", "--sandbox")
    paid = said(shop, "simulate", "payment", "--order", order["reference"], "--network", network)
    assert paid["message"]["state"] == "payment"
    assert paid["message"]["test"] is True
    assert paid["transaction"]["status"] == "SUCCESS"
    phones = {row["name"]: row for row in said(shop, "phones", "status")}
    phone = phones[f"simulated-{network}"]
    assert paid["message"]["device_id"] == phone["device_id"]
    assert phone["last_sms_at"] is not None
    (read,) = shop.rows("SELECT DISTINCT mode FROM messages")
    assert read == ("test",)


@pytest.mark.slow
def test_each_phone_has_a_number_so_that_an_endpoint_of_the_sandbox_can_be_made(shop: RealShop) -> None:
    begin(shop)
    made = said(shop, "endpoints", "add", "https://localhost/hook", "--sandbox")
    assert made["is_sandbox"] is True
    numbers = [row["phone_number"] for row in said(shop, "lines", "list", "--sandbox")]
    assert sorted(numbers) == ["+233200000001", "+233240000001"]


@pytest.mark.slow
def test_many_at_once_are_each_answered_with_their_own_message(shop: RealShop) -> None:
    begin(shop)
    rows = shop.momo("simulate", "payment", "--amount", "5", "--count", "5", "--rate", "50/s", "--json")
    assert rows.returncode == 0, rows.stdout + rows.stderr
    assert counts(shop, "payments", "messages") == {"payments": 5, "messages": 5}
    keyed = ("api", "POST", "/v1/test/payments", "-d", '{"amount":"5.00"}', "-H", "Svc-Mode: test")
    first, again = (shop.momo(*keyed, "-H", "Idempotency-Key: k1") for _ in range(2))
    assert first.returncode == 0, first.stdout + first.stderr
    assert again.stdout == first.stdout
    assert counts(shop, "payments", "messages") == {"payments": 6, "messages": 6}


@pytest.mark.slow
def test_it_is_shown_as_what_it_is_and_never_counts_as_live(shop: RealShop) -> None:
    begin(shop)
    said(shop, "simulate", "payment", "--amount", "5")
    phones = said(shop, "status")["phones"]
    assert [row["name"] for row in phones if row.get("simulated")] == NAMES
    assert said(shop, "lines")["phones"] == []
    assert said(shop, "lines")["unplaced_payments"] == 0
    assert shop.rows("SELECT COUNT(*) FROM devices WHERE mode = 'live'") == [(0,)]
    live = ("line_balances", "sms_centres", "sim_absences")
    known = {name for (name,) in shop.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert not any(counts(shop, *(table for table in live if table in known)).values())
    with urllib.request.urlopen(f"http://{shop.http}/metrics", timeout=10) as answer:
        assert "momo_modem_ready{" not in answer.read().decode()


@pytest.mark.slow
def test_a_start_without_the_flag_knows_nothing_of_it(shop: RealShop) -> None:
    begin(shop)
    said(shop, "simulate", "payment", "--amount", "5")
    shop.stop()
    shop.start(arguments=["--modem", "/dev/ttyUSB_not_there"])
    assert not [row for row in said(shop, "phones", "status") if row["device_id"] or row["name"]]
    assert said(shop, "lines")["phones"] == []
    paid = said(shop, "simulate", "payment", "--amount", "5")
    assert paid["message"]["state"] == "payment", "straight in, as before"


@pytest.mark.slow
def test_a_daemon_that_was_killed_leaves_nothing_in_the_way_of_the_next(shop: RealShop) -> None:
    begin(shop)
    shop.kill()
    begin(shop)
    assert said(shop, "simulate", "payment", "--amount", "5")["message"]["state"] == "payment"
