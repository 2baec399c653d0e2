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
import json
import os
import re
import socket
import struct
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Any, Final, TypeAlias

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
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            with contextlib.suppress(OSError):  # an interface without an IPv4 address
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
                found.append(socket.inet_ntoa(answer[20:24]))
    kept = sorted({each for each in found if not IPv4Address(each).is_loopback}, key=IPv4Address)
    return MachineNames(host if _LABEL.fullmatch(host) else "", tuple(kept))


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
_DNS: Final = re.compile(r"(?=.{1,253}\Z)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
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

    Phones have to trust a new CA. `given` are more names and addresses than the machine's own; none keeps those of
    before.

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
            from daemon.runtime.certificate_authority import new_authority  # noqa: PLC0415 -- not on the idle path

            made = datetime.fromtimestamp(now_s, UTC)
            begins = made - timedelta(days=SKEW_DAYS)
            ends, domains = begins + timedelta(days=CA_DAYS), (*PRIVATE_DOMAINS, *more)
            # The date distinguishes two CAs of one shop in a phone's list.
            subject = f"momo CA of {made:%Y-%m-%d}"
            pem = new_authority(subject, domains, PRIVATE_NETWORKS, begins, ends)
            _write(folder / "ca.pem", pem)
        return _issue(folder, asked, machine, now_s)


def renew_if_due(home: str, machine: MachineNames, now_s: int) -> str:
    """Renew the server certificate if it does not cover the machine's addresses, or ends soon; return why, else "".

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
    from daemon.runtime.certificate_authority import Authority  # noqa: PLC0415 -- not on the idle path

    with _as_certificate_error():
        return Authority((Path(home) / FOLDER / "ca.pem").read_bytes()).certificate(der=der)


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


def _issue(folder: Path, given: tuple[str, ...], machine: MachineNames, now_s: int) -> CertificateFacts:
    """Write a new server certificate and its facts."""
    from daemon.runtime.certificate_authority import Authority  # noqa: PLC0415 -- not on the idle path

    ca = Authority((folder / "ca.pem").read_bytes())
    for name in given:
        if not _may_sign(ca.domains, name):
            raise NameRefused(
                f"the shop's CA may not sign {name}: a new CA is needed, which every phone must install "
                f"(momo daemon certificate create --new-ca {name})"
            )
    names = tuple(dict.fromkeys([*given, *_wanted(machine, ca.domains), *LOCAL]))
    if len(names) > NAMES_MAX:
        raise NameRefused(f"a certificate has at most {NAMES_MAX} names, not {len(names)}")
    begins = datetime.fromtimestamp(now_s, UTC) - timedelta(days=SKEW_DAYS)
    ends = min(begins + timedelta(days=LEAF_DAYS), ca.ends)
    server = folder / "server.pem"
    old = server.read_bytes() if server.exists() else b""
    _write(server, ca.issue(names, begins, ends, old))
    begins_s, ends_s, ca_ends_s = (int(each.timestamp()) for each in (begins, ends, ca.ends))
    facts = CertificateFacts(given, names, begins_s, ends_s, ca.fingerprint, ca_ends_s, ca.domains)
    _write(folder / "certificate.json", json.dumps(asdict(facts)).encode())
    return facts


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
        raise CertificateError(f"{error.filename} is missing: momo daemon certificate create") from error
    except (OSError, ValueError) as error:
        raise CertificateError(f"the certificate cannot be made or read: {error}") from error
