"""The environment of the flows: database, clock, settings, secrets and shared state. It contains no decisions."""

import asyncio
import os
from collections.abc import Callable

from msgspec import Struct, field

from daemon.core.access.callers import KeyUse
from daemon.core.access.sessions import OneTimeLinks
from daemon.core.branches.place import ALONE, Place
from daemon.core.errors import Unavailable
from daemon.core.ids import new_uuid
from daemon.core.lines.signal_history import SignalHistory
from daemon.core.lines.ussd import UssdSessions
from daemon.core.messages import sandbox
from daemon.core.payments import checkout
from daemon.core.payments.payer_texts import Texting
from daemon.core.upkeep.clock_check import ClockCheck, Times
from daemon.core.upkeep.faults import Faults
from daemon.core.upkeep.self_check import AwakeStatus, DiskWatch, Heartbeats, SelfCheck
from daemon.core.webhooks.delivery import LivePriority
from daemon.runtime.config import Config, Http, Sms
from daemon.runtime.config_file import SettingsState
from daemon.runtime.files import free_bytes
from daemon.runtime.message_journal import MessageJournal
from daemon.runtime.own_wordings import OwnWordings
from daemon.runtime.secrets import SecretsLocked, Vault
from daemon.runtime.system import Clock, Entropy
from daemon.runtime.words import sentences
from daemon.sender.live_receivers import LiveReceivers
from daemon.store.engine import Store
from daemon.store.webhooks.outbox import Outbox


class Env(Struct):
    """The environment of one running shop.

    Attributes:
        store: The database.
        clock: The only clock; a flow reads it once, at its start, directly or with `times`.
        entropy: The only source of randomness.
        config: The settings in use; those that act at once are replaced while the daemon runs.
        settings: How the settings files stand to them.
        vault: Encrypts and decrypts secrets; it may be locked, which never stops reading SMS.
        account_key: The HMAC key of ids; empty until the database is open for the first time.
        key_use: The last use of each API key, until it is written to the database.
        links: The one-time links of the dashboard.
        clock_check: The evidence for and against the wall clock.
        disk: The free disk space, in levels.
        self_check: The result of the daily database check.
        faults: The present reasons why the shop cannot work as usual.
        awake: Whether the machine is kept from sleeping.
        signals: The signal of each modem over the last 24 hours.
        free_bytes: Returns the number of free bytes in a folder.
        live_receivers: The connected `momo listen` listeners.
        message_journal: The journal of raw messages outside the database; None until the shop's key is known.
        recovering: Messages of the journal are still missing in the database, so nothing may be judged by the time that passed.
        journal_fault: Why the message journal cannot be read; empty if it can.
        ca_fault: Why `[webhooks] ca_file` cannot be read; empty if it can.
        secrets_fault: Why webhooks cannot be signed: the master key is not there, or is another one; empty if none waits.
        own_wordings: The shop's own wordings, as currently on the disk.
        heartbeats: The heartbeats of the workers.
        live_priority: Whether a live delivery is under way, which has priority over bulk resends.
        sandbox_cycles: Counters that make each receipt of the sandbox unique.
        http_address: The `HOST:PORT` that the API listens on, empty if HTTP is off.
        ussd: The open USSD sessions.
        place: The role of this shop: alone, a branch or a hub.
    """

    store: Store
    clock: Clock
    entropy: Entropy
    config: Config
    vault: Vault
    account_key: bytes = b""
    http_address: str = ""
    key_use: KeyUse = field(default_factory=KeyUse)
    links: OneTimeLinks = field(default_factory=OneTimeLinks)
    clock_check: ClockCheck = field(default_factory=ClockCheck)
    disk: DiskWatch = field(default_factory=DiskWatch)
    self_check: SelfCheck = field(default_factory=SelfCheck)
    faults: Faults = field(default_factory=Faults)
    awake: AwakeStatus = field(default_factory=AwakeStatus)
    signals: SignalHistory = field(default_factory=SignalHistory)
    free_bytes: Callable[[str], int] = free_bytes
    settings: SettingsState = field(default_factory=SettingsState)
    own_wordings: OwnWordings = field(default_factory=OwnWordings)
    message_journal: MessageJournal | None = None
    recovering: bool = False
    journal_fault: str = ""
    ca_fault: str = ""
    secrets_fault: str = ""
    live_receivers: LiveReceivers = field(default_factory=LiveReceivers)
    heartbeats: Heartbeats = field(default_factory=Heartbeats)
    live_priority: LivePriority = field(default_factory=LivePriority)
    certificate_names: frozenset[str] = frozenset()
    sandbox_cycles: sandbox.Cycles = field(default_factory=sandbox.Cycles)
    ussd: UssdSessions = field(default_factory=UssdSessions)
    place: Place = ALONE

    @property
    def home(self) -> str:
        """The folder of the database."""
        return os.path.dirname(self.store.path)  # noqa: PTH120 - pathlib is not needed here

    async def yield_to_live(self) -> None:
        """Wait before the next step of a bulk resend while a live delivery is under way, up to a limit."""
        waited_s = 0.0
        while (wait_s := self.live_priority.wait_s(self.clock.monotonic(), waited_s)) > 0:
            await asyncio.sleep(wait_s)
            waited_s += wait_s

    def refuse_if_damaged(self) -> None:
        """Refuse to store payments while the database is damaged.

        Raises:
            Unavailable: It is damaged.
        """
        # Data stored in a damaged file would be lost with it, and so would the deleted SMS.
        if self.store.is_damaged and self.store.fault is not None:
            raise self.store.fault

    @property
    def public_base_url(self) -> str:
        """The base URL for customers, without a trailing slash."""
        configured = self.config.http.public_base_url.rstrip("/")
        scheme = "https" if self.config.http.tls_cert else "http"
        return configured or f"{scheme}://{self.address}"

    def checkout_url(self, slug: str) -> str:
        """Return the public URL of a transaction's checkout page."""
        return f"{self.public_base_url}{checkout.ROOT}{slug}"

    @property
    def address(self) -> str:
        """`HOST:PORT` of the API; while HTTP is off, the default one."""
        bind = self.config.http.bind
        return self.http_address or (Http().bind if bind == "off" else bind)

    @property
    def outbox(self) -> Outbox:
        """The outbox, which queues webhooks inside a write transaction."""
        return Outbox(self.account_key, self.config.webhooks.default_url, self.new_id, self.texting)

    @property
    def texting(self) -> Texting:
        """The settings for SMS to payers."""
        rules, sms, usual = self.config.transactions, self.config.sms, Sms()
        return Texting(
            rules.code_sms_at,
            rules.public_sms,
            self.config.limits.sms_per_number_hour,
            "" if sms.code_text == usual.code_text else sms.code_text,
            "" if sms.receipt_text == usual.receipt_text else sms.receipt_text,
            {"mtn": sms.steps_mtn, "telecel": sms.steps_telecel, "at": sms.steps_at},
            sentences(self.config.pages.languages[0]),
        )

    def heartbeat(self, worker: str, rest_s: float = 0.0) -> None:
        """Record a heartbeat of a worker; the next one is due after its rest of `rest_s` seconds."""
        self.heartbeats.record(worker, self.clock.monotonic(), rest_s)

    def hanging_workers(self) -> dict[str, float]:
        """Return the hanging workers, and how many seconds each heartbeat is overdue."""
        return self.heartbeats.overdue(self.clock.monotonic())

    async def seal(self, secret: bytes, purpose: str, what: str) -> str:
        """Return a sealed secret; `what` names it in the error. In a thread: a keyring may be slow to answer.

        Raises:
            Unavailable: The master key is not available.
        """
        try:
            return await asyncio.to_thread(self.vault.seal, secret, purpose)
        except SecretsLocked as error:
            raise Unavailable(f"{what} cannot be sealed: {error}") from error

    async def unseal(self, sealed: str, purpose: str, what: str) -> bytes:
        """Return a secret that `seal` has sealed.

        Raises:
            Unavailable: The master key is not available.
        """
        try:
            return await asyncio.to_thread(self.vault.unseal, sealed, purpose)
        except SecretsLocked as error:
            raise Unavailable(f"{what} cannot be opened: {error}") from error

    def times(self) -> Times:
        """Return the time, and how far the wall clock is confirmed."""
        return self.clock_check.times(self.clock.now_us(), self.clock.boottime())

    def new_id(self) -> str:
        """Return a new UUID."""
        return new_uuid(self.entropy.bytes(16))
