"""The public key is found in every usual certificate, and anything else is refused."""

import datetime as dt
import functools
import hashlib
from collections.abc import Callable
from typing import Any, Final

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.branches.public_key import PublicKeyError, spki_of, spki_of_pem

DAY: Final = dt.datetime(2026, 11, 23, tzinfo=dt.UTC)
KEYS: Final[dict[str, Callable[[], Any]]] = {
    "RSA": lambda: rsa.generate_private_key(65_537, 2_048),
    "P-256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "P-384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "Ed25519": ed25519.Ed25519PrivateKey.generate,
}


@functools.cache
def certificate(kind: str) -> x509.Certificate:
    key = KEYS[kind]()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"office, {kind}")])
    names = x509.SubjectAlternativeName([x509.DNSName("office.example")])
    draft = x509.CertificateBuilder(name, name, key.public_key(), 7, DAY, DAY + dt.timedelta(9))
    return draft.add_extension(names, critical=False).sign(key, None if kind == "Ed25519" else SHA256())


def expected(made: x509.Certificate) -> str:
    octets = made.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(octets).hexdigest()


@pytest.mark.parametrize("kind", KEYS)
def test_the_key_is_the_same_that_a_library_finds(kind: str) -> None:
    made = certificate(kind)
    assert spki_of(made.public_bytes(Encoding.DER)) == expected(made)
    assert spki_of_pem(made.public_bytes(Encoding.PEM)) == expected(made)


def test_a_certificate_inside_another_one_does_not_count() -> None:
    inner = certificate("RSA").public_bytes(Encoding.PEM)
    comment = element(0x30, KEY, b"\x04\x82" + len(inner).to_bytes(2, "big") + inner, long=True)
    made = element(0x30, element(0x30, *BEFORE, KEY, comment, long=True), SEQUENCE, long=True)
    assert spki_of(made) == hashlib.sha256(KEY).hexdigest()


def test_of_a_file_with_a_private_key_and_a_chain_the_first_certificate_counts() -> None:
    first, second = (certificate(kind).public_bytes(Encoding.PEM) for kind in ("RSA", "P-256"))
    key = b"-----BEGIN PRIVATE KEY-----\nMAo=\n-----END PRIVATE KEY-----\n"
    assert spki_of_pem(key + b"a note\n" + first + second) == expected(certificate("RSA"))


def element(tag: int, *contents: bytes, long: bool = False) -> bytes:
    joined = b"".join(contents)
    length = b"\x82" + len(joined).to_bytes(2, "big") if long else bytes((len(joined),))
    return bytes((tag,)) + length + joined


SEQUENCE: Final = element(0x30)
BEFORE: Final = (element(0x02, b"\x07"), SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE)
KEY: Final = element(0x30, b"key")


def test_a_certificate_of_version_1_does_not_state_its_version() -> None:
    for version in ((), (element(0xA0, b"\x02\x01\x02"),)):
        made = element(0x30, element(0x30, *version, *BEFORE, KEY, SEQUENCE), SEQUENCE)
        assert spki_of(made) == hashlib.sha256(KEY).hexdigest()


@pytest.mark.parametrize(
    ("octets", "why"),
    [
        (b"", "an element with tag 0x30 is missing"),
        (b"\x30", "it ends too early"),
        (b"\x30\x81", "it ends too early"),
        (b"\x30\x05abc", "it ends too early"),
        (b"\x30\x80abc\0\0", "a length is not valid"),
        (b"\x30\x85\0\0\0\0\1a", "a length is not valid"),
        (b"\x30\x84\xff\xff\xff\xff", "it ends too early"),
        (element(0x30, element(0x30, *BEFORE, KEY)) + b"x", "something follows it"),
        (element(0x30, element(0x30, *BEFORE[1:], KEY)), "an element with tag 0x02 is missing"),
        (element(0x30, element(0x30, *BEFORE)), "an element with tag 0x30 is missing"),
        (b"-----BEGIN CERTIFICATE-----\nMAo=\n-----END CERTIFICATE-----", "tag 0x30 is missing"),
    ],
)
def test_what_is_not_a_certificate_is_refused_with_the_reason(octets: bytes, why: str) -> None:
    with pytest.raises(PublicKeyError, match=f"^the certificate is not readable: .*{why}"):
        spki_of(octets)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "there is no certificate in PEM"),
        (element(0x30, element(0x30, *BEFORE, KEY)), "there is no certificate in PEM"),
        (b"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----", "Invalid base64"),
        (b"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----", "tag 0x30 is missing"),
    ],
)
def test_a_file_without_a_readable_certificate_is_refused_with_the_reason(text: bytes, why: str) -> None:
    with pytest.raises(PublicKeyError, match=f"^the certificate is not readable: .*{why}"):
        spki_of_pem(text)


@given(st.binary() | st.binary().map(lambda octets: b"\x30\x84\0\0" + octets))
def test_garbage_is_refused(octets: bytes) -> None:
    with pytest.raises(PublicKeyError):
        spki_of(octets)


@given(st.sampled_from(sorted(KEYS)), st.data())
def test_a_damaged_certificate_gives_a_hash_or_is_refused(kind: str, data: st.DataObject) -> None:
    octets = bytearray(certificate(kind).public_bytes(Encoding.DER))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(octets) - 1))
        octets[at] = data.draw(st.integers(0, 255))
    cut = bytes(octets[: data.draw(st.integers(0, len(octets)))])
    for damaged in (bytes(octets), cut):
        try:
            found = spki_of(damaged)
        except PublicKeyError:
            continue
        assert len(found) == 64
