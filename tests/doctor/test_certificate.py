"""Findings of the doctor about the certificate of the API."""

import datetime
from pathlib import Path

import pytest
import trustme
from msgspec.structs import replace

from daemon import wire
from daemon.core.limits import SECOND_US
from daemon.doctor.checks import Check, PortUser, Status, System
from daemon.doctor.run import run_checks
from daemon.runtime import own_certificate
from daemon.runtime.own_certificate import MachineNames
from tests.fakes.machine import Machine

DAY_S = 86_400
NOW_S = 1_795_420_800
TILL = MachineNames("till", ("192.168.1.5",))


@pytest.fixture
def system(tmp_path: Path) -> System:
    home = tmp_path / "shop"
    home.mkdir()
    environ = {"MOMO_HOME": str(home)}
    places = wire.places(environ, 0, "/tmp")
    own_certificate.create(str(home), ["shop.lan"], TILL, NOW_S)
    use(home, own_certificate.server_file(str(home)))
    return System(
        Machine(tmp_path / "machine").root, PortUser(0, frozenset()), places=places, environ=environ,
        now_us=NOW_S * SECOND_US, names=lambda: TILL,
    )  # fmt: skip


def use(home: Path, certificate: str, more: str = "") -> None:
    (home / "config.toml").write_text(f'[http]\ntls_cert = "{certificate}"\n{more}')


def looked(system: System) -> Check:
    (check,) = run_checks(system, ["http"])
    assert check.id == "http.certificate"
    return check


def later(system: System, days: int) -> System:
    return replace(system, now_us=system.now_us + days * DAY_S * SECOND_US)


def test_shop_without_a_certificate_is_not_checked(system: System) -> None:
    Path(system.shop.config).write_text("")
    assert looked(system).status == Status.SKIP


def test_own_certificate_is_sound_while_it_covers_the_machine(system: System) -> None:
    found = looked(system)
    assert found.status == Status.OK
    assert "shop.lan, till.local, 192.168.1.5" in found.detail.replace("till, ", "")


def test_address_that_is_not_covered_is_a_warning(system: System) -> None:
    found = looked(replace(system, names=lambda: MachineNames("till", ("192.168.1.77",))))
    assert (found.status, found.fix) == (Status.WARN, "momo daemon certificate create")
    assert "192.168.1.77" in found.detail


@pytest.mark.parametrize(
    ("days", "status", "fix"),
    [
        (360, Status.OK, ""),
        (370, Status.WARN, "momo daemon certificate create"),
        (397, Status.FAIL, "momo daemon certificate create"),
    ],
)
def test_end_of_the_own_certificate(system: System, days: int, status: Status, fix: str) -> None:
    found = looked(later(system, days))
    assert (found.status, found.fix) == (status, fix)


def test_end_of_the_ca_is_told_half_a_year_before(system: System) -> None:
    home = system.shop.home
    late = later(system, own_certificate.CA_DAYS - 100)
    own_certificate.renew_if_due(home, TILL, late.now_us // SECOND_US)
    found = looked(late)
    assert (found.status, found.fix) == (Status.WARN, "momo daemon certificate create --new-ca")


def test_certificate_of_somebody_else_is_checked_too(system: System, tmp_path: Path) -> None:
    ends = datetime.datetime.fromtimestamp(NOW_S + 20 * DAY_S, datetime.UTC)
    issued = trustme.CA().issue_cert("shop.example", "192.168.1.5", not_after=ends)
    file = tmp_path / "server.pem"
    issued.private_key_and_cert_chain_pem.write_to_path(file)
    home = Path(system.shop.home)
    use(home, str(file), 'public_base_url = "https://shop.example"\nbind = "192.168.1.5:8420"\n')
    assert looked(system).status == Status.OK
    assert looked(later(system, 7)).status == Status.WARN
    assert looked(later(system, 20)).status == Status.FAIL
    use(home, str(file), 'public_base_url = "https://other.example"\n')
    found = looked(system)
    assert (found.status, found.fix) == (Status.WARN, "renew it for other.example")
    use(home, str(file), 'bind = "192.168.1.6:8420"\n')
    assert looked(system).fix == "renew it for 192.168.1.6"
    file.write_text("nothing")
    assert looked(system).status == Status.FAIL


def test_missing_facts_are_told(system: System) -> None:
    (Path(system.shop.home) / "tls" / "certificate.json").unlink()
    assert looked(system).fix == "momo daemon certificate create"
    (Path(system.shop.home) / "tls" / "certificate.json").write_text("[]")
    assert looked(system).status == Status.FAIL
