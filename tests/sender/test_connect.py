"""Connect to the host of a webhook: names, all of their addresses, IPv6, and the system's resolver."""

import asyncio
import errno
import socket
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from daemon.core.webhooks.delivery import DeliveryError
from daemon.sender import connect
from daemon.sender.address_guard import PUBLIC_ONLY, AddressPolicy
from daemon.sender.connect import SystemResolver, connect_socket
from tests.fakes.receiver import Receiver
from tests.fakes.signed_webhook import BODY, SECRET, MakeSender, post, summary


class FakeNames:
    """A resolver from a table of successive answers; the last one stays."""

    def __init__(self, *answers: Sequence[str] | OSError) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, OSError):
            raise answer
        return answer


class FakeInternet:
    """A connector that sends every address to one loopback port, and records which were asked for."""

    def __init__(self, port: int, failures: dict[str, OSError | None] | None = None) -> None:
        self._port = port
        self._failures = failures or {}
        self.connected: list[tuple[str, int]] = []

    async def __call__(self, address: str, port: int) -> socket.socket:
        self.connected.append((address, port))
        if address in self._failures:
            failure = self._failures[address]
            if failure is None:
                await asyncio.Event().wait()
            else:
                raise failure
        return await connect_socket("127.0.0.1", self._port)


async def test_a_name_that_changes_its_mind_is_refused_and_never_connected_to(
    receiver: Receiver, make_sender: MakeSender
) -> None:
    names = FakeNames(["8.8.8.8"], ["127.0.0.1"])
    internet = FakeInternet(receiver.port)
    sender = make_sender(PUBLIC_ONLY, resolver=names, connector=internet)
    url = "https://localhost.receiver.test/hook"
    # Public at first, and pinned: the certificate check fails here, not the guard.
    assert summary(await post(sender, url)) == (None, DeliveryError.TLS_ERROR, True)
    outcome = await post(sender, url)
    assert summary(outcome) == (None, DeliveryError.BLOCKED_ADDRESS, False)
    assert "not on the public internet" in (outcome.error_message or "")
    assert names.asked == ["localhost.receiver.test"] * 2
    assert internet.connected == [("8.8.8.8", 443)]
    assert receiver.requests == []


async def test_a_warm_connection_stays_with_its_checked_address(tmp_path: Path, make_sender: MakeSender) -> None:
    with Receiver(tmp_path, names=("shop.test",)) as shop:
        names = FakeNames(["8.8.8.8"], ["127.0.0.1"])
        internet = FakeInternet(shop.port)
        sender = make_sender(PUBLIC_ONLY, ca_file=shop.ca_file, resolver=names, connector=internet)
        assert summary(await post(sender, "https://shop.test/a")) == (200, None, True)
        assert summary(await post(sender, "https://shop.test/b")) == (200, None, True)
        assert names.asked == ["shop.test"]
        assert internet.connected == [("8.8.8.8", 443)]
        shop.close_connections()
        outcome = await post(sender, "https://shop.test/c")
        assert summary(outcome) == (None, DeliveryError.BLOCKED_ADDRESS, False)
        assert [request.path for request in shop.requests] == ["/a", "/b"]
        assert [request.headers["host"] for request in shop.requests] == ["shop.test"] * 2


@pytest.mark.parametrize("addresses", [["8.8.8.8", "10.0.0.1"], ["10.0.0.1", "8.8.8.8"], ["8.8.8.8", "::1"]])
async def test_one_private_address_among_several_blocks_the_attempt(
    receiver: Receiver, make_sender: MakeSender, addresses: list[str]
) -> None:
    internet = FakeInternet(receiver.port)
    sender = make_sender(PUBLIC_ONLY, resolver=FakeNames(addresses), connector=internet)
    outcome = await post(sender, "https://shop.test/")
    assert summary(outcome) == (None, DeliveryError.BLOCKED_ADDRESS, False)
    assert internet.connected == []


async def test_an_unknown_name_is_a_dns_error(make_sender: MakeSender) -> None:
    sender = make_sender(resolver=FakeNames(socket.gaierror(-2, "Name or service not known")))
    outcome = await post(sender, "https://nowhere.test/")
    assert summary(outcome) == (None, DeliveryError.DNS_ERROR, False)
    assert outcome.error_message == ("the address of nowhere.test could not be found (Name or service not known)")


async def test_a_hanging_look_up_is_a_dns_error(make_sender: MakeSender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "RESOLVE_S", 0.1)

    async def hang(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        raise AssertionError

    outcome = await post(make_sender(resolver=hang), "https://nowhere.test/")
    assert summary(outcome) == (None, DeliveryError.DNS_ERROR, False)
    assert outcome.error_message == "the look-up of nowhere.test took longer than 0.1 s"


async def test_a_closed_port_is_refused(make_sender: MakeSender) -> None:
    with socket.socket() as unheard:  # bound, so that no other program takes it; not listening
        unheard.bind(("127.0.0.1", 0))
        outcome = await post(make_sender(), f"https://localhost:{unheard.getsockname()[1]}/")
    assert summary(outcome) == (None, DeliveryError.CONNECTION_REFUSED, False)
    assert outcome.error_message == "localhost refused the connection"


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (OSError(errno.ENETUNREACH, "Network is unreachable"), DeliveryError.NETWORK_UNREACHABLE),
        (OSError(errno.EHOSTUNREACH, "No route to host"), DeliveryError.NETWORK_UNREACHABLE),
        (OSError(errno.EMFILE, "Too many open files"), DeliveryError.NETWORK_UNREACHABLE),
        (TimeoutError(errno.ETIMEDOUT, "timed out"), DeliveryError.TIMEOUT),
        (ConnectionResetError(), DeliveryError.CONNECTION_RESET),
        (ConnectionRefusedError(), DeliveryError.CONNECTION_REFUSED),
        (None, DeliveryError.TIMEOUT),
    ],
    ids=repr,
)
async def test_each_way_of_not_reaching_a_host(
    make_sender: MakeSender, failure: OSError | None, code: DeliveryError
) -> None:
    internet = FakeInternet(9, {"8.8.8.8": failure})
    sender = make_sender(resolver=FakeNames(["8.8.8.8"]), connector=internet, connect_timeout_s=0.1)
    assert summary(await post(sender, "https://shop.test/")) == (None, code, False)


@pytest.mark.parametrize("failure", [OSError(errno.ENETUNREACH, "no IPv6"), None], ids=repr)
async def test_the_next_address_is_tried_when_one_does_not_answer(
    receiver: Receiver, make_sender: MakeSender, failure: OSError | None
) -> None:
    internet = FakeInternet(receiver.port, {"2606:4700::1111": failure})
    sender = make_sender(resolver=FakeNames(["2606:4700::1111", "8.8.8.8"]), connector=internet, connect_timeout_s=0.4)
    outcome = await post(sender, f"https://localhost:{receiver.port}/")
    assert summary(outcome) == (200, None, True)
    assert [address for address, _ in internet.connected] == ["2606:4700::1111", "8.8.8.8"]


async def test_what_the_answering_address_said_is_told(make_sender: MakeSender) -> None:
    internet = FakeInternet(
        9, {"2606:4700::1111": OSError(errno.ENETUNREACH, "no IPv6"), "8.8.8.8": ConnectionRefusedError()}
    )
    names = FakeNames(["2606:4700::1111", "8.8.8.8"])
    outcome = await post(make_sender(resolver=names, connector=internet), "https://shop.test/")
    assert outcome.error_code is DeliveryError.CONNECTION_REFUSED


@pytest.fixture
def ipv6_receiver(certificates: Path) -> Iterator[Receiver]:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with Receiver(certificates, secrets=[SECRET], address="::1") as running:
        yield running


@pytest.mark.parametrize("host", ["[::1]", "[0:0:0:0:0:0:0:1]", "localhost"])
async def test_a_post_over_ipv6_arrives_signed_and_names_its_host(
    ipv6_receiver: Receiver, make_sender: MakeSender, host: str
) -> None:
    sender = make_sender(AddressPolicy.from_settings(["localhost", "::1"]))
    for _ in range(2):
        outcome = await post(sender, ipv6_receiver.url(host=host))
        assert summary(outcome) == (200, None, True)
    assert [request.verified for request in ipv6_receiver.requests] == [True, True]
    assert [request.body for request in ipv6_receiver.requests] == [BODY, BODY]
    assert ipv6_receiver.requests[0].headers["host"] == f"{host}:{ipv6_receiver.port}"
    assert ipv6_receiver.connections == 1


async def test_an_ipv6_address_that_the_certificate_does_not_name_is_refused(
    ipv6_receiver: Receiver, tmp_path: Path, make_sender: MakeSender
) -> None:
    assert ipv6_receiver.port, "there is IPv6"
    with Receiver(tmp_path, address="::1", names=("localhost", "127.0.0.1")) as wrong:
        sender = make_sender(AddressPolicy.from_settings(["::1"]), ca_file=wrong.ca_file)
        outcome = await post(sender, wrong.url(host="[::1]"))
    assert summary(outcome) == (None, DeliveryError.TLS_ERROR, True)
    assert wrong.requests == []


async def test_ipv6_loopback_is_not_dialled_unless_the_settings_say_so(
    ipv6_receiver: Receiver, make_sender: MakeSender
) -> None:
    outcome = await post(make_sender(PUBLIC_ONLY), ipv6_receiver.url(host="[::1]"))
    assert summary(outcome) == (None, DeliveryError.BLOCKED_ADDRESS, False)
    assert ipv6_receiver.connections == 0


async def test_localhost_and_addresses_are_never_looked_up(
    receiver: Receiver, make_sender: MakeSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_look_up(*_: object, **__: object) -> None:
        raise AssertionError("looked up")

    monkeypatch.setattr(socket, "getaddrinfo", no_look_up)
    sender = make_sender()
    for host in ("localhost", "127.0.0.1"):
        outcome = await post(sender, receiver.url(host=host))
        assert summary(outcome) == (200, None, True)


async def test_the_system_is_asked_once_for_all_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, go = [], threading.Event()

    def slow(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        go.wait(5)
        return [(2, 1, 6, "", ("8.8.8.8", port)), (2, 1, 6, "", ("8.8.8.8", port))]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    system = SystemResolver()
    waiting = [asyncio.create_task(system("shop.test", 443)) for _ in range(5)]
    others = [asyncio.create_task(system(f"{n}.test", 443)) for n in range(7)]
    await asyncio.sleep(0)
    with pytest.raises(OSError, match="too many look-ups"):
        await system("one-more.test", 443)
    go.set()
    assert await asyncio.gather(*waiting) == [("8.8.8.8",)] * 5
    await asyncio.gather(*others)
    assert sorted(asked) == [*(f"{n}.test" for n in range(7)), "shop.test"]
    assert await system("one-more.test", 443) == ("8.8.8.8",)


async def test_a_name_that_idna_cannot_carry_is_an_os_error() -> None:
    with pytest.raises(OSError, match="not a name"):
        await SystemResolver()("a" * 64 + ".test", 443)


async def test_the_system_resolver_passes_its_error_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(OSError, match="Temporary failure"):
        await SystemResolver()("shop.test", 443)


async def test_a_look_up_without_a_thread_fails_and_the_next_one_works(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    system = SystemResolver()
    with monkeypatch.context() as limited:
        limited.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(OSError, match="no thread for the look-up"):
            await system("127.0.0.1", 443)
    async with asyncio.timeout(10):
        assert await system("127.0.0.1", 443) == ("127.0.0.1",)
