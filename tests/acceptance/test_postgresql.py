"""Real daemons on a real PostgreSQL server: a payment, the server away and back, a standby daemon that takes over."""

import contextlib
import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon import wire
from daemon.core.ids import reference_of
from tests.acceptance.conftest import SHOP_NUMBER
from tests.fakes import postgresql
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import SOON_S, RealShop, pause, utc_now, wait_until
from tests.fakes.receipts import mtn_receipts
from tests.fakes.receiver import Receiver

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
ORDER = {"amount": "25.00", "phone_number": "0244123456"}
HEALED_S = 90.0
NO_MODEM = ["--no-modem"]


@pytest.fixture
def server() -> Iterator[postgresql.Cluster]:
    """A server of its own, which a test may stop."""
    if not postgresql.is_installed():
        pytest.skip("PostgreSQL's server is not installed")
    made = postgresql.Cluster(postgresql.SETTINGS[0])
    yield made
    made.remove()


def health(shop: RealShop) -> str:
    with urllib.request.urlopen(f"http://{shop.http}{wire.Path.HEALTH}", timeout=20) as answer:
        return str(json.load(answer)["data"]["status"])


def state(shop: RealShop) -> str:
    return str(shop.ask("GET", wire.Path.LOCAL_STATUS)["state"])


def order(shop: RealShop) -> str | None:
    """Make an order; return its reference, None if it was refused because the shop cannot write."""
    try:
        status, answer = shop.api("POST", wire.Path.INITIALIZE, ORDER)
    except OSError:
        return None
    if status == 503:
        assert answer["error"]["code"] == wire.ErrorCode.UNAVAILABLE, answer
        return None
    assert status in (200, 201), answer
    return str(answer["data"]["reference"])


def orders(shop: RealShop) -> list[str]:
    return [reference_of(row[0]) for row in shop.rows("SELECT id FROM transactions ORDER BY seq")]


def with_key(shop: RealShop, key: str) -> int:
    """Ask for the transactions with an API key; return the status."""
    headers = {"Authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"http://{shop.http}{wire.Path.TRANSACTIONS}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        refused.close()
        return refused.code


def test_a_payment_takes_the_whole_way_and_the_commands_answer(server: postgresql.Cluster, tmp_path: Path) -> None:
    with (
        Receiver(tmp_path / "receiver") as receiver,
        PhoneProcess(tmp_path / "tty") as phone,
        RealShop(tmp_path / "shop", phone=phone.link, ca_file=receiver.ca_file, url=server.new_database()) as shop,
    ):
        (receipt,) = mtn_receipts(1, 7, started=utc_now())
        shop.start()
        shop.assign(SHOP_NUMBER)
        receiver.secrets = [shop.add_endpoint(receiver.url())]
        phone.deliver(receipt.pdus)
        wait_until(phone.is_empty, HEALED_S, "the phone is read")
        wait_until(
            lambda: shop.rows("SELECT telco_transaction_id FROM payments") == [(receipt.telco_id,)],
            HEALED_S,
            "the payment is stored",
        )
        assert order(shop)

        assert not Path(shop.places.database).exists()
        assert shop.momo("status", "--get", "data.db.server").stdout.startswith("PostgreSQL, database")
        for refused in (
            ("backup", "create"),
            ("backup", "list"),
            ("restore", "--stop", "--yes"),
            ("data", "tables"),
            ("daemon", "upgrade-check"),
        ):
            said = shop.momo(*refused)
            assert said.returncode != 0, refused
            text = " ".join((said.stdout + said.stderr).split())
            assert "this shop is stored in PostgreSQL" in text, (refused, text)
        checks = json.loads(shop.momo("doctor", "db", "ledger", "--json").stdout)["data"]["checks"]
        found = {check["id"]: check["status"] for check in checks}
        assert found["db.server"] == "ok"
        assert found["db.durable"] == "fail", "the tests' server runs without fsync"
        assert found["ledger.holds"] == "ok"
        for command in (("status",), ("list",), ("payments", "list"), ("transactions", "list"), ("lines",)):
            assert shop.momo(*command).returncode in (0, 2), command
        shop.stop()


def test_while_the_server_is_away_the_shop_says_why_and_its_messages_wait(
    server: postgresql.Cluster, tmp_path: Path
) -> None:
    with (
        PhoneProcess(tmp_path / "tty") as phone,
        RealShop(tmp_path / "shop", phone=phone.link, url=server.new_database()) as shop,
    ):
        receipts = list(mtn_receipts(4, 3, started=utc_now()))
        shop.start()
        shop.assign(SHOP_NUMBER)
        phone.deliver(receipts[0].pdus)
        wait_until(phone.is_empty, HEALED_S, "the phone is read")
        for mode, late in (("fast", receipts[1]), ("immediate", receipts[2])):
            server.stop(mode)
            wait_until(lambda: health(shop) == "degraded", SOON_S, "the shop notices")
            status, answer = shop.api("POST", wire.Path.INITIALIZE, ORDER)
            assert (status, answer["error"]["code"]) == (503, wire.ErrorCode.UNAVAILABLE)
            assert answer["error"]["cause"] == wire.FaultCause.DATABASE_UNREADABLE
            phone.deliver(late.pdus)
            pause(1)
            assert not phone.is_empty()
            server.start()
            wait_until(lambda: state(shop) == "ok", HEALED_S, "the shop heals by itself")
            wait_until(phone.is_empty, HEALED_S, "the phone is read")
        known = {receipt.telco_id for receipt in receipts[:3]}
        wait_until(
            lambda: {row[0] for row in shop.rows("SELECT telco_transaction_id FROM payments")} == known,
            HEALED_S,
            "each receipt is a payment",
        )
        # It can also begin while the server is away.
        shop.stop()
        server.stop()
        shop.start()
        assert health(shop) == "degraded"
        server.start()
        wait_until(lambda: state(shop) == "ok", HEALED_S, "the shop heals by itself")
        shop.stop()


@contextlib.contextmanager
def two_daemons(server: postgresql.Cluster, folder: Path) -> Iterator[tuple[RealShop, RealShop]]:
    """A writer and its standby."""
    with (
        RealShop(folder / "first", url=server.new_database()) as first,
        RealShop(folder / "second", standby_of=first) as second,
    ):
        first.start(arguments=NO_MODEM)
        second.start(arguments=NO_MODEM)
        wait_until(lambda: health(second) == "standby", SOON_S, "the second one waits")
        yield first, second


def test_a_standby_daemon_says_so_and_writes_nothing(server: postgresql.Cluster, tmp_path: Path) -> None:
    with two_daemons(server, tmp_path) as (first, second):
        assert state(second) == "standby"
        why = second.momo("status", "--get", "data.waiting").stdout
        assert why.startswith("standby: waiting for the writer, momo on ")
        request = urllib.request.Request(
            f"http://{second.http}{wire.Path.INITIALIZE}",
            json.dumps(ORDER).encode(),
            {"Authorization": f"Bearer {first.keys.api}", "Content-Type": "application/json"},
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=20)
        with refused.value as answer:
            assert answer.code == 503
            assert int(answer.headers["Retry-After"]) >= 1
            assert json.load(answer)["error"]["cause"] == wire.FaultCause.STANDBY
        assert order(first)
        assert len(orders(first)) == 1
        # An orderly stop hands over too.
        first.stop()
        wait_until(lambda: order(second), SOON_S, "the second one writes")


def test_the_standby_takes_over_from_a_killed_writer_and_no_acknowledged_order_is_lost(
    server: postgresql.Cluster, tmp_path: Path
) -> None:
    with two_daemons(server, tmp_path) as (first, second):
        acknowledged = list[str]()
        writer, standby = first, second
        for _turn in range(3):
            acknowledged += [made for _ in range(5) if (made := order(writer))]
            os.kill(writer.pid, signal.SIGKILL)
            acknowledged.append(wait_until(lambda: order(standby), SOON_S, "it takes over"))  # noqa: B023 -- called at once
            writer.kill()
            writer.start(arguments=NO_MODEM)
            wait_until(lambda: health(writer) == "standby", SOON_S, "the killed one waits")  # noqa: B023 -- called at once
            writer, standby = standby, writer
        found = orders(writer)
        assert set(acknowledged) <= set(found)
        assert len(found) == len(set(found))


def test_the_standby_takes_over_from_a_writer_that_hangs_and_the_woken_one_is_refused(
    server: postgresql.Cluster, tmp_path: Path
) -> None:
    with two_daemons(server, tmp_path) as (first, second):
        acknowledged = [order(first)]
        _, made = first.api("POST", wire.Path.KEYS, {"name": "till", "mode": "live"})
        assert with_key(first, made["key"]) == 200
        os.kill(first.pid, signal.SIGSTOP)
        try:
            acknowledged.append(wait_until(lambda: order(second), HEALED_S, "it takes over"))
            # The first one remembers a key that is revoked while it hangs.
            assert second.api("DELETE", wire.Path.KEY.format(id=made["data"]["id"]))[0] in (200, 204)
        finally:
            os.kill(first.pid, signal.SIGCONT)
        assert with_key(first, made["key"]) == 503
        assert order(first) is None
        wait_until(lambda: health(first) == "standby", SOON_S, "the woken one waits")
        assert order(first) is None
        second.kill()
        acknowledged.append(wait_until(lambda: order(first), SOON_S, "it takes over again"))
        assert with_key(first, made["key"]) == 401
        found = orders(first)
        assert set(acknowledged) <= set(found)
        assert len(found) == len(set(found))


def test_a_shop_moves_from_its_file_to_a_server_with_every_row(server: postgresql.Cluster, tmp_path: Path) -> None:
    with PhoneProcess(tmp_path / "tty") as phone, RealShop(tmp_path / "shop", phone=phone.link) as shop:
        url = server.new_database()
        shop.start()
        shop.assign(SHOP_NUMBER)
        for receipt in mtn_receipts(3, 8, started=utc_now()):
            phone.deliver(receipt.pdus)
        wait_until(lambda: len(shop.rows("SELECT id FROM payments")) == 3, HEALED_S, "all are stored")
        made = order(shop)
        assert made is not None
        refused = shop.momo("hub", "init", "--database", url)
        assert "LOCKED" in refused.stderr + refused.stdout, "its daemon runs"
        before = shop.rows("SELECT id, amount_minor, seq FROM payments ORDER BY seq")

        moved = json.loads(shop.momo("hub", "init", "--database", url, "--stop", "--json").stdout)["data"]
        assert (moved["payments"], moved["amount_minor"]) == (3, sum(row[1] for row in before))
        assert Path(moved["kept"]).exists(), "the file stays"
        again = shop.momo("hub", "init", "--database", server.new_database())
        assert "on a server already" in " ".join((again.stderr + again.stdout).split())

        shop.stop()  # it has ended; this takes its exit code
        shop.url = url  # `rows` reads the server from now on
        shop.start()
        assert shop.rows("SELECT id, amount_minor, seq FROM payments ORDER BY seq") == before
        checks = json.loads(shop.momo("doctor", "ledger", "--json").stdout)["data"]["checks"]
        assert {check["status"] for check in checks} == {"ok"}, checks
        assert shop.momo("tx", "show", made).returncode == 0
        phone.deliver(list(mtn_receipts(4, 8, started=utc_now()))[3].pdus)
        wait_until(lambda: len(shop.rows("SELECT id FROM payments")) == 4, HEALED_S, "the next one is stored")
        assert order(shop), "new rows have numbers of their own"
        assert shop.momo("hub", "init", "--yes").returncode == 0
        shop.stop()


def test_nothing_moves_to_a_database_that_has_a_shop_or_to_no_server(
    server: postgresql.Cluster, tmp_path: Path
) -> None:
    url = server.new_database()
    with RealShop(tmp_path / "other", url=url), RealShop(tmp_path / "shop") as shop:
        for address, why in (
            (url, "has a shop already"),
            ("postgresql:///nowhere?host=/nowhere", "nothing was copied"),
            ("mysql://momo", "starts with postgresql://"),
        ):
            said = shop.momo("hub", "init", "--database", address)
            assert said.returncode != 0
            assert why in " ".join((said.stderr + said.stdout).split()), said
        assert Path(shop.places.database).exists()
        assert json.loads(shop.momo("config", "get", "store.url", "--json").stdout)["data"]["value"] == ""
