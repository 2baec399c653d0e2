"""The daemon's resources do not grow with the number of payments; `make soak` runs more of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import Scene
from tests.acceptance.soak import SETTINGS, Soak, faults
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
            tmp_path / "shop", phone=phone.link, ca_file=receiver.ca_file, short_schedule=True, settings=SETTINGS
        ) as shop,
    ):
        yield Scene(shop, phone, receiver)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_payments_leave_memory_descriptors_threads_and_log_as_they_were(busy: Scene) -> None:
    soak = Soak(busy)
    soak.run(PAYMENTS)
    assert faults(soak.looks, WARMING_MB) == []
