"""What every flow is given: the doors it may use. Nothing here decides anything."""

from dataclasses import dataclass

from daemon.config import Config
from daemon.secrets import Vault
from daemon.store.engine import Store
from daemon.system import Clock, Entropy


@dataclass(frozen=True, slots=True)
class Env:
    """The doors of one running shop.

    Attributes:
        store: The database.
        clock: The only clock; flows read it once, at their start.
        entropy: The only dice.
        config: Settings, checked at start.
        vault: Seals and opens secrets; may be locked, which never stops reading SMS.
        http_address: `HOST:PORT` that the API really listens on, or empty when HTTP is off.
    """

    store: Store
    clock: Clock
    entropy: Entropy
    config: Config
    vault: Vault
    http_address: str = ""

    @property
    def public_base_url(self) -> str:
        """The address that customers see, without a slash at its end."""
        configured = self.config.http.public_base_url.rstrip("/")
        return configured or f"http://{self.http_address or self.config.http.bind}"
