"""`momo doctor`: through the daemon if it runs, else by its program; findings, next commands, and exit codes."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from daemon.doctor.run import AREAS
from momo_cli.commands.upkeep import status
from tests.cli.conftest import Momo, Shop
from tests.fakes.fake_api import FakeApi, Says
from tests.fakes.real_shop import CANARIES, RealShop


def check(name: str, status: str, fix: str = "") -> dict[str, Any]:
    area = name.partition(".")[0]
    return {"id": name, "area": area, "status": status, "detail": f"{name} is so", "fix": fix}


def says(*checks: dict[str, Any]) -> Says:
    well = all(one["status"] != "fail" for one in checks)
    return Says({"success": well, "data": {"ok": well, "checks": list(checks)}})


GOOD = check("modem.usb", "ok")
WEAK = check("modem.signal", "warn", "move it")
BUSY = check("modem.busy", "fail", "kill 4312")


def test_both_programs_know_the_same_areas() -> None:
    assert tuple(AREAS) == status.AREAS


def test_each_finding_is_a_line_with_what_to_type(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_DOCTOR, says(GOOD, WEAK, BUSY, check("modem.answers", "skip")))
    ran = momo("doctor", "modem", "-o", "table")
    assert ran.code == 6
    assert ran.out.splitlines() == [
        "✓ modem.usb            modem.usb is so",
        "! modem.signal         modem.signal is so",
        "                       fix: move it",
        "✗ modem.busy           modem.busy is so",
        "                       fix: kill 4312",
        "— modem.answers        modem.answers is so",
        "",
        "1 problem, 1 warning.",
    ]


def test_the_document_is_the_daemons_own(api: FakeApi, momo: Momo) -> None:
    answer = says(GOOD, BUSY)
    api.on("GET", wire.Path.LOCAL_DOCTOR, answer)
    ran = momo("doctor", "modem", "--json")
    assert (ran.code, ran.json) == (6, answer.body)


@pytest.mark.parametrize(
    ("checks", "flags", "code"),
    [
        ((GOOD,), (), 0),
        ((GOOD, WEAK), (), 0),
        ((GOOD, WEAK), ("--strict",), 6),
        ((GOOD,), ("--strict",), 0),
        ((BUSY,), (), 6),
    ],
)
def test_an_error_is_6_and_a_warning_only_when_it_is_asked_for(
    checks: tuple[dict[str, Any], ...], flags: tuple[str, ...], code: int, api: FakeApi, momo: Momo
) -> None:
    api.on("GET", wire.Path.LOCAL_DOCTOR, says(*checks))
    assert momo("doctor", *flags).code == code


def test_cron_hears_nothing_of_what_is_well_and_two_lines_of_what_is_not(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_DOCTOR, says(GOOD, WEAK))
    ran = momo("doctor", "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    api.on("GET", wire.Path.LOCAL_DOCTOR, says(GOOD, WEAK, BUSY, check("db.sound", "fail")))
    ran = momo("doctor", "--quiet")
    assert (ran.code, ran.out) == (6, "")
    assert ran.err == ("error: modem.busy is so; db.sound is so\nnext:  momo doctor modem db\n")
    strict = momo("doctor", "--quiet", "--strict")
    assert strict.err.startswith("error: modem.signal is so; modem.busy is so; ")
    # An explicit output form is printed also with --quiet.
    assert len(momo("doctor", "--quiet", "--plain").out.splitlines()) == 4


def test_what_is_well_is_shown_only_with_all_or_for_an_area(api: FakeApi, momo: Momo) -> None:
    answer = says(GOOD, {**WEAK, "ms": 3}, check("modem.answers", "skip"))
    api.on("GET", wire.Path.LOCAL_DOCTOR, answer)
    found = ["! modem.signal         modem.signal is so", "                       fix: move it"]
    assert momo("doctor", "-o", "table").out.splitlines() == [*found, "", "1 warning."]
    whole = momo("doctor", "--all", "-o", "table").out
    assert [line.split()[1] for line in whole.splitlines() if "is so" in line] == [
        "modem.usb", "modem.signal", "modem.answers",
    ]  # fmt: skip
    assert "(3 ms)" in whole
    api.on("GET", wire.Path.LOCAL_DOCTOR, says(GOOD))
    assert momo("doctor", "-o", "table").out == "All is well.\n"


def test_all_well_is_said(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_DOCTOR, says(GOOD))
    assert momo("doctor", "-o", "table").out.splitlines()[-1] == "All is well."


def test_without_a_daemon_and_without_a_shop_the_machine_is_looked_at(shop: Shop, momo: Momo) -> None:
    """Run the program itself; it asks no phones, so the result does not depend on the modems of this machine."""
    (shop.home / wire.DATABASE_NAME).unlink()
    ran = momo("doctor", "modem", "ledger", "--json")
    assert ran.code in (0, 6)
    found = {one["id"]: one for one in ran.json["data"]["checks"]}
    assert found["modem.answers"]["status"] == "skip"
    assert found["modem.answers"]["fix"] == "momo daemon start"
    assert found["ledger.holds"]["status"] == "skip"
    assert ran.json["success"] is (ran.code == 0)


def test_the_deep_check_of_the_ledger_reads_the_messages_in_a_process_of_its_own(shop: Shop, momo: Momo) -> None:
    ran = momo("doctor", "ledger", "--deep", "--json")
    assert "ledger.texts" in {one["id"] for one in ran.json["data"]["checks"]}
    for wrong in (("modem", "--deep"), ("ledger", "--deep", "--fix")):
        ran = momo("doctor", *wrong, "--json")
        assert ran.code == 2
        assert "--deep goes with the area ledger only" in ran.json["error"]["message"]


@pytest.mark.slow
def test_what_is_safe_is_mended_and_what_was_done_is_said(shop: Shop, momo: Momo) -> None:
    (shop.home / wire.DATABASE_NAME).chmod(0o600)
    shop.home.chmod(0o755)
    ran = momo("doctor", "permissions", "--json")
    assert ran.code == 6
    ran = momo("doctor", "permissions", "--fix", "--json")
    assert ran.code == 0
    assert ran.json["data"]["fixed"] == [{"id": "permissions.private", "did": f"chmod 700 {shop.home}"}]
    assert ran.json["data"]["ok"] is True


@pytest.mark.slow
def test_a_bundle_shows_its_files_first_and_is_never_written_over_another(shop: Shop, momo: Momo) -> None:
    target = shop.home / "b.tar.gz"
    ran = momo("doctor", "ledger", "--bundle", str(target), "--json")
    assert ran.json["data"]["bundle"]["path"] == str(target)
    assert "versions.txt" in ran.json["data"]["bundle"]["files"]
    assert "will contain" in ran.err
    assert target.stat().st_mode & 0o777 == 0o600
    ran = momo("doctor", "ledger", "--bundle", str(target))
    assert ran.code == 2
    assert momo("doctor", "--bundle", "momo.zip").code == 2


def test_an_unknown_area_is_2(momo: Momo) -> None:
    ran = momo("doctor", "weather")
    assert ran.code == 2
    assert "there are daemon, socket" in ran.err


@pytest.mark.slow
def test_neither_log_nor_bundle_nor_trace_of_a_busy_shop_tells_a_number_a_name_or_a_secret(tmp_path: Path) -> None:
    with RealShop(tmp_path / "shop") as shop:
        shop.log = Path(shop.places.log) / "daemon.log"
        shop.log.parent.mkdir(mode=0o700, parents=True)
        shop.start(arguments=("--simulated-phone", "--log-json"))
        shop.add_endpoint("https://localhost:9/hook/s3cr3tpath?token=s3cr3ttoken")
        shop.request("25.00", customer_name="Efua Canary", description="Canary words")
        for flags in (("--amount", "5"), ("--name", "Efua Canary", "--amount", "7"), ("--fake", "--amount", "6")):
            assert shop.momo("simulate", "payment", *flags).returncode == 0
        # A call that is refused, and one with a wrong key.
        shop.api("POST", "/v1/transactions/initialize", {"phone_number": "0244123456"})
        traced = [
            shop.momo(*words, "--debug", "--json")
            for words in (
                ("init", "25", "--phone", "0244123456", "--name", "Efua Canary"),
                ("keys", "create", "--name", "Canary words", "--scope", "transactions:read"),
                ("endpoints", "add", "https://localhost:9/s3cr3tpath?token=s3cr3ttoken"),
                ("messages", "list", "--show-body"),
                ("tx", "list", "--search", "Efua Canary"),
            )
        ]
        made = json.loads(traced[1].stdout)["key"]
        target = tmp_path / "b.tar.gz"
        shop.momo("doctor", "--bundle", str(target), "--yes")
        shop.stop()
        with tarfile.open(target) as tar:
            names = tar.getnames()
            files = [tar.extractfile(name) for name in names]
            packed = "\n".join(file.read().decode() for file in files if file is not None)
        trace = "\n".join(done.stderr for done in traced)
        assert trace.count("/v1/") >= len(traced)
        said = f"{shop.said()}\n{packed}\n{trace}".lower()
        assert "momo-doctor/log/daemon.log" in names
        private = [*CANARIES, "efua canary", "canary words", "s3cr3t", "ama provisions", shop.keys.api, made]
        assert [one for one in private if one.lower() in said] == []
