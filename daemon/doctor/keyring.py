"""The area `keyring`: whether the master key is available and opens the shop's secrets."""

from collections.abc import Iterator
from pathlib import Path

from daemon.doctor.checks import Check, Status, System, chmod, with_database
from daemon.runtime.config import Config
from daemon.runtime.config_file import ConfigError, load_config
from daemon.runtime.secrets import (
    CREDENTIALS,
    SecretsElsewhere,
    SecretsLocked,
    SecretsUnsafe,
    Vault,
)
from daemon.store.engine import Reader
from daemon.store.upkeep import inspect
from daemon.store.webhooks.secrets import PURPOSE


def checks(system: System) -> Iterator[Check]:
    """Check the master key."""
    try:
        config = load_config(system.shop.config, system.environ)
    except ConfigError:
        config = Config()
    credentials = system.environ.get(CREDENTIALS, "")
    vault = Vault.open(system.shop, config.secrets.store, credentials)

    def look(reader: Reader) -> Iterator[Check]:
        secrets = inspect.current_secrets(reader)
        if not secrets:
            yield Check("keyring.key", Status.SKIP, "the shop has no secrets yet")
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
        return Check(
            "keyring.key", Status.FAIL, str(error), f"chmod 600 {file}", remedy=chmod(file, 0o600)
        )
    except SecretsLocked as error:
        if isinstance(error, SecretsElsewhere) and system.running is None:
            return Check("keyring.key", Status.SKIP, str(error), "momo daemon start")
        return Check(
            "keyring.key", Status.FAIL, f"{error}; webhooks wait until the key is available",
            "log in on the desktop, or restore your copy of master.key",
        )  # fmt: skip
    return Check("keyring.key", Status.OK, "the master key opens the shop's secrets")
