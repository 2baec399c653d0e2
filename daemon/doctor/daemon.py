"""The areas `daemon` (it runs, with a shop and valid settings) and `upgrade` (program, daemon and database match)."""

from collections.abc import Iterator
from pathlib import Path

from daemon.core.errors import MomoError
from daemon.doctor.checks import NO_SHOP, Check, Status, System, with_database
from daemon.runtime.config_file import ConfigError, load_config
from daemon.store.engine import Reader
from daemon.store.open_store import IN_POSTGRESQL
from daemon.store.upkeep import inspect


def daemon_checks(system: System) -> Iterator[Check]:
    """Check the daemon, the shop and the settings."""
    running = system.running
    if running is None:
        yield Check(
            "daemon.running",
            Status.WARN,
            "the daemon does not run: SMS wait on the SIMs, and webhooks are not sent",
            "momo daemon start",
        )
    else:
        where = f", API on {running.http}" if running.http else ""
        yield Check(
            "daemon.running", Status.OK, f"runs as PID {system.pid}, momo {running.version}{where}"
        )
    if system.store_url:
        yield Check(
            "daemon.shop", Status.OK, f"{IN_POSTGRESQL}; its settings are in {system.shop.home}"
        )
    elif Path(system.shop.database).is_file():
        yield Check("daemon.shop", Status.OK, f"the shop is in {system.shop.home}")
    else:
        yield Check("daemon.shop", Status.FAIL, f"{NO_SHOP} ({system.shop.home})", "momo setup")
    try:
        load_config(system.shop.config, system.environ)
    except ConfigError as error:
        yield Check(
            "daemon.settings", Status.FAIL, f"the daemon will not start: {error}",
            "momo config edit",
        )  # fmt: skip
    else:
        yield Check("daemon.settings", Status.OK, f"the settings are valid ({system.shop.config})")


def upgrade_checks(system: System) -> Iterator[Check]:
    """Check the versions."""
    yield from with_database(system, "upgrade.schema", _schema)
    running = system.running
    if running is None:
        yield Check("upgrade.daemon", Status.SKIP, "the daemon does not run", "momo daemon start")
    elif running.version != system.version:
        yield Check(
            "upgrade.daemon", Status.WARN,
            f"momo {system.version} is installed, but {running.version} still runs",
            "momo daemon stop, then momo daemon start",
        )  # fmt: skip
    else:
        yield Check("upgrade.daemon", Status.OK, f"momo {system.version} is installed and runs")


def _schema(reader: Reader) -> Iterator[Check]:
    try:
        has, known = inspect.schema(reader)
    except MomoError as error:  # made by another version of momo
        yield Check("upgrade.schema", Status.FAIL, str(error), "momo daemon upgrade-check")
        return
    if has < known:
        yield Check(
            "upgrade.schema", Status.WARN,
            f"the database has schema {has}, this momo has {known}: the next start upgrades it, after a backup",
            "momo daemon stop, then momo daemon start",
        )  # fmt: skip
    else:
        yield Check("upgrade.schema", Status.OK, f"schema {has}, the schema of this momo")
