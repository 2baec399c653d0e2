"""A branch knows its hub by the key of its certificate, and the hub knows a branch by its API key; over real TLS."""

import asyncio
import io
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from operator import methodcaller
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from daemon import wire
from daemon.core.branches.public_key import spki_of_pem
from daemon.loops.link import HubLinkLoop
from daemon.runtime import own_certificate
from daemon.runtime.config import Config, Http
from daemon.runtime.log import Log
from daemon.runtime.own_certificate import MachineNames
from daemon.sender.hub_client import HubClient, HubRefusalError, HubUnreachableError
from tests.fakes.api import FakeApi, running
from tests.fakes.receiver import Receiver
from tests.fakes.waiting import PATIENCE_S

NAMES = MachineNames("office", ("127.0.0.1",))
NOW_S = 1_795_420_800


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[FakeApi]:
    """A hub with the certificate of `momo daemon certificate create`."""
    home = tmp_path / "hub"
    home.mkdir()
    own_certificate.create(str(home), [], NAMES, NOW_S)
    file = own_certificate.server_file(str(home))
    config = replace(Config(), http=Http(tls_cert=file))
    async with running(home, config, tls=(file, "")) as made:
        assert (await made.local.post(wire.Path.LOCAL_HUB, json={})).status_code == 200
        yield made


@pytest.fixture
async def branch(tmp_path: Path) -> AsyncIterator[FakeApi]:
    async with running(tmp_path / "branch") as made:
        yield made


def address(hub: FakeApi) -> str:
    return f"https://{hub.listeners.http_address}"


async def word_of(hub: FakeApi) -> str:
    made = await hub.local.post(wire.Path.LOCAL_HUB_INVITES, json={"name": "kumasi"})
    return str(made.json()["data"]["word"])


async def join(branch: FakeApi, hub: FakeApi, word: str) -> dict[str, Any]:
    asked = {"url": address(hub), "word": word}
    return dict((await branch.local.post(wire.Path.LOCAL_BRANCH, json=asked)).json())


async def status(branch: FakeApi) -> dict[str, Any]:
    return dict((await branch.local.get(wire.Path.LOCAL_BRANCH)).json()["data"])


@asynccontextmanager
async def linked(branch: FakeApi) -> AsyncIterator[None]:
    """Run the branch's loop."""
    places = wire.places({"MOMO_HOME": str(branch.home)}, 0, "/tmp")
    task = asyncio.create_task(HubLinkLoop(branch.shop.env, places, Log(io.StringIO())).run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def shown(branch: FakeApi, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Wait until the status of the branch fits, and return it."""
    async with asyncio.timeout(PATIENCE_S):
        while not fits(found := await status(branch)):  # noqa: ASYNC110 -- as a person who looks again
            await asyncio.sleep(0.02)
        return found


async def test_a_branch_joins_a_hub_with_a_certificate_that_nobody_signed(hub: FakeApi, branch: FakeApi) -> None:
    word = await word_of(hub)
    pin = word.partition(".")[2]
    served = Path(hub.shop.env.config.http.tls_cert).read_bytes()
    assert spki_of_pem(served).startswith(pin)
    assert len(pin) == 16
    assert (await join(branch, hub, word))["data"]["joined"] is True
    async with linked(branch):
        await shown(branch, lambda found: found["heard_at"] is not None and found["behind"] == 0)
    # A new certificate for the same key changes nothing: the addresses of a hub change.
    own_certificate.create(str(hub.home), ["office.local"], NAMES, NOW_S)
    hub.listeners.reload_certificate()
    client = HubClient(address(hub), pin)
    with pytest.raises(HubRefusalError, match="does not take this branch's key"):
        await client.call(wire.Path.BRANCH_SYNC, {})
    await client.aclose()


async def test_a_branch_that_joins_again_takes_what_it_lacks_with_its_new_key(hub: FakeApi, branch: FakeApi) -> None:
    assert (await join(branch, hub, await word_of(hub)))["data"]["rows"] is None
    await branch.shop.request(2500)
    async with linked(branch):
        await shown(branch, lambda found: found["heard_at"] is not None and found["behind"] == 0)
    await branch.local.post(wire.Path.LOCAL_BRANCH_LEAVE, json={"force": True})
    # As a database that is older: it knows nothing of the time as a branch.
    for sql in ("DELETE FROM hub_left", "UPDATE transactions SET description = 'older'"):
        await branch.shop.env.store.write(methodcaller("run", sql))
    done = (await join(branch, hub, await word_of(hub)))["data"]
    assert (done["rows"]["transaction"], done["aside"]) == (1, [])
    assert await branch.shop.values("SELECT description FROM transactions") == [None]


async def test_a_server_with_another_key_is_refused_before_anything_is_sent(
    hub: FakeApi, branch: FakeApi, tmp_path: Path
) -> None:
    word = await word_of(hub)
    with Receiver(tmp_path / "stranger", names=("other.example",)) as stranger:
        asked = {"url": stranger.url("", "127.0.0.1"), "word": word}
        answer = await branch.local.post(wire.Path.LOCAL_BRANCH, json=asked)
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "HUB_REFUSED")
        assert "has another key than the hub" in answer.json()["error"]["message"]
        # Without a pin its certificate is checked as any other.
        asked["word"] = word.partition(".")[0]
        answer = await branch.local.post(wire.Path.LOCAL_BRANCH, json=asked)
        assert "certificate is not valid" in answer.json()["error"]["message"]
        # With the CA that signed it, but for another name.
        client = HubClient(asked["url"], "", ca_file=stranger.ca_file)
        with pytest.raises(HubUnreachableError, match="certificate is not valid"):
            await client.call(wire.Path.BRANCH_SYNC, {})
        await client.aclose()
        assert stranger.connections >= 2
        assert stranger.requests == []


async def test_a_branch_whose_hub_has_another_key_waits_and_says_why(hub: FakeApi, branch: FakeApi) -> None:
    await join(branch, hub, await word_of(hub))
    (pin,) = await branch.shop.values("SELECT spki FROM hub_link")

    async def expect(spki: str) -> None:
        await branch.shop.env.store.write(lambda tx: tx.run("UPDATE hub_link SET spki = :spki", {"spki": spki}))

    await expect("0" * 16)
    async with linked(branch):
        found = await shown(branch, lambda found: found["problem"] is not None)
        assert "has another key than the hub" in found["problem"]
        assert found["heard_at"] is None
        assert await hub.shop.values("SELECT last_heard_at FROM branches") == [None]
        await expect(pin)
        await shown(branch, lambda found: found["problem"] is None and found["behind"] == 0)


async def test_a_branch_with_a_revoked_key_waits_says_why_and_goes_on_with_a_new_one(
    hub: FakeApi, branch: FakeApi
) -> None:
    await join(branch, hub, await word_of(hub))
    (key_id,) = await hub.shop.values("SELECT key_id FROM branches")
    revoked = await hub.local.delete(f"/v1/keys/{key_id}")
    assert revoked.status_code == 200, revoked.text
    async with linked(branch):
        found = await shown(branch, lambda found: found["problem"] is not None)
        assert "does not take this branch's key" in found["problem"]
        assert await hub.shop.values("SELECT last_heard_at FROM branches") == [None]
        forced = await branch.local.post(wire.Path.LOCAL_BRANCH_LEAVE, json={"force": True})
        assert forced.status_code == 200
        assert (await join(branch, hub, await word_of(hub)))["data"]["joined"] is True
        await shown(branch, lambda found: found["problem"] is None and found["behind"] == 0)
