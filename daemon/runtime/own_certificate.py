"""The shop's own certificate authority (CA), and the server certificate that it signs for `[http] tls_cert`.

Phones trust the CA once, and the server certificate changes with the machine's address. In the folder `tls` of the shop:
`ca.pem` (key and certificate of the CA), `server.pem` (key, certificate, CA certificate), both with mode 0600, and
`certificate.json` with the facts of the server certificate, so that the daemon need not load a cryptography library
every minute. The CA is limited to private names and addresses (RFC 5280, section 4.2.1.10), so a stolen key is of no use
for a site on the internet.

The names and addresses under which other devices of the shop's network reach this machine.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import socket
import struct
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict

from daemon.core.errors import MomoError
from daemon.runtime.files import sync

_SIOCGIFADDR: Final = 0x8915
"""ioctl(2) that returns the IPv4 address of an interface (netdevice(7))."""
_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class MachineNames(Struct, frozen=True):
    """Names and addresses of this machine in the local network.

    `host` is its name without a domain, empty if it has none that DNS allows. `addresses` are its IPv4 addresses without
    loopback, sorted. IPv6 addresses are left out: most change every day, and a phone uses the IPv4 address as typed.
    """

    host: str
    addresses: tuple[str, ...]


def machine_names() -> MachineNames:
    """Return the present names of this machine."""
    host = socket.gethostname().partition(".")[0].lower()
    found = _interface_addresses() if sys.platform == "linux" else _route_address()
    kept = sorted({each for each in found if not IPv4Address(each).is_loopback}, key=IPv4Address)
    return MachineNames(host if _LABEL.fullmatch(host) else "", tuple(kept))


def _interface_addresses() -> list[str]:
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            with contextlib.suppress(OSError):  # an interface without an IPv4 address
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
                found.append(socket.inet_ntoa(answer[20:24]))
    return found


def _route_address() -> list[str]:
    """Return the address of the default route. Connecting a UDP socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))
        return [str(probe.getsockname()[0])]
    return []


if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, GeneralName

FOLDER: Final = "tls"
CA_DAYS: Final = 3653
LEAF_DAYS: Final = 397
"""The longest life that browsers accept (CA/Browser Forum, section 6.3.2)."""
RENEW_DAYS: Final = 30
"""Before its end the server certificate is renewed."""
CA_WARN_DAYS: Final = 180
SKEW_DAYS: Final = 1
"""A certificate begins earlier than now: clocks of phones are wrong by hours."""
NAMES_MAX: Final = 50
PRIVATE_DOMAINS: Final = ("local", "lan", "home", "home.arpa", "internal", "localhost")
PRIVATE_NETWORKS: Final = tuple(
    ip_network(each)
    for each in (
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10", "127.0.0.0/8",
        "fc00::/7", "fe80::/10", "::1/128",
    )
)  # fmt: skip
LOCAL: Final = ("localhost", "127.0.0.1", "::1")
_DNS: Final = re.compile(
    r"(?=.{1,253}\Z)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*"
)
_Address: TypeAlias = IPv4Address | IPv6Address


class CertificateError(MomoError):
    """The certificate cannot be made or read; the text says why."""


class NameRefused(CertificateError):
    """A name or address cannot be in the certificate; the text says why."""


class CertificateFacts(Struct, frozen=True):
    """Facts of the server certificate.

    `given` are the names that were asked for, `names` all names and addresses that it covers. The times are seconds
    since 1970. `ca_fingerprint` is the SHA-256 of the CA certificate, as phones show it (`AB:CD:...`); `ca_ends_s` is
    the end of the CA, and `domains` are the names that it may sign for, with their subdomains.
    """

    given: tuple[str, ...]
    names: tuple[str, ...]
    begins_s: int
    ends_s: int
    ca_fingerprint: str
    ca_ends_s: int
    domains: tuple[str, ...]


def server_file(home: str) -> str:
    """Return the path for `[http] tls_cert`."""
    return f"{home}/{FOLDER}/server.pem"


def read_facts(home: str) -> CertificateFacts | None:
    """Return the facts of the shop's own certificate, None if there is none.

    Raises:
        CertificateError: The file cannot be read.
    """
    path = Path(home) / FOLDER / "certificate.json"
    try:
        found = json.loads(path.read_bytes())
        lists = {name: tuple(map(str, found[name])) for name in ("given", "names", "domains")}
        return CertificateFacts(**{**found, **lists})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CertificateError(f"{path} cannot be read: {error}") from error


def create(
    home: str, given: Iterable[str], machine: MachineNames, now_s: int, *, new_ca: bool = False
) -> CertificateFacts:
    """Make the CA if there is none, or a new one with `new_ca`, and a server certificate.

    Args:
        home: The folder of the shop.
        given: More names and addresses than the machine's own; none keeps those of before.
        machine: The machine's own names.
        now_s: Seconds since 1970.
        new_ca: Replace an existing CA; phones have to trust the new one.

    Raises:
        NameRefused: A name is not private, or the existing CA is not allowed to sign it.
        CertificateError: A file cannot be read or written.
    """
    old = read_facts(home)
    asked = tuple(dict.fromkeys(_checked(name) for name in given)) or (old.given if old else ())
    with _as_certificate_error():
        folder = Path(home) / FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
        if new_ca or not (folder / "ca.pem").exists():
            own = [name for name in (*asked, machine.host) if name and _address(name) is None]
            more = [name for name in dict.fromkeys(own) if not _may_sign(PRIVATE_DOMAINS, name)]
            _write(folder / "ca.pem", _new_ca((*PRIVATE_DOMAINS, *more), now_s))
        return _issue(folder, asked, machine, now_s)


def renew_if_due(home: str, machine: MachineNames, now_s: int) -> str:
    """Renew the server certificate if it does not cover the machine's addresses, or ends soon.

    Returns:
        Why it was renewed, empty if it was not.

    Raises:
        CertificateError: A file cannot be read or written.
    """
    facts = read_facts(home)
    if facts is None or not (why := due(facts, machine, now_s)):
        return ""
    with _as_certificate_error():
        _issue(Path(home) / FOLDER, facts.given, machine, now_s)
    return why


def due(facts: CertificateFacts, machine: MachineNames, now_s: int) -> str:
    """Return why the certificate must be renewed now, empty if it need not be."""
    missing = [each for each in _wanted(machine, facts.domains) if each not in facts.names]
    if missing:
        return f"it does not cover {', '.join(missing)}"
    if now_s >= facts.ends_s - RENEW_DAYS * 86_400 and facts.ends_s < facts.ca_ends_s:
        return "it ends soon"
    return "it begins in the future" if now_s < facts.begins_s else ""


def ca_certificate(home: str, *, der: bool = False) -> bytes:
    """Return the certificate of the CA, without its key, as PEM or DER.

    Raises:
        CertificateError: There is none, or it cannot be read.
    """
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415 -- not on the idle path

    with _as_certificate_error():
        _, certificate = _read_ca(Path(home) / FOLDER)
        return certificate.public_bytes(Encoding.DER if der else Encoding.PEM)


def as_json(facts: CertificateFacts, home: str) -> dict[str, Any]:
    """Return the facts as the CLI shows them."""
    return {
        **asdict(facts),
        "begins_at": _iso(facts.begins_s),
        "ends_at": _iso(facts.ends_s),
        "ca_ends_at": _iso(facts.ca_ends_s),
        "path": server_file(home),
    }


def _iso(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _checked(name: str) -> str:
    """Return a name in its one form: an address as the library writes it, a DNS name in lower case."""
    text = name.strip().strip("[]").lower().rstrip(".")
    address = _address(text)
    if address is not None:
        if not _is_private(address):
            raise NameRefused(
                f"{name} is a public address: use a certificate of a public authority for it (docs/operators/https.md)"
            )
        return str(address)
    if not _DNS.fullmatch(text):
        raise NameRefused(f"{name!r} is neither a name such as shop.lan nor an IP address")
    return text


def _address(text: str) -> _Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _is_private(address: _Address) -> bool:
    return any(address in network for network in PRIVATE_NETWORKS)


def _may_sign(domains: tuple[str, ...], name: str) -> bool:
    address = _address(name)
    if address is not None:
        return _is_private(address)
    return any(name == domain or name.endswith(f".{domain}") for domain in domains)


def _wanted(machine: MachineNames, domains: tuple[str, ...]) -> list[str]:
    """Return the machine's own names that the CA may sign."""
    hosts = [machine.host, f"{machine.host}.local"] if machine.host else []
    return [name for name in (*hosts, *machine.addresses) if _may_sign(domains, name)]


def _new_ca(domains: tuple[str, ...], now_s: int) -> bytes:
    from cryptography import x509  # noqa: PLC0415 -- not on the idle path
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 -- the same

    key = ec.generate_private_key(ec.SECP256R1())
    begins = datetime.fromtimestamp(now_s, UTC) - timedelta(days=SKEW_DAYS)
    # The date distinguishes two CAs of one shop in a phone's list.
    name = _subject(f"momo CA of {begins + timedelta(days=SKEW_DAYS):%Y-%m-%d}")
    permitted: list[GeneralName] = [x509.DNSName(each) for each in domains]
    permitted += [x509.IPAddress(each) for each in PRIVATE_NETWORKS]
    built = (
        _builder(name, name, key, begins, begins + timedelta(days=CA_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.NameConstraints(permitted, None), critical=True)
    )
    return _key_pem(key) + _pem(_sign(built, key))


def _issue(
    folder: Path, given: tuple[str, ...], machine: MachineNames, now_s: int
) -> CertificateFacts:
    """Write a new server certificate and its facts."""
    from cryptography import x509  # noqa: PLC0415 -- not on the idle path
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 -- the same

    ca_key, ca = _read_ca(folder)
    domains = _permitted_domains(ca)
    for name in given:
        if not _may_sign(domains, name):
            raise NameRefused(
                f"the shop's CA may not sign {name}: a new CA is needed, which every phone must install "
                f"(momo daemon certificate create --new-ca {name})"
            )
    names = list(dict.fromkeys([*given, *_wanted(machine, domains), *LOCAL]))
    if len(names) > NAMES_MAX:
        raise NameRefused(f"a certificate has at most {NAMES_MAX} names, not {len(names)}")
    begins = datetime.fromtimestamp(now_s, UTC) - timedelta(days=SKEW_DAYS)
    ends = min(begins + timedelta(days=LEAF_DAYS), ca.not_valid_after_utc)
    # The key stays: branches of a hub know it by its key.
    key = _kept_key(folder) or ec.generate_private_key(ec.SECP256R1())
    alternative = x509.SubjectAlternativeName([_general_name(name) for name in names])
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    built = (
        _builder(_subject(names[0]), ca.subject, key, begins, ends)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([x509.OID_SERVER_AUTH]), critical=False)
        .add_extension(alternative, critical=False)
        .add_extension(authority, critical=False)
    )
    _write(folder / "server.pem", _key_pem(key) + _pem(_sign(built, ca_key)) + _pem(ca))
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415 -- not on the idle path

    digest = hashlib.sha256(ca.public_bytes(Encoding.DER)).hexdigest().upper()
    facts = CertificateFacts(
        given, tuple(names), int(begins.timestamp()), int(ends.timestamp()),
        ":".join(digest[at : at + 2] for at in range(0, 64, 2)),
        int(ca.not_valid_after_utc.timestamp()), domains,
    )  # fmt: skip
    _write(folder / "certificate.json", json.dumps(asdict(facts)).encode())
    return facts


def _kept_key(folder: Path) -> "EllipticCurvePrivateKey | None":
    """Return the key of the server certificate before; None if there is none."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 -- not on the idle path
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 -- the same

    try:
        key = serialization.load_pem_private_key((folder / "server.pem").read_bytes(), None)
    except (OSError, ValueError):
        return None
    return key if isinstance(key, ec.EllipticCurvePrivateKey) else None


def _read_ca(folder: Path) -> "tuple[EllipticCurvePrivateKey, Certificate]":
    from cryptography import x509  # noqa: PLC0415 -- not on the idle path
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 -- the same
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415 -- the same

    text = (folder / "ca.pem").read_bytes()
    key = load_pem_private_key(text, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise CertificateError(f"{folder}/ca.pem was not made by momo")
    return key, x509.load_pem_x509_certificate(text)


def _permitted_domains(ca: "Certificate") -> tuple[str, ...]:
    from cryptography import x509  # noqa: PLC0415 -- not on the idle path

    permitted = ca.extensions.get_extension_for_class(x509.NameConstraints).value.permitted_subtrees
    return tuple(each.value for each in permitted or () if isinstance(each, x509.DNSName))


def _builder(subject: Any, issuer: Any, key: Any, begins: datetime, ends: datetime) -> Any:
    from cryptography import x509  # noqa: PLC0415 -- not on the idle path

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


def _sign(builder: Any, key: Any) -> "Certificate":
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 -- not on the idle path

    signed: Certificate = builder.sign(key, SHA256())
    return signed


def _subject(text: str) -> Any:
    from cryptography import x509  # noqa: PLC0415 -- not on the idle path

    # X.520 allows 64 characters; only the alternative names count.
    return x509.Name([x509.NameAttribute(x509.OID_COMMON_NAME, text[:64])])


def _usage(*, signs_certificates: bool) -> Any:
    from cryptography import x509  # noqa: PLC0415 -- not on the idle path

    return x509.KeyUsage(
        digital_signature=not signs_certificates, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, key_cert_sign=signs_certificates,
        crl_sign=signs_certificates, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _general_name(name: str) -> "GeneralName":
    from cryptography import x509  # noqa: PLC0415 -- not on the idle path

    address = _address(name)
    return x509.DNSName(name) if address is None else x509.IPAddress(address)


def _key_pem(key: Any) -> bytes:
    from cryptography.hazmat.primitives import serialization as form  # noqa: PLC0415 -- not on the idle path

    text: bytes = key.private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    )
    return text


def _pem(certificate: "Certificate") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415 -- not on the idle path

    return certificate.public_bytes(Encoding.PEM)


def _write(path: Path, text: bytes) -> None:
    """Write a file of mode 0600 atomically and durably."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    draft.unlink(missing_ok=True)
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(path)
    sync(path.parent)


@contextlib.contextmanager
def _as_certificate_error() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise CertificateError(
            f"{error.filename} is missing: momo daemon certificate create"
        ) from error
    except (OSError, ValueError) as error:
        raise CertificateError(f"the certificate cannot be made or read: {error}") from error
