"""The machine and the shop's files, in five areas of the doctor.

`disk`: enough free space for payments. `permissions`: only the owner may read the shop's files. `keyring`: the master key is
available and opens the shop's secrets. `clock`: the machine's time is right, and a program keeps it right. `http`: the certificate
of `[http] tls_cert`.
"""

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from daemon.core.limits import SECOND_US
from daemon.core.upkeep.clock_check import EARLIEST_US
from daemon.core.upkeep.self_check import LOW_BYTES, TIGHT_BYTES
from daemon.doctor.checks import (
    Check,
    Status,
    System,
    checks_or_default,
    chmod,
    failed,
    passed,
    settings_or_default,
    skipped,
    too_open,
    warned,
    with_database,
)
from daemon.open_shop import PASSED, home_mode
from daemon.runtime import own_certificate
from daemon.runtime.config import Config
from daemon.runtime.config_file import ConfigError, is_inside, load_config
from daemon.runtime.files import other_writers
from daemon.runtime.locks import running
from daemon.runtime.own_certificate import CertificateError
from daemon.runtime.secrets import CREDENTIALS, SecretsElsewhere, SecretsLocked, SecretsUnsafe, Vault
from daemon.store import shop
from daemon.store.engine import Reader
from daemon.store.upkeep import inspect
from daemon.store.webhooks.endpoints import SIGNING_PURPOSE as PURPOSE
from parsers.times import render


def disk_checks(system: System) -> Iterator[Check]:
    """Check the disk of the shop."""
    folder = Path(system.shop.home)
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        mount = folder
        while not mount.is_mount():
            mount = mount.parent
        yield failed("disk.writable", f"the disk of {folder} is read-only, as the kernel makes it after a disk error: nothing can be stored",
            f"read `dmesg`; check the disk; then: sudo mount -o remount,rw {mount}")  # fmt: skip
    free = system.free(folder)
    text = f"{free / 1e6:,.0f} MB free at {system.shop.home}"
    if free < TIGHT_BYTES:
        yield failed("disk.space", f"{text}: on a full disk nothing can be stored, and SMS stay on the SIMs",
            "free some space; momo data prune and momo backup prune remove old data")  # fmt: skip
    elif free < LOW_BYTES:
        yield warned("disk.space", text, "free some space; momo backup prune")
    else:
        yield passed("disk.space", text)


def permission_checks(system: System) -> Iterator[Check]:
    """Check the folders, the database and the key."""
    places = system.shop
    home = home_mode(places, settings_or_default(system))
    wanted = [(Path(places.home), home), (Path(places.master_key), 0o600)]
    if home == PASSED:
        wanted.append((Path(places.config), 0o600))
    wanted += [(Path(f"{places.database}{end}"), 0o600) for end in ("", "-wal", "-shm")]
    wanted += [(Path(places.home) / "backups", 0o700), (Path(places.log), 0o700)]
    known = [(path, mode, path.stat()) for path, mode in wanted if path.exists()]
    if not known:
        yield skipped("permissions.private", "there are no files yet", "momo setup")
        return
    readable = (
        too_open("permissions.private", path, how="read", now=stat.S_IMODE(found.st_mode), wanted=mode)
        for path, mode, found in known
        if stat.S_IMODE(found.st_mode) & 0o077 & ~mode
    )
    yield from checks_or_default(readable, passed("permissions.private", "only their owner may read the shop's files"))
    strange = (
        failed("permissions.owner", f"{path} belongs to another user (uid {found.st_uid}); perhaps momo was started with sudo",
            f"sudo chown -R $USER {places.home}",
        )
        for path, _, found in known
        if found.st_uid != system.user.uid
    )  # fmt: skip
    yield from checks_or_default(strange, passed("permissions.owner", "the files belong to the user who runs momo"))
    yield from checks_or_default(
        _settings(system), passed("permissions.settings", "nobody else may change the settings")
    )


def _settings(system: System) -> Iterator[Check]:
    """Check that no other user may change the settings; the daemon refuses such a file (`check_writers`)."""
    config = Path(system.shop.config)
    for path in (config, config.parent):
        fault = other_writers(path, system.user.uid) if path.exists() else ""
        if fault:
            what, _, fix = fault.rpartition(": ")
            yield failed("permissions.settings", what, fix)


def keyring_checks(system: System) -> Iterator[Check]:
    """Check the master key."""
    try:
        config = load_config(system.shop.config, system.environ)
    except ConfigError:
        config = Config()
    credentials = system.environ.get(CREDENTIALS, "")
    vault = Vault(system.shop, config.secrets.store, credentials)

    def look(reader: Reader) -> Iterator[Check]:
        secrets = inspect.current_secrets(reader)
        if not secrets:
            yield skipped("keyring.key", "the shop has no secrets yet")
            return
        found = [_opens(system, vault, sealed) for sealed in secrets]
        # After a lost key some may be rotated already, and others not.
        yield next((one for one in found if one.status is not Status.OK), found[0])

    yield from with_database(system, "keyring.key", look)


def _opens(system: System, vault: Vault, sealed: str) -> Check:
    try:
        vault.unseal(sealed, PURPOSE)
    except SecretsUnsafe as error:
        file = Path(system.shop.master_key)
        return failed("keyring.key", str(error), f"chmod 600 {file}", remedy=chmod(file, 0o600))
    except SecretsLocked as error:
        if isinstance(error, SecretsElsewhere) and system.running is None:
            return skipped("keyring.key", str(error), "momo daemon start")
        return failed("keyring.key", f"{error}; webhooks wait until the key is available",
            "log in on the desktop, or restore your copy of master.key")  # fmt: skip
    return passed("keyring.key", "the master key opens the shop's secrets")


_SET: Final = "sudo timedatectl set-ntp true"
_KEEPERS: Final = ("chronyd", "ntpd", "openntpd")


def clock_checks(system: System) -> Iterator[Check]:
    """Check the clock."""
    if system.now_us < EARLIEST_US:
        yield failed("clock.year", f"the clock shows {render(system.now_us)}, a time before this version of momo was made", _SET)  # fmt: skip
    else:
        yield passed("clock.year", f"the clock shows {render(system.now_us)}")
    if system.running is None:
        yield skipped("clock.witness", "the daemon does not run, so the time cannot be compared with the network's time in SMS",
            "momo daemon start")  # fmt: skip
    elif system.running.clock_doubt:
        yield warned("clock.witness", f"{system.running.clock_doubt}; meanwhile nothing expires and no old data is removed", _SET)  # fmt: skip
    elif not system.running.clock_confirmed:
        yield warned("clock.witness", "not confirmed yet: the machine was off, and no SMS has arrived since to confirm the time; meanwhile transactions "
            "may expire later than they should, never earlier",
            "wait for the next payment, or send an SMS to the shop's SIM")  # fmt: skip
    else:
        yield passed("clock.witness", "no SMS and no journal entry contradicts the clock")
    yield _kept(system)
    yield from with_database(system, "clock.zone", _zone)


def _kept(system: System) -> Check:
    sync = system.root / "run" / "systemd" / "timesync"
    if (sync / "synchronized").exists():
        return passed("clock.kept", "systemd-timesyncd sets the clock from the network")
    for name in _KEEPERS:
        if running(name, system.root / "proc") is not None:
            return passed("clock.kept", f"{name} sets the clock from the network")
    if sync.exists():
        return warned("clock.kept", "systemd-timesyncd runs, but has not reached a time server yet", "connect to the Internet once")  # fmt: skip
    return warned("clock.kept", "no program sets the clock from the network", _SET)


def _zone(reader: Reader) -> Iterator[Check]:
    owner = shop.get(reader)
    if owner is None:
        yield skipped("clock.zone", "the shop is not set up", "momo setup")
        return
    try:
        ZoneInfo(owner.timezone)
    except (ZoneInfoNotFoundError, ValueError):
        yield failed("clock.zone", f"this machine does not know the shop's time zone {owner.timezone}", "sudo apt install tzdata")  # fmt: skip
    else:
        yield passed("clock.zone", f"the shop's time zone is {owner.timezone}")


ID: Final = "http.certificate"
WARN_DAYS: Final = 14
"""Programs that renew certificates do so 30 days before the end, so something is wrong then."""
_DAY_S: Final = 86_400


def certificate_checks(system: System) -> Iterator[Check]:
    """Check the end of the certificate, and that it covers the names in use."""
    try:
        config = load_config(system.shop.config, system.environ)
    except ConfigError as error:
        yield skipped(ID, f"the settings cannot be read: {error}", "momo config edit")
        return
    path = config.http.tls_cert
    if not path:
        yield skipped(ID, "the API uses no certificate")
    elif path == own_certificate.server_file(system.shop.home):
        yield _own(system)
    else:
        yield _foreign(system, path, config)


def _own(system: System) -> Check:
    now_s = system.now_us // SECOND_US
    try:
        facts = own_certificate.read_facts(system.shop.home)
    except CertificateError as error:
        return failed(ID, str(error), "momo daemon certificate create")
    if facts is None:
        return failed(ID, "the facts of the certificate are missing", "momo daemon certificate create")
    if now_s >= facts.ends_s:
        return failed(ID, f"it ended on {_day(facts.ends_s)}", "momo daemon certificate create")
    if facts.ca_ends_s - now_s < own_certificate.CA_WARN_DAYS * _DAY_S:
        return warned(ID, f"the shop's CA ends on {_day(facts.ca_ends_s)}: phones need a new one",
            "momo daemon certificate create --new-ca")  # fmt: skip
    if why := own_certificate.due(facts, system.names(), now_s):
        return warned(ID, f"{why}, and was not renewed", "momo daemon certificate create")
    return passed(ID, (f"it covers {', '.join(facts.names)}, and is renewed before {_day(facts.ends_s)}"))


def _foreign(system: System, path: str, config: Config) -> Check:
    from cryptography import x509  # noqa: PLC0415 -- only for this check

    try:
        found = x509.load_pem_x509_certificate(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        return failed(ID, f"{path} cannot be read: {error}", "momo config set http.tls_cert FILE")
    ends_s, now_s = int(found.not_valid_after_utc.timestamp()), system.now_us // SECOND_US
    if now_s >= ends_s:
        return failed(ID, f"{path} ended on {_day(ends_s)}", "renew it")
    # The hosts that the settings name; an address that stands for all addresses names none.
    hosts = [urlsplit(config.http.public_base_url).hostname or ""]
    if not is_inside(config.http.bind):
        hosts.append(config.http.bind.rpartition(":")[0].strip("[]"))
    for host in hosts:
        if host not in ("", "0.0.0.0", "::", "*") and not _is_covered(found, host):  # noqa: S104 -- compared, not bound
            return warned(ID, f"{path} does not cover {host}", f"renew it for {host}")
    if ends_s - now_s < WARN_DAYS * _DAY_S:
        return warned(ID, f"{path} ends on {_day(ends_s)}", "renew it")
    return passed(ID, f"{path} is valid until {_day(ends_s)}")


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
