"""/metrics: the figures for Prometheus, the callers that may read them, and data that must not appear in them."""

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from daemon.core.lines.modem_health import ModemHealth
from daemon.flows.lines.receiving import watch_silence as watch
from daemon.runtime.config import Config, Http
from daemon.store.lines import sms_rhythms
from daemon.store.upkeep import backup
from tests.fakes.api import FakeApi, running
from tests.fakes.receipts import mtn
from tests.fakes.shop import ICCID, IMEI, MTN_IMSI


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Read the text as Prometheus does: (name, label values...) -> value."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def fill(api: FakeApi) -> str:
    device: str = api.shop.source.device_id
    await watch(api.shop.env)
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    await watch(api.shop.env)
    api.phones = [
        ModemHealth(
            "/dev/ttyUSB0", "ready", device_id=device, health_at=api.shop.clock.now_us(),
            signal=17, registration="home", receives=True, network="MTN GH", used=30, total=30,
            storages=(("SM", 30, 30), ("ME", 5, 100)),
        ),
        ModemHealth("/dev/ttyUSB7", "unreachable"),
    ]  # fmt: skip
    return device


async def test_it_says_how_the_shop_fares(api: FakeApi) -> None:
    device = await fill(api)
    api.shop.clock.advance(90)
    answer = await api.local.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    found = samples(answer.text)
    assert found.pop(("momo_info", next(key[1] for key in found if key[0] == "momo_info"))) == 1
    assert found.pop(("momo_disk_free_bytes",)) > 0
    assert found.pop(("momo_database_bytes",)) > 4096
    assert found == {
        ("momo_uptime_seconds",): 90,
        ("momo_clock_suspect",): 0,
        ("momo_clock_witness", "messages"): 1,
        ("momo_clock_witness", "phone"): 0,
        ("momo_clock_witness", "receivers"): 0,
        ("momo_lines_ready",): 1,
        ("momo_deliveries", "pending"): 0,
        ("momo_deliveries", "retrying"): 0,
        ("momo_deliveries", "failed"): 0,
        ("momo_deliveries", "dead_letters"): 0,
        ("momo_modem_ready", device): 1,
        ("momo_modem_signal_dbm", device): -79,
        ("momo_modem_registered", device): 1,
        ("momo_modem_storage_used", device, "SM"): 30,
        ("momo_modem_storage_total", device, "SM"): 30,
        ("momo_modem_storage_used", device, "ME"): 5,
        ("momo_modem_storage_total", device, "ME"): 100,
        ("momo_modem_trouble", device, "fail", "modem.full"): 1,
        ("momo_sim_silent", device, "0"): 0,
        ("momo_line_receiving", device, "0"): 0,  # its storage is full
        ("momo_sim_last_sms_timestamp_seconds", device, "0"): 1_795_248_030,
    }


async def test_a_silent_sim_is_told(api: FakeApi) -> None:
    device = await fill(api)
    known = (await api.shop.env.store.read(sms_rhythms.all_rhythms))[api.shop.source.sim_key]
    silent = replace(known, silent_since=api.shop.clock.now_us())
    await api.shop.env.store.write(lambda tx: sms_rhythms.put(tx, silent))
    found = samples((await api.local.get("/metrics")).text)
    assert found["momo_sim_silent", device, "0"] == 1


async def test_the_figures_name_no_person_number_or_port(api: FakeApi) -> None:
    await fill(api)
    text = (await api.local.get("/metrics")).text
    for secret in (IMEI, ICCID, MTN_IMSI, "244124567", "KOFI", "Ama", "ttyUSB", "93214500001"):
        assert secret not in text


async def test_on_this_machine_tcp_answers_without_a_key(api: FakeApi) -> None:
    anyone = await api.client()
    assert (await anyone.get("/metrics")).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [{"X-Forwarded-For": "93.184.215.14"}, {"Forwarded": "for=93.184.215.14"}, {"CF-Connecting-IP": "93.184.215.14"}],
)
async def test_the_world_does_not_get_it_through_a_tunnel(api: FakeApi, headers: dict[str, str]) -> None:
    anyone = await api.client()
    answer = await anyone.get("/metrics", headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "ROUTE_NOT_FOUND")


async def test_nobody_gets_it_under_the_name_that_customers_see(tmp_path: Path) -> None:
    config = Config(http=Http(public_base_url="https://pay.ama.example"))
    async with running(tmp_path, config) as api:
        anyone, host = await api.client(), {"Host": "pay.ama.example"}
        assert (await anyone.get("/healthz", headers=host)).status_code == 200
        assert (await anyone.get("/metrics", headers=host)).status_code == 404


def test_the_library_is_not_loaded_before_somebody_asks() -> None:
    code = "import sys, daemon.app; print([m for m in sys.modules if m.startswith('prometheus')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


async def test_it_says_that_the_clock_is_doubted_and_when_the_newest_backup_was_made(api: FakeApi) -> None:
    folder = Path(api.shop.env.home) / backup.FOLDER
    folder.mkdir()
    (folder / "momo-20261121T080000Z.db").touch()
    await api.shop.read(mtn(2500, "KOFI ANTWI BADU", 90_000, "food", "93214500001"))
    api.shop.clock.jump(-40 * 24 * 3600.0)
    found = samples((await api.local.get("/metrics")).text)
    assert found[("momo_clock_suspect",)] == 1
    assert found[("momo_backup_timestamp_seconds",)] == 1_795_248_000
