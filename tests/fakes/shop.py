"""A small shop for tests of the flows: real database and flows, fake time and random numbers, one SIM with a number."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from daemon import wire
from daemon.core.access.callers import ALL_SCOPES, Caller, CallerKind
from daemon.core.inputs import InitializeRequest, PhoneIdentity, ReadPart, ReconcileRequest, Source
from daemon.core.limits import HOUR_US
from daemon.core.model import Payment, Transaction
from daemon.env import Env
from daemon.flows.lines import modems
from daemon.flows.messages import ingest
from daemon.flows.payments import initialize
from daemon.flows.payments import reconcile as flows_reconcile
from daemon.runtime.config import Config, Transactions, Trust
from daemon.runtime.secrets import Vault
from daemon.steps.context import Context
from daemon.steps.intake import Ingested
from daemon.steps.prove import Proof, Question, Seen, prove
from daemon.store.engine import Reader, Tx
from daemon.store.messages.balances import Chain
from daemon.store.webhooks import deliveries
from tests.fakes import new_database
from tests.fakes.chain import begin_chain
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import FakeEntropy
from tests.fakes.receipts import MTN_SMSC, TELECEL_SMSC, Receipt

OWNER = Caller(CallerKind.SOCKET, None, ALL_SCOPES, None, publishable=False, name="socket:0")
WALLET_MINOR = 90_000
"""The balance of the wallet when a test begins."""
METHOD_ID = "99999999-9999-4999-8999-999999999999"
IMEI = "356938035643809"
ICCID = "8923301000000000012"
MTN_IMSI = "620010000000012"
TELECEL_IMSI = "620020000000012"


class FakeShop:
    """One shop; open it with `make` and close it with `close`."""

    def __init__(self, env: Env, clock: FakeClock, source: Source, smsc: str = MTN_SMSC) -> None:
        self.env = env
        self.clock = clock
        self.source = source
        self.smsc = smsc
        self._slot = 0
        self._wallet_minor = WALLET_MINOR

    @classmethod
    async def make(
        cls,
        folder: Path,
        config: Config | None = None,
        *,
        imsi: str = MTN_IMSI,
        line: bool = True,
        iccid: str = ICCID,
        seed: int | None = None,
    ) -> "FakeShop":
        clock, entropy = FakeClock(), FakeEntropy() if seed is None else FakeEntropy(seed)
        places = wire.places({"MOMO_HOME": str(folder)}, 0, "/tmp")
        store = new_database.open_store(folder / "momo.db", clock.now_us())
        # Most tests' receipts name balances of their own, which do not join; the limit is tested in `test_balance`.
        config = config or Config(
            trust=Trust(unconfirmed_limit=1_000_000), transactions=Transactions(approval_undo_s=0)
        )
        env = Env(
            store,
            clock,
            entropy,
            config,
            Vault(places, "file"),
            account_key=b"k" * 32,
            http_address="" if config.http.bind == "off" else "127.0.0.1:8420",
            free_bytes=lambda _folder: 80_000_000_000,
        )
        smsc = MTN_SMSC if imsi == MTN_IMSI else TELECEL_SMSC
        source = await modems.identify(
            env, PhoneIdentity("/dev/ttyUSB0", IMEI, iccid, imsi, "huawei", "E3131", smsc=smsc)
        )
        shop = cls(env, clock, source, smsc)
        if line:
            await shop.put_number("momo_mtn" if imsi == MTN_IMSI else "momo_telecel")
        return shop

    async def begin_chain(self, balance_minor: int = WALLET_MINOR, provider: str = "momo_mtn") -> None:
        """Store an old message that names the wallet's balance, so that the next receipt is not the first one."""
        since = self.clock.now_us() - HOUR_US
        await self.env.store.write(lambda tx: begin_chain(tx, self.source.sim_key, provider, balance_minor, since))

    def limit(self, amount: int) -> None:
        """Set `[trust] unconfirmed_limit`."""
        self.trust(Trust(unconfirmed_limit=amount))

    def trust(self, settings: Trust) -> None:
        """Set `[trust]`."""
        self.env = replace(self.env, config=replace(self.env.config, trust=settings))

    async def says(
        self, balance_minor: int, answer: Question | None = None, *, ago_s: float = 0, statement_s: float | None = None
    ) -> Proof:
        """Let the owner say what the wallet shows, or showed some time ago, by a statement that began so many seconds before that."""
        times = self.env.times()
        chain = Chain(self.source.sim_key, "momo_mtn")
        at = times.wall_us - round(ago_s * 1_000_000)
        seen = Seen(at, None if statement_s is None else at - round(statement_s * 1_000_000))

        def job(tx: Tx) -> Proof:
            context = Context.of_line(self.env, tx, chain.sim_key, times)
            return prove(context, chain, balance_minor, seen=seen, answer=answer, actor="socket:0")

        return await self.env.store.write(job)

    async def put_number(self, provider: str, method_id: str = METHOD_ID) -> None:
        now = self.clock.now_us()
        await self.env.store.write(
            lambda tx: tx.run(
                "INSERT INTO payment_methods (id, provider, phone_number, account_name, sim_seq, is_active, "
                "line_created_at, created_at, updated_at) VALUES (:id, :provider, '+233244124567', 'Ama', "
                "(SELECT seq FROM sims WHERE sim_key = :sim), 1, :now, :now, :now)",
                {"id": method_id, "provider": provider, "sim": self.source.sim_key, "now": now},
            )
        )

    def close(self) -> None:
        self.env.store.close()

    async def request(self, amount_minor: int = 2500, **changes: Any) -> Transaction:
        """Make a transaction."""
        asked = InitializeRequest(amount_minor=amount_minor, currency="GHS", phone_number="+233241234567", **changes)
        made = await initialize.initialize(self.env, OWNER, asked)
        return await self.transaction(made.transaction.reference)

    def wallet(self, amount_minor: int) -> int:
        """Add money to the wallet, and return the balance for its receipt."""
        self._wallet_minor += amount_minor
        return self._wallet_minor

    async def read(self, *receipts: Receipt) -> Ingested:
        """Read the parts of these receipts from the phone in one go."""
        return await self.read_pdus(pdu for receipt in receipts for pdu in receipt.pdus)

    async def read_pdus(self, pdus: Iterable[str]) -> Ingested:
        parts = []
        for pdu in pdus:
            self._slot += 1
            octets = bytes.fromhex(pdu)
            parts.append(ReadPart("SM", self._slot, len(octets) - 1 - octets[0], pdu))
        return await ingest.ingest(self.env, self.source, parts)

    async def reconcile(self, reference: str, telco_id: str, **changes: Any) -> flows_reconcile.Reconciled:
        return await flows_reconcile.reconcile(self.env, OWNER, reference, ReconcileRequest(telco_id, **changes))

    async def transaction(self, reference: str) -> Transaction:
        rows: list[Transaction] = await self.rows(Transaction, "transactions", f"id = '{_uuid(reference)}'")
        return rows[0]

    async def payments(self) -> list[Payment]:
        return await self.rows(Payment, "payments")

    async def rows(self, model: type, table: str, where: str = "1 = 1") -> list[Any]:
        sql = f"SELECT * FROM {table} WHERE {where} ORDER BY seq"
        return await self.env.store.read(lambda reader: reader.every(model, sql))

    async def bodies(self, where: str = "1 = 1") -> list[str]:
        """Return the bodies of deliveries, in the order in which they were queued."""

        def job(reader: Reader) -> list[str]:
            seqs = [row[0] for row in reader.all(f"SELECT seq FROM deliveries WHERE {where}")]
            found = deliveries.bodies(reader, seqs)
            return [body.decode() for _seq, body in sorted(found.items())]

        return await self.env.store.read(job)

    async def values(self, sql: str) -> list[Any]:
        """Return the rows of a query; plain values if it has one column."""
        rows = await self.env.store.read(lambda reader: reader.all(sql))
        return [row[0] if len(row) == 1 else row for row in rows]


def _uuid(reference: str) -> str:
    digits = reference.removeprefix("svc_trx_")
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
