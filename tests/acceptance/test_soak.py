"""The daemon's resources do not grow with the number of payments; `make soak` runs more of them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.acceptance.conftest import Scene
from tests.acceptance.soak import SETTINGS, Look, Soak, faults
from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop
from tests.fakes.receiver import Receiver

PAYMENTS = 600
WARMING_MB = 8.0
"""The caches of a new daemon fill during the first thousand payments: growth beyond 27 kB per payment is a leak."""


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Scene]:
    with (
        Receiver(tmp_path / "receiver") as receiver,
        PhoneProcess(tmp_path / "tty") as phone,
        RealShop(
            tmp_path / "shop", phone=phone.link, ca_file=receiver.ca_file, short_schedule=True,
            settings=SETTINGS,
        ) as shop,
    ):  # fmt: skip
        yield Scene(shop, phone, receiver)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_payments_leave_memory_descriptors_threads_and_log_as_they_were(busy: Scene) -> None:
    soak = Soak(busy)
    soak.run(PAYMENTS)
    assert faults(soak.looks, WARMING_MB) == []


@pytest.mark.parametrize(
    ("leak", "said"),
    [
        ({"rss_mb": 0.5}, "memory grew by"),
        ({"fds": 1}, "descriptors more"),
        ({"threads": 1}, "threads more"),
        ({"wal_mb": 1.0}, "a log of"),
        ({"db_mb": 1.0}, "bytes of the file a payment"),
    ],
)
def test_each_kind_of_leak_is_named(leak: dict[str, float], said: str) -> None:
    well = [Look(50 * at, 80.0, 35 + at % 2, 12, 4.2, 1 + 0.35 * at) for at in range(1, 41)]
    assert faults(well) == []
    ((what, each),) = leak.items()
    bad = [replace(look, **{what: getattr(look, what) + each * at}) for at, look in enumerate(well)]
    (fault,) = faults(bad)
    assert said in fault
