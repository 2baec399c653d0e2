"""The daemon itself, in five areas of the doctor.

`daemon`: it runs, with a shop and valid settings. `upgrade`: program, daemon and database match. `service`: the daemon starts with
the machine, which stays awake. `timers`: a backup every night. `socket`: the local socket between `momo` and the daemon.
"""

import pwd
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from daemon.core.errors import MomoError
from daemon.core.upkeep.self_check import AwakeState
from daemon.doctor.checks import (
    NO_SHOP,
    Check,
    System,
    failed,
    installed_units,
    passed,
    settings_or_default,
    skipped,
    too_open,
    warned,
    with_database,
)
from daemon.runtime.config_file import ConfigError, load_config
from daemon.runtime.locks import HomeLock, Locked
from daemon.store.engine import Reader
from daemon.store.open_store import IN_POSTGRESQL
from daemon.store.upkeep import inspect


def daemon_checks(system: System) -> Iterator[Check]:
    """Check the daemon, the shop and the settings."""
    running = system.running
    if running is None:
        yield warned("daemon.running", "the daemon does not run: SMS wait on the SIMs, and webhooks are not sent", "momo daemon start")  # fmt: skip
    else:
        where = f", API on {running.http}" if running.http else ""
        yield passed("daemon.running", f"runs as PID {system.pid}, momo {running.version}{where}")
    if system.store_url:
        yield passed("daemon.shop", f"{IN_POSTGRESQL}; its settings are in {system.shop.home}")
    elif Path(system.shop.database).is_file():
        yield passed("daemon.shop", f"the shop is in {system.shop.home}")
    else:
        yield failed("daemon.shop", f"{NO_SHOP} ({system.shop.home})", "momo setup")
    try:
        load_config(system.shop.config, system.environ)
    except ConfigError as error:
        yield failed("daemon.settings", f"the daemon will not start: {error}", "momo config edit")
    else:
        yield passed("daemon.settings", f"the settings are valid ({system.shop.config})")


def upgrade_checks(system: System) -> Iterator[Check]:
    """Check the versions."""
    yield from with_database(system, "upgrade.schema", _schema)
    running = system.running
    if running is None:
        yield skipped("upgrade.daemon", "the daemon does not run", "momo daemon start")
    elif running.version != system.version:
        yield warned("upgrade.daemon", f"momo {system.version} is installed, but {running.version} still runs",
            "momo daemon stop, then momo daemon start")  # fmt: skip
    else:
        yield passed("upgrade.daemon", f"momo {system.version} is installed and runs")


def _schema(reader: Reader) -> Iterator[Check]:
    try:
        has, known = inspect.schema(reader)
    except MomoError as error:  # made by another version of momo
        yield failed("upgrade.schema", str(error), "momo daemon upgrade-check")
        return
    if has < known:
        yield warned("upgrade.schema", f"the database has schema {has}, this momo has {known}: the next start upgrades it, after a backup",
            "momo daemon stop, then momo daemon start")  # fmt: skip
    else:
        yield passed("upgrade.schema", f"schema {has}, the schema of this momo")


def service_checks(system: System) -> Iterator[Check]:
    """Check the unit files; `systemctl status` shows their state."""
    yield _awake(system)
    found = installed_units(system, "service")
    if not found:
        yield warned("service.installed", "no service is installed: after a power cut you must start momo yourself",
            "momo daemon install")  # fmt: skip
        return
    names = ", ".join(str(path) for path, _ in found)
    yield passed("service.installed", f"installed: {names}")
    own = [path for path, is_own in found if is_own and path.suffix == ".service"]
    if not own:
        return
    name = _name(system.user.uid)
    if (system.root / "var" / "lib" / "systemd" / "linger" / name).exists():
        yield passed("service.linger", "it starts with the machine")
    else:
        yield warned("service.linger", f"it starts only when {name} logs in", f"sudo loginctl enable-linger {name}")


def _awake(system: System) -> Check:
    """Check whether the machine can go to sleep, when no payments are read, while the daemon runs."""
    name, running = "service.awake", system.running
    if running is None:
        return skipped(name, "the daemon does not run, so nothing keeps the machine awake", "momo daemon start")
    why = running.awake.why
    match running.awake.hold:
        case AwakeState.OFF:
            return skipped(name, "the machine may go to sleep; while it sleeps, no payment is read",
                "momo config set power.keep_awake plugged")  # fmt: skip
        case AwakeState.ON_BATTERY:
            return passed(name, "the machine is on battery and may sleep, as set")
        case AwakeState.HELD:
            return passed(name, "the machine stays awake while momo runs, unless its lid is closed")
        case AwakeState.IDLE_ONLY:
            return warned(name, f"the desktop's automatic suspend may still put the machine to sleep ({why})",
                "switch automatic suspend off in the desktop's settings, or momo daemon install --system")  # fmt: skip
    return warned(name, f"the machine cannot be kept awake ({why})", "switch automatic suspend off in the machine's settings")  # fmt: skip


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def timer_checks(system: System) -> Iterator[Check]:
    """Check for systemd timers and /etc/cron.d; a user's crontab cannot be read without `crontab`."""
    found = installed_units(system, "timer")
    if found:
        names = ", ".join(path.name for path, _ in found)
        yield passed("timers.installed", f"installed: {names}")
        return
    cron = system.root / "etc" / "cron.d"
    for path in sorted(cron.glob("*")) if cron.is_dir() else ():
        try:
            if "momo " in path.read_text("utf-8", "replace"):
                yield passed("timers.installed", f"{path} runs momo")
                return
        except OSError:
            continue
    yield skipped("timers.installed", "no timer is installed; a crontab may do the same: momo doctor backup shows whether backups are recent",
        "momo daemon install --timers")  # fmt: skip


def checks(system: System) -> Iterator[Check]:
    """Check the socket."""
    path = Path(system.shop.socket)
    yield _folder(system, path.parent)
    yield _answers(system, path)


def _folder(system: System, folder: Path) -> Check:
    """Check that only its owner may open the folder, and that others may pass through it to use the socket if they are named."""
    try:
        mode = stat.S_IMODE(folder.stat().st_mode)
    except OSError:
        return skipped("socket.folder", f"{folder} does not exist yet: the daemon creates it")
    users = settings_or_default(system).access.socket_users
    allowed = 0o755 if users else 0o700
    if mode & ~allowed & 0o077:
        return too_open("socket.folder", folder, how="open", now=mode, wanted=allowed)
    if not users:
        return passed("socket.folder", f"only its owner may open {folder}")
    closed = next((one for one in (folder, *folder.parents) if not one.stat().st_mode & stat.S_IXOTH), None)
    if closed is None:
        return passed("socket.folder", f"{', '.join(users)} may reach the socket")
    ours = closed == folder or closed == Path(system.shop.home)
    return failed("socket.folder", f"[access] socket_users names {', '.join(users)}, who cannot reach the socket: only its owner may enter {closed}",
        "momo daemon restart" if ours else "move the shop to a folder that all users may enter, and set MOMO_HOME "
        "to it; or: momo daemon install --system")  # fmt: skip


def _answers(system: System, path: Path) -> Check:
    if not path.exists():
        if system.running is None:
            return skipped("socket.answers", "there is no socket: the daemon does not run")
        return failed("socket.answers", f"the daemon runs, but {path} was removed", "momo daemon stop, then momo daemon start")  # fmt: skip
    if not stat.S_ISSOCK(path.stat().st_mode):
        return failed("socket.answers", f"{path} is another file, not a socket", f"move {path} away")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(2)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return warned("socket.answers", f"{path} is left over from a daemon that has ended; the next start removes it",
                "momo daemon start", remedy=lambda: _remove(system, path))  # fmt: skip
        except OSError as error:
            return failed("socket.answers", f"{path} cannot be reached: {error}", "momo daemon status")
    return passed("socket.answers", f"the daemon answers at {path}")


def _remove(system: System, path: Path) -> str:
    """Remove an unused socket. The lock ensures that no daemon is starting."""
    lock = HomeLock(system.shop.lock)
    try:
        lock.take()
    except Locked as error:
        return f"not removed: {error}"
    try:
        path.unlink(missing_ok=True)
    finally:
        lock.release()
    return f"removed {path}"
