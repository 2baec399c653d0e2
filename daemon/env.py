"""What every flow is given: the doors it may use. Nothing here decides anything."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from daemon.config import Config, Http
from daemon.core import checkout, sandbox
from daemon.core.awake import Wakefulness
from daemon.core.clock_watch import ClockWatch, Doubt
from daemon.core.disk_room import DiskWatch
from daemon.core.ids import new_uuid
from daemon.core.key_use import KeyUse
from daemon.core.precedence import Precedence
from daemon.core.pulse import Pulse
from daemon.core.self_check import SelfCheck
from daemon.core.texting import Texting
from daemon.disk import free_bytes
from daemon.own_wordings import OwnWordings
from daemon.secrets import Vault
from daemon.store.engine import Store
from daemon.store.outbox import Outbox
from daemon.system import Clock, Entropy
from daemon.webhooks.live import Live


@dataclass(frozen=True, slots=True)
class Env:
    """The doors of one running shop.

    Attributes:
        store: The database.
        clock: The only clock; flows read it once, at their start.
        entropy: The only dice.
        config: Settings, checked at start.
        vault: Seals and opens secrets; may be locked, which never stops reading SMS.
        account_key: Keys the HMAC of webhook ids; empty until the shop is set up.
        key_use: When API keys were last used, until it is written down.
        clock_watch: What speaks for and against the wall clock.
        disk: How much room the disk has, in steps.
        self_check: What the daily look through the database found.
        awake: How far the machine is kept from sleeping.
        free_bytes: Says how many bytes are free in a folder.
        live: The `momo listen` that are connected.
        own: The shop's own wordings, as they are on the disk now.
        pulse: Who of our workers still makes progress.
        precedence: Whether something live is on its way.
        made_up: What makes each receipt of the sandbox unlike every other.
        http_address: `HOST:PORT` that the API really listens on, or empty when HTTP is off.
    """

    store: Store
    clock: Clock
    entropy: Entropy
    config: Config
    vault: Vault
    account_key: bytes = b""
    http_address: str = ""
    key_use: KeyUse = field(default_factory=KeyUse)
    clock_watch: ClockWatch = field(default_factory=ClockWatch)
    disk: DiskWatch = field(default_factory=DiskWatch)
    self_check: SelfCheck = field(default_factory=SelfCheck)
    awake: Wakefulness = field(default_factory=Wakefulness)
    free_bytes: Callable[[str], int] = free_bytes
    own: OwnWordings = field(default_factory=OwnWordings)
    live: Live = field(default_factory=Live)
    pulse: Pulse = field(default_factory=Pulse)
    precedence: Precedence = field(default_factory=Precedence)
    made_up: sandbox.Wheels = field(default_factory=sandbox.Wheels)

    @property
    def home(self) -> str:
        """The folder of the database."""
        return os.path.dirname(self.store.path)  # noqa: PTH120 - pathlib is not needed here

    async def give_way(self) -> None:
        """Wait before the next step of what is sent again in bulk: while something live is on its way, not for ever."""
        waited_s = 0.0
        while (wait_s := self.precedence.wait_s(self.clock.monotonic(), waited_s)) > 0:
            await asyncio.sleep(wait_s)
            waited_s += wait_s

    @property
    def public_base_url(self) -> str:
        """The address that customers see, without a slash at its end."""
        configured = self.config.http.public_base_url.rstrip("/")
        scheme = "https" if self.config.http.tls_cert else "http"
        return configured or f"{scheme}://{self.address}"

    def checkout_url(self, slug: str) -> str:
        """Return the address of a request's page, as customers see it."""
        return f"{self.public_base_url}{checkout.ROOT}{slug}"

    @property
    def address(self) -> str:
        """`HOST:PORT` of the API; while HTTP is off, the one that it would have."""
        bind = self.config.http.bind
        return self.http_address or (Http().bind if bind == "off" else bind)

    @property
    def outbox(self) -> Outbox:
        """What owes webhooks inside a write transaction."""
        return Outbox(self.account_key, self.config.webhooks.default_url, self.new_id, self.texting)

    @property
    def texting(self) -> Texting:
        """The settings for SMS to payers."""
        rules, sms = self.config.transactions, self.config.sms
        return Texting(
            rules.code_sms_at,
            rules.public_sms,
            self.config.limits.sms_per_number_hour,
            sms.code_text,
            sms.receipt_text,
            {"mtn": sms.steps_mtn, "telecel": sms.steps_telecel, "at": sms.steps_at},
        )

    def promise(self, worker: str, rest_s: float = 0.0) -> None:
        """Say that a worker is alive and will speak again after its rest (`core.pulse`)."""
        self.pulse.promise(worker, self.clock.monotonic(), rest_s)

    def late(self) -> dict[str, float]:
        """Return the workers that hang, and for how many seconds they have."""
        return self.pulse.late(self.clock.monotonic())

    def clock_doubt(self) -> Doubt | None:
        """Say why the wall clock is not believed, None when it is. Nothing expires or is pruned while it is not."""
        return self.clock_watch.doubt(self.clock.now_us(), self.clock.boottime())

    def clock_skew_us(self) -> int | None:
        """Return how far the networks' time is ahead of the wall clock; None while no message has told it."""
        return self.clock_watch.skew_us(self.clock.now_us(), self.clock.boottime())

    def clock_vouched(self) -> bool:
        """Say whether something speaks for the wall clock; while nothing does, `sure_us` stays behind it."""
        return self.clock_watch.vouched(self.clock.now_us(), self.clock.boottime())

    def sure_us(self) -> int:
        """Return a time that has surely come, however wrong the wall clock is: what ends by the clock ends by this."""
        return self.clock_watch.sure_us(self.clock.now_us(), self.clock.boottime())

    def believed_us(self) -> int:
        """Return the time that others would agree to: the wall clock's, or the networks' while it is in doubt."""
        return self.clock_watch.believed_us(self.clock.now_us(), self.clock.boottime())

    def new_id(self) -> str:
        """Return a fresh UUID."""
        return new_uuid(self.entropy.bytes(16))
