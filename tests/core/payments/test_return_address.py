"""Allowed return addresses of the checkout page."""

from daemon.core.payments.checkout import may_return_to
from tests.fakes.each import each


@each(
    "url",
    [
        "https://shop.example",
        "HTTPS://Shop.example:8443/thanks?a=1#x",
        "http://localhost:5000/thanks",
        "http://127.0.0.1:5000",
        "http://192.168.1.7/x",
        "http://[::1]:5000/",
        "http://till",
        "http://till.local/x",
        "http://shop.localhost",
    ],
)
def test_https_and_within_the_shop_s_own_network_http(url: str) -> None:
    assert may_return_to(url)


@each(
    "url",
    [
        "http://shop.example/",
        "http://8.8.8.8/",
        "http://[2606:4700::1]/",
        "http://localhost.shop.example",
        "http://192.168.1.7.shop.example",
        "https://user@shop.example",
        "https://",
        "https://[:::]/",
        "javascript:alert(1)",
        "//shop.example",
        "shop.example",
        "",
    ],
)
def test_anything_else_is_refused(url: str) -> None:
    assert not may_return_to(url)
