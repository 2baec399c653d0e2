"""Fixtures: both event loops for every test of this folder (the daemon's, and asyncio's own where uvloop is missing).

There is also a receiver over TLS on loopback, with senders that trust it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path

import pytest
import uvloop

from daemon.sender.address_guard import AddressPolicy
from daemon.sender.https import Sender
from tests.fakes.receiver import Receiver
from tests.fakes.signed_webhook import LOCAL, SECRET, MakeSender


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One CA for the module: making it is slower than most tests."""
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture
def receiver(certificates: Path) -> Iterator[Receiver]:
    with Receiver(certificates, secrets=[SECRET]) as running:
        yield running


@pytest.fixture
async def make_sender(receiver: Receiver) -> AsyncIterator[MakeSender]:
    made: list[Sender] = []

    def make(policy: AddressPolicy = LOCAL, **settings: object) -> Sender:
        settings = {"ca_file": receiver.ca_file, "timeout_s": 5.0, **settings}
        made.append(Sender(policy, **settings))  # type: ignore[arg-type]  # by name
        return made[-1]

    yield make
    for sender in made:
        await sender.aclose()
