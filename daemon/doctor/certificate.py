"""Checks of the certificate of `[http] tls_cert`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from daemon.core.limits import SECOND_US
from daemon.doctor.checks import Check, Status, System
from daemon.runtime import own_certificate
from daemon.runtime.config import Config
from daemon.runtime.config_file import ConfigError, load_config
from daemon.runtime.own_certificate import CertificateError, CertificateFacts

ID: Final = "http.certificate"
WARN_DAYS: Final = 14
"""Programs that renew certificates do so 30 days before the end, so something is wrong then."""
_DAY_S: Final = 86_400


def checks(system: System) -> Iterator[Check]:
    """Check the end of the certificate, and that it covers the names in use."""
    try:
        config = load_config(system.shop.config, system.environ)
    except ConfigError as error:
        yield Check(ID, Status.SKIP, f"the settings cannot be read: {error}", "momo config edit")
        return
    path = config.http.tls_cert
    if not path:
        yield Check(ID, Status.SKIP, "the API uses no certificate")
    elif path == own_certificate.server_file(system.shop.home):
        yield _own(system)
    else:
        yield _foreign(system, path, config)


def _own(system: System) -> Check:
    now_s = system.now_us // SECOND_US
    try:
        facts = own_certificate.read_facts(system.shop.home)
    except CertificateError as error:
        return Check(ID, Status.FAIL, str(error), "momo daemon certificate create")
    if facts is None:
        return Check(
            ID,
            Status.FAIL,
            "the facts of the certificate are missing",
            "momo daemon certificate create",
        )
    if now_s >= facts.ends_s:
        return Check(
            ID, Status.FAIL, f"it ended on {_day(facts.ends_s)}", "momo daemon certificate create"
        )
    if facts.ca_ends_s - now_s < own_certificate.CA_WARN_DAYS * _DAY_S:
        return Check(
            ID,
            Status.WARN,
            f"the shop's CA ends on {_day(facts.ca_ends_s)}: phones need a new one",
            "momo daemon certificate create --new-ca",
        )
    if why := own_certificate.due(facts, system.names(), now_s):
        return Check(
            ID, Status.WARN, f"{why}, and was not renewed", "momo daemon certificate create"
        )
    return Check(ID, Status.OK, _covers(facts))


def _covers(facts: CertificateFacts) -> str:
    return f"it covers {', '.join(facts.names)}, and is renewed before {_day(facts.ends_s)}"


def _foreign(system: System, path: str, config: Config) -> Check:
    from cryptography import x509  # noqa: PLC0415 -- only for this check

    try:
        found = x509.load_pem_x509_certificate(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        return Check(
            ID, Status.FAIL, f"{path} cannot be read: {error}", "momo config set http.tls_cert FILE"
        )
    ends_s, now_s = int(found.not_valid_after_utc.timestamp()), system.now_us // SECOND_US
    if now_s >= ends_s:
        return Check(ID, Status.FAIL, f"{path} ended on {_day(ends_s)}", "renew it")
    for host in _hosts(config):
        if not _is_covered(found, host):
            return Check(ID, Status.WARN, f"{path} does not cover {host}", f"renew it for {host}")
    if ends_s - now_s < WARN_DAYS * _DAY_S:
        return Check(ID, Status.WARN, f"{path} ends on {_day(ends_s)}", "renew it")
    return Check(ID, Status.OK, f"{path} is valid until {_day(ends_s)}")


def _hosts(config: Config) -> Iterator[str]:
    """Yield the hosts that the settings name; an address that stands for all addresses names none."""
    if host := urlsplit(config.http.public_base_url).hostname:
        yield host
    bound = config.http.bind.rpartition(":")[0].strip("[]")
    if bound and not _stands_for_all(bound) and not _is_loopback(bound):
        yield bound


def _stands_for_all(host: str) -> bool:
    return host in ("0.0.0.0", "::", "*")  # noqa: S104 -- compared, not bound


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_covered(certificate: Any, host: str) -> bool:
    from cryptography import x509  # noqa: PLC0415 -- only for this check

    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    try:
        return ip_address(host) in names.get_values_for_type(x509.IPAddress)
    except ValueError:
        pass
    domain = host.partition(".")[2]
    dns = [str(each).lower() for each in names.get_values_for_type(x509.DNSName)]
    return host in dns or f"*.{domain}" in dns


def _day(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d")
