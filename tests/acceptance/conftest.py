"""One shop of real programs for each test: a phone on a pty, a receiver over TLS, and the daemon."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.phone import PhoneProcess
from tests.fakes.real_shop import RealShop
from tests.fakes.receiver import Receiver

SHOP_NUMBER = "0244124567"


@dataclass(frozen=True, slots=True)
class Scene:
    """A shop, its phone and its receiver."""

    shop: RealShop
    phone: PhoneProcess
    receiver: Receiver

    def open_for_business(self, prefix: Sequence[str] = ()) -> None:
        """Start the daemon, put the shop's number on the SIM and give the receiver its secrets."""
        self.shop.start(prefix=prefix)
        self.shop.assign(SHOP_NUMBER)
        secret = self.shop.add_endpoint(self.receiver.url())
        self.receiver.secrets = [secret, self.shop.keys.webhook_secret]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A shop after set-up; its daemon is not started yet."""
    with (
        Receiver(tmp_path / "receiver") as receiver,
        PhoneProcess(tmp_path / "tty") as phone,
        RealShop(tmp_path / "shop", phone=phone.link, ca_file=receiver.ca_file, short_schedule=True) as shop,
    ):
        yield Scene(shop, phone, receiver)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[RealShop]:
    """A shop after set-up, without a phone."""
    with RealShop(tmp_path / "shop", phone=tmp_path / "no-phone") as made:
        yield made
