"""The public key in a certificate (RFC 5280 section 4.1), by which a branch knows its hub. Pure.

A reader of DER for this one field: an X.509 library would take 2 MB of a branch's memory.
"""

import binascii
import hashlib
import re
from typing import Final

from daemon.core.errors import MomoError

_PEM: Final = re.compile(rb"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
_INTEGER: Final = 0x02
_SEQUENCE: Final = 0x30
_VERSION: Final = 0xA0
_BEFORE_KEY: Final = (_INTEGER, _SEQUENCE, _SEQUENCE, _SEQUENCE, _SEQUENCE)
"""Tags of the serial number, the signature's algorithm, the issuer, the validity and the subject."""
_LONG: Final = 0x80
"""A length from this value on is stated in the octets that follow, of which there are so many more."""
_LENGTH_OCTETS_MAX: Final = 4


class PublicKeyError(MomoError):
    """These octets are not a certificate."""


def spki_of_pem(text: bytes) -> str:
    """Return `spki_of` of the first certificate in a PEM file.

    Never for octets of a peer: a certificate may contain another one as PEM.

    Raises:
        CertificateError: There is none, or it is not readable.
    """
    pem = _PEM.search(text)
    if pem is None:
        raise _unreadable("there is no certificate in PEM")
    try:
        certificate = binascii.a2b_base64(pem[1])
    except binascii.Error as error:
        raise _unreadable(str(error)) from error
    return spki_of(certificate)


def spki_of(certificate: bytes) -> str:
    """Return the SHA-256 of the public key (SubjectPublicKeyInfo) of a certificate in DER, hex.

    Raises:
        CertificateError: It is not a certificate.
    """
    fields, _, after = _first(certificate, _SEQUENCE)
    if after:
        raise _unreadable("something follows it")
    fields, _, _ = _first(fields, _SEQUENCE)
    if fields[:1] == bytes((_VERSION,)):
        _, _, fields = _first(fields, _VERSION)
    for tag in _BEFORE_KEY:
        _, _, fields = _first(fields, tag)
    _, key, _ = _first(fields, _SEQUENCE)
    return hashlib.sha256(key).hexdigest()


def _first(octets: bytes, tag: int) -> tuple[bytes, bytes, bytes]:
    """Return the contents of the first element, the whole element, and the octets behind it (X.690 section 8.1)."""
    if octets[:1] != bytes((tag,)):
        raise _unreadable(f"an element with tag {tag:#04x} is missing")
    length, begin = int.from_bytes(octets[1:2], "big"), 2
    if length >= _LONG:
        begin += length - _LONG
        if not 2 < begin <= 2 + _LENGTH_OCTETS_MAX:
            raise _unreadable("a length is not valid")
        length = int.from_bytes(octets[2:begin], "big")
    end = begin + length
    if len(octets) < end:
        raise _unreadable("it ends too early")
    return octets[begin:end], octets[:end], octets[end:]


def _unreadable(why: str) -> PublicKeyError:
    return PublicKeyError(f"the certificate is not readable: {why}")
