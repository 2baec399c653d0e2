"""The area `keyring`: can the key be had that opens the shop's secrets, and does it open them."""

from collections.abc import Iterator
from pathlib import Path

from daemon.config import Config, ConfigError, load
from daemon.doctor.checks import Check, Patient, Status
from daemon.doctor.of_shop import asked
from daemon.secrets import CREDENTIALS, SecretsElsewhere, SecretsLocked, SecretsUnsafe, Vault
from daemon.store import examine
from daemon.store.engine import Reader
from daemon.store.webhook_secrets import PURPOSE


def checks(patient: Patient) -> Iterator[Check]:
    """Examine the master key."""
    try:
        config = load(patient.shop.config, patient.environ)
    except ConfigError:
        config = Config()
    credentials = patient.environ.get(CREDENTIALS, "")
    vault = Vault.open(patient.shop, config.secrets.store, credentials)

    def look(reader: Reader) -> Iterator[Check]:
        sealed = examine.a_sealed_secret(reader)
        if sealed is None:
            yield Check("keyring.key", Status.SKIP, "nothing has been sealed yet")
            return
        yield _opens(patient, vault, sealed)

    yield from asked(patient, "keyring.key", look)


def _opens(patient: Patient, vault: Vault, sealed: str) -> Check:
    try:
        vault.unseal(sealed, PURPOSE)
    except SecretsUnsafe as error:
        file = Path(patient.shop.master_key)
        return Check(
            "keyring.key", Status.FAIL, str(error), f"chmod 600 {file}", remedy=lambda: _shut(file)
        )
    except SecretsLocked as error:
        if isinstance(error, SecretsElsewhere) and patient.running is None:
            return Check("keyring.key", Status.SKIP, str(error), "momo service start")
        return Check(
            "keyring.key", Status.FAIL, f"{error}; webhooks wait until it can be had",
            "log in on the desktop, or put the copy of master.key back",
        )  # fmt: skip
    return Check("keyring.key", Status.OK, "the master key opens the shop's secrets")


def _shut(file: Path) -> str:
    file.chmod(0o600)
    return f"chmod 600 {file}"
