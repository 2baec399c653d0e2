"""Each trust has connections of its own, also to the same host and port: webhooks, a hub, a phone."""

import ssl
from collections.abc import AsyncIterator

import httpx
import pytest

from daemon.core.branches.public_key import spki_of_pem
from daemon.core.webhooks.delivery import DeliveryError
from daemon.sender.address_guard import PUBLIC_ONLY, AddressPolicy
from daemon.sender.connect import Dialer, SystemResolver, connect_socket
from daemon.sender.connection import ExchangeError, ExchangeTimeout
from daemon.sender.http_client import InboxError, post_again
from daemon.sender.hub_client import HubClient, HubUnreachableError
from daemon.sender.transport import Transport
from tests.fakes.receiver import Answer, Receiver
from tests.fakes.signed_webhook import MakeSender, post, summary

DONE = Answer(body=b'{"data": {}}')


@pytest.fixture
async def hub(receiver: Receiver) -> AsyncIterator[HubClient]:
    """A client that believes the receiver to be the hub, by its key alone, with a warm connection to it."""
    receiver.default = DONE
    pin = spki_of_pem((receiver.directory / "server.pem").read_bytes())[:16]
    client = HubClient(receiver.url(""), pin, "key_1")
    assert await client.call("/v1/branch/sync", {}) == {}
    assert await client.call("/v1/branch/sync", {}) == {}
    assert receiver.connections == 1
    yield client
    await client.aclose()


async def test_a_webhook_does_not_use_the_connection_of_the_hub_link(
    hub: HubClient, receiver: Receiver, make_sender: MakeSender
) -> None:
    """Neither past the address guard, nor past the check of the certificate."""
    outcome = await post(make_sender(PUBLIC_ONLY), receiver.url())
    assert summary(outcome) == (None, DeliveryError.BLOCKED_ADDRESS, False)
    outcome = await post(make_sender(ca_file=None), receiver.url())
    assert summary(outcome) == (None, DeliveryError.TLS_ERROR, True)
    assert len(receiver.requests) == 2, "both of the hub link"


async def test_the_hub_link_does_not_use_the_connection_of_a_webhook(
    receiver: Receiver, make_sender: MakeSender
) -> None:
    sender = make_sender()
    assert (await post(sender, receiver.url())).status_code == 200
    client = HubClient(receiver.url(""), "0" * 16, "key_1")
    with pytest.raises(HubUnreachableError, match="has another key than the hub"):
        await client.call("/v1/branch/sync", {})
    await client.aclose()
    assert (await post(sender, receiver.url())).status_code == 200
    assert [request.connection for request in receiver.requests] == [1, 1]


async def test_an_order_to_a_phone_does_not_use_the_connection_of_the_hub_link(
    hub: HubClient, receiver: Receiver
) -> None:
    with pytest.raises(InboxError, match="TLS with localhost failed"):
        await post_again(receiver.url(""), "user", "password", 0, 1)
    assert len(receiver.requests) == 2, "both of the hub link"


@pytest.mark.parametrize("scheme", ["http", "https", "ftp"])
async def test_a_transport_speaks_with_tls_or_without_and_never_both(scheme: str) -> None:
    """Otherwise a connection without TLS could be used for an https address of the same port."""
    dialer = Dialer(PUBLIC_ONLY, SystemResolver(), connect_socket, 1.0)
    for context, spoken in ((ssl.create_default_context(), "https"), (None, "http")):
        if scheme == spoken:
            continue
        request = httpx.Request("POST", f"{scheme}://shop.test:8443/", content=b"{}")
        with pytest.raises(ExchangeError, match=f"{scheme} is not spoken here") as caught:
            await Transport(dialer, context, 1000).handle_async_request(request)
        assert caught.value.code is DeliveryError.BLOCKED_ADDRESS


async def test_the_guard_is_asked_by_every_transport_also_below_httpx_s_client() -> None:
    dialer = Dialer(AddressPolicy(), SystemResolver(), connect_socket, 1.0)
    async with httpx.AsyncClient(transport=Transport(dialer, None, 1000)) as client:
        for host in ("127.0.0.1", "localhost", "[::1]", "169.254.169.254"):
            with pytest.raises(ExchangeError) as caught:
                await client.post(f"http://{host}:8080/", content=b"{}")
            assert caught.value.code is DeliveryError.BLOCKED_ADDRESS


def test_our_errors_are_errors_of_httpx() -> None:
    late = ExchangeTimeout("too late")
    assert isinstance(late, ExchangeError)
    assert isinstance(late, httpx.TimeoutException)
    assert isinstance(late, httpx.TransportError)
    assert (late.code, str(late)) == (DeliveryError.TIMEOUT, "too late")
