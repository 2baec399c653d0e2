"""Signatures, checked with the published test vector and with the packages that receivers use."""

import base64
import time

import pytest
import standardwebhooks
import stripe
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.ids import webhook_id
from daemon.core.webhooks.signing import make_secret, normalise_url, sign
from daemon.wire import EventKind, Mode
from tests.fakes.each import each

NEW = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
OLD = "whsec_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="
ID = "ocl_0123456789abcdefghijklmn"
BODY = b'{"webhook_id":"ocl_0123456789abcdefghijklmn","type":"transaction.forwarded","test":true}'
STAMP = 1767225600


def now() -> int:
    """Return the time as the packages that verify see it, when a test runs and not when it is collected."""
    return int(time.time())  # noqa: TID251 - they read the clock


def test_the_published_vector_is_signed_to_the_letter() -> None:
    assert sign([NEW, OLD], webhook_id=ID, timestamp=STAMP, body=BODY) == {
        "X-Svc-Signature": "t=1767225600,v1=7d0f1d4f475a5cab2c7c72622529aa917919b40a4417bf50be68ff352df468bd",
        "X-Svc-Signature-Previous": "t=1767225600,v1=46535d0e9f29217c7f09006c71b1352bcf177c9644d158ab3d822ec88a483e2f",
        "webhook-id": ID,
        "webhook-timestamp": "1767225600",
        "webhook-signature": "v1,2qmpga+KSOeS+WmZvBKLhtAPg/1FwSTo8/5ew7rjzGA= "
        "v1,6iMiz4IEWrT5mzMBhCaRIFhM3wrg2oy9XrxoiS12vH8=",
    }


def test_without_an_old_secret_there_is_no_previous_header() -> None:
    headers = sign([NEW], webhook_id=ID, timestamp=STAMP, body=BODY)
    assert list(headers) == ["X-Svc-Signature", "webhook-id", "webhook-timestamp", "webhook-signature"]


def test_two_old_secrets_share_the_previous_header_newest_first() -> None:
    older = make_secret(bytes(32))
    headers = sign([NEW, OLD, older], webhook_id=ID, timestamp=STAMP, body=BODY)
    only_older = sign([older], webhook_id=ID, timestamp=STAMP, body=BODY)
    assert headers["X-Svc-Signature-Previous"] == (
        "t=1767225600,v1=46535d0e9f29217c7f09006c71b1352bcf177c9644d158ab3d822ec88a483e2f,"
        + only_older["X-Svc-Signature"].partition(",")[2]
    )
    assert headers["webhook-signature"].split(" ")[2] == only_older["webhook-signature"]


@pytest.mark.parametrize("secret", [NEW, OLD])
def test_standardwebhooks_verifies_with_either_secret(secret: str) -> None:
    headers = sign([NEW, OLD], webhook_id=ID, timestamp=now(), body=BODY)
    assert standardwebhooks.Webhook(secret).verify(BODY, headers)["type"] == "transaction.forwarded"


def test_standardwebhooks_refuses_another_body() -> None:
    headers = sign([NEW], webhook_id=ID, timestamp=now(), body=BODY)
    with pytest.raises(standardwebhooks.webhooks.WebhookVerificationError):
        standardwebhooks.Webhook(NEW).verify(BODY + b" ", headers)


@pytest.mark.parametrize(("header", "secret"), [("X-Svc-Signature", NEW), ("X-Svc-Signature-Previous", OLD)])
def test_stripe_verifies_each_header_with_its_secret(header: str, secret: str) -> None:
    headers = sign([NEW, OLD], webhook_id=ID, timestamp=now(), body=BODY)
    assert stripe.WebhookSignature.verify_header(BODY.decode(), headers[header], secret, tolerance=300)


def test_stripe_refuses_the_other_secret() -> None:
    headers = sign([NEW, OLD], webhook_id=ID, timestamp=now(), body=BODY)
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.WebhookSignature.verify_header(BODY.decode(), headers["X-Svc-Signature"], OLD, 300)


@given(body=st.binary(max_size=200), entropy=st.binary(min_size=32, max_size=32))
def test_any_body_verifies_and_one_changed_bit_does_not(body: bytes, entropy: bytes) -> None:
    secret, stamp = make_secret(entropy), STAMP
    header = sign([secret], webhook_id=ID, timestamp=stamp, body=body)["X-Svc-Signature"]
    same = sign([secret], webhook_id=ID, timestamp=stamp, body=body)["X-Svc-Signature"]
    other = sign([secret], webhook_id=ID, timestamp=stamp, body=body + b"\0")["X-Svc-Signature"]
    assert header == same != other


def test_a_secret_is_its_entropy_in_base64() -> None:
    secret = make_secret(bytes(range(32)))
    assert secret == NEW
    assert base64.b64decode(secret[6:]) == bytes(range(32))


def test_no_secret_is_an_error() -> None:
    with pytest.raises(ValueError, match="no secret"):
        sign([], webhook_id=ID, timestamp=STAMP, body=BODY)


@pytest.mark.parametrize("secret", ["whsec_s*cret", "whsec_c2Vj*cmV0"])
def test_a_broken_secret_is_an_error_that_does_not_quote_it(secret: str) -> None:
    with pytest.raises(ValueError, match="not base64") as caught:
        sign([secret], webhook_id=ID, timestamp=STAMP, body=BODY)
    assert str(caught.value) == "a signing secret is not base64"
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("address", ["exec:/shop/paid", "spool:/var/spool/momo", "listen:b91f0c1e", "exec:/a/../b"])
def test_an_address_on_this_machine_has_one_spelling(address: str) -> None:
    assert normalise_url(address) == address


@pytest.mark.parametrize("address", ["http://a.example/", "exec:paid", "spool:paid", "listen", ""])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="not an https URL"):
        normalise_url(address)


def an_id(**changes: object) -> str:
    parts: dict[str, object] = {
        "account_key": b"k" * 32,
        "mode": Mode.LIVE,
        "normalised_url": "https://example.com/hook",
        "kind": EventKind.FORWARDED,
        "subject": "6f1c0d1e-0000-4000-8000-000000000000",
        "revision": 0,
    }
    return webhook_id(**(parts | changes))  # type: ignore[arg-type]  # by name


def test_the_webhook_id_is_fixed_for_ever() -> None:
    assert an_id() == "ocl_idjnhcdjg7n1wsoou08jxav9"


def test_the_webhook_id_differs_when_any_part_does() -> None:
    ids = [
        an_id(),
        an_id(account_key=b"j" * 32),
        an_id(mode=Mode.TEST),
        an_id(normalised_url="https://example.com/hook2"),
        an_id(kind=EventKind.COMPLETED),
        an_id(subject="x"),
        an_id(revision=1),
        # The same characters, cut elsewhere.
        an_id(normalised_url='https://example.com/hook","x', subject="y"),
        an_id(normalised_url="https://example.com/hook", subject='x","y'),
    ]
    assert len(set(ids)) == len(ids)


@given(subject=st.text(max_size=40), revision=st.integers(0, 1000))
def test_the_webhook_id_has_the_promised_form(subject: str, revision: int) -> None:
    made = an_id(subject=subject, revision=revision)
    assert len(made) == 28
    assert made.startswith("ocl_")
    assert set(made[4:]) <= set("0123456789abcdefghijklmnopqrstuvwxyz")


@each(
    ("url", "normal"),
    [
        ("https://Example.COM", "https://example.com/"),
        ("HTTPS://example.com:443/Hook", "https://example.com/Hook"),
        ("https://example.com:/hook", "https://example.com/hook"),
        ("https://example.com:08443/hook", "https://example.com:8443/hook"),
        ("https://example.com/hook/", "https://example.com/hook/"),
        ("https://example.com/a/./b/../c", "https://example.com/a/c"),
        ("https://example.com/a/..", "https://example.com/"),
        ("https://example.com/../../x/.", "https://example.com/x/"),
        ("https://example.com/%7euser/%2f%e2", "https://example.com/~user/%2F%E2"),
        ("https://example.com/h?B=%7e&a=../", "https://example.com/h?B=~&a=../"),
        ("https://example.com?x", "https://example.com/?x"),
        ("https://example.com/%2e%2e/x", "https://example.com/x"),
        ("https://[2001:DB8:0::1]:443/", "https://[2001:db8::1]/"),
        ("https://[2001:db8::1]:8443/", "https://[2001:db8::1]:8443/"),
    ],
)
def test_spellings_of_one_url_become_one(url: str, normal: str) -> None:
    assert normalise_url(url) == normal
    assert normalise_url(normal) == normal


@pytest.mark.parametrize("url", ["", "http://example.com/", "https://", "https://a/#b", "x"])
def test_what_is_no_https_url_has_no_normal_form(url: str) -> None:
    with pytest.raises(ValueError, match="not an https URL"):
        normalise_url(url)
