"""X.509 of the shop's own CA: makes it, and signs server certificates with it. Works on PEM texts and opens no file.

It is imported when a certificate is made or exported: an idle daemon does without this library.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key


def new_authority(
    subject: str,
    domains: Iterable[str],
    networks: Iterable[IPv4Network | IPv6Network],
    begins: datetime,
    ends: datetime,
) -> bytes:
    """Return the key and the certificate of a new CA, which may sign for these domains and networks only."""
    key, name = ec.generate_private_key(ec.SECP256R1()), _name(subject)
    permitted: list[x509.GeneralName] = [x509.DNSName(each) for each in domains]
    permitted += [x509.IPAddress(each) for each in networks]
    built = (
        _builder(name, name, key, begins, ends)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.NameConstraints(permitted, None), critical=True)
    )
    return _pem(key) + bytes(built.sign(key, SHA256()).public_bytes(Encoding.PEM))


class Authority:
    """A CA.

    Attributes:
        domains: The names that it may sign for, with their subdomains.
        ends: Its end.
        fingerprint: The SHA-256 of its certificate, as phones show it (`AB:CD:...`).
    """

    def __init__(self, pem: bytes) -> None:
        """Read the key and the certificate of a CA.

        Raises:
            ValueError: They cannot be read.
        """
        key = load_pem_private_key(pem, None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("ca.pem was not made by momo")  # noqa: TRY004 -- a file with another content
        self._key, self._certificate = key, x509.load_pem_x509_certificate(pem)
        limits = self._certificate.extensions.get_extension_for_class(x509.NameConstraints).value
        permitted = limits.permitted_subtrees or ()
        self.domains = tuple(each.value for each in permitted if isinstance(each, x509.DNSName))
        self.ends = self._certificate.not_valid_after_utc
        digest = hashlib.sha256(self.certificate(der=True)).hexdigest().upper()
        self.fingerprint = ":".join(digest[at : at + 2] for at in range(0, 64, 2))

    def certificate(self, *, der: bool) -> bytes:
        """Return its certificate, without its key, as PEM or DER."""
        return self._certificate.public_bytes(Encoding.DER if der else Encoding.PEM)

    def issue(self, names: Sequence[str], begins: datetime, ends: datetime, old: bytes) -> bytes:
        """Return the key, the certificate for these names and addresses, and the certificate of the CA.

        The key is that of `old`, the file before, because branches of a hub know it by its key; a new one if it has none.
        """
        try:
            kept = load_pem_private_key(old, None)
        except ValueError:
            kept = None
        if not isinstance(kept, ec.EllipticCurvePrivateKey):
            kept = ec.generate_private_key(ec.SECP256R1())
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        built = (
            _builder(_name(names[0]), self._certificate.subject, kept, begins, ends)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([x509.OID_SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectAlternativeName(map(_general_name, names)), critical=False)
            .add_extension(authority, critical=False)
        )
        signed = built.sign(self._key, SHA256()).public_bytes(Encoding.PEM)
        return _pem(kept) + bytes(signed) + self.certificate(der=False)


def _builder(subject: Any, issuer: Any, key: Any, begins: datetime, ends: datetime) -> Any:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(text: str) -> x509.Name:
    # X.520 allows 64 characters; only the alternative names count.
    return x509.Name([x509.NameAttribute(x509.OID_COMMON_NAME, text[:64])])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, key_cert_sign=signs_certificates,
        crl_sign=signs_certificates, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
