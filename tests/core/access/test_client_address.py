"""The address of a caller: named by a proxy on this machine, else the address of the connection."""

import pytest

from daemon.core.access.callers import caller_address

HEADER = b"x-forwarded-for"


@pytest.mark.parametrize(
    ("peer", "header", "told", "found"),
    [
        ("127.0.0.1", HEADER, b"10.9.9.9, 102.176.10.7", "102.176.10.7"),
        ("::1", HEADER, b"2001:DB8:0::7", "2001:db8::7"),
        ("127.0.0.1", HEADER, b"::ffff:102.176.10.7", "102.176.10.7"),
        ("102.176.10.7", HEADER, b"10.9.9.9", "102.176.10.7"),
        ("127.0.0.1", b"", b"10.9.9.9", "127.0.0.1"),
        ("127.0.0.1", HEADER, b"<script>", "127.0.0.1"),
        ("127.0.0.1", HEADER, b"", "127.0.0.1"),
    ],
)
def test_the_last_address_that_a_proxy_here_names_is_the_callers(
    peer: str, header: bytes, told: bytes, found: str
) -> None:
    assert caller_address(peer, [(b"host", b"x"), (HEADER, told)], header) == found


def test_a_proxy_that_names_nobody_leaves_its_own_address() -> None:
    assert caller_address("127.0.0.1", [(b"host", b"x")], HEADER) == "127.0.0.1"


def test_a_line_that_the_client_sent_itself_does_not_forge_the_address() -> None:
    headers = [(HEADER, b"10.9.9.9"), (HEADER, b"10.8.8.8, 102.176.10.7")]
    assert caller_address("127.0.0.1", headers, HEADER) == "102.176.10.7"
