"""The real momo of the simulation: flows, steps and database in this process, with a simulated clock.

This is the only module that knows how momo's functions are called. The database is the real one, with the disk's `fsync`
off and without the writing thread.
"""

import contextlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from msgspec.structs import asdict, replace

from daemon import wire
from daemon.core.access.callers import ALL_SCOPES, Caller, CallerKind
from daemon.core.errors import Refusal
from daemon.core.inputs import PhoneIdentity, ReadPart, Source
from daemon.core.messages.balance_chain import Counts
from daemon.env import Env
from daemon.flows.lines import modems, smscs, wallet
from daemon.flows.messages import ingest, settle_lines
from daemon.flows.payments import cancel_expire, review
from daemon.runtime.config import Config
from daemon.runtime.config_file import parse_config
from daemon.runtime.secrets import Vault
from daemon.steps.prove import Question
from daemon.steps.store_parts import text_parts
from daemon.store.engine import Tx, _Job
from daemon.store.lines import devices
from daemon.store.messages import balances
from daemon.store.payments import transactions
from daemon.wire import TrustLevel
from tests.fakes import new_database, rows
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import FakeEntropy
from tests.fakes.new_database import writer
from tests.simulation.inline_store import InlineStore
from tests.simulation.trust.wallet import DAY, HOME, MINUTE, START, TEST_PAYMENT, money

T = TypeVar("T")
Limit = int | str
"""`[trust] unconfirmed_limit`: whole cedis, or `auto`."""

OWNER: Final = Caller(CallerKind.SOCKET, None, ALL_SCOPES, None, publishable=False, name="socket:0")
LINE: Final = "99999999-9999-4999-8999-999999999999"
IMEI, ICCID, IMSI = "356938035643809", "8923301000000000012", "620010000000012"
REVIEWS_AT_ONCE: Final = 500


class Disk(InlineStore):
    """The database; a commit takes no simulated time."""

    async def write(self, job: Callable[[Tx], T]) -> T:
        entry = _Job(job, None, None)  # type: ignore[arg-type]  # no future waits for it
        self._commit(writer(self), [entry])
        if entry.error is not None:
            raise entry.error
        result: T = entry.result
        return result


@dataclass(frozen=True, slots=True)
class Paid:
    """A payment that momo accepted.

    Attributes:
        body: The text of its message.
        used: Whether it paid an order.
        at: When it was paid.
        sent_at: The network's time of its message.
        limited: Whether it counts to the limit of its day.
    """

    body: str
    amount: int
    balance: int | None
    telco_id: str
    at: int
    sent_at: int
    used: bool
    limited: bool


@dataclass(frozen=True, slots=True)
class Open:
    """An open review, the text that it asks about, and whether it already names an order."""

    id: str
    body: str
    names_order: bool


class Product:
    """One shop with one SIM and one line."""

    def __init__(self, env: Env, clock: FakeClock) -> None:
        self.env = env
        self.clock = clock
        self.source: Source
        self.phone = False
        """The source tells no service centre, as an Android phone or a HiLink stick."""
        self.decisions = 0
        self._slot = 0
        self._orders = 0
        self._seen = 0

    @classmethod
    async def open(cls, folder: Path, seed: int, limit: Limit, *, phone: bool = False) -> "Product":
        """Open a new shop in an empty folder, at midnight of the first day."""
        clock = FakeClock(START)
        path = folder / "momo.db"
        new_database.lay(path)
        store = Disk.open(str(path), now_us=clock.now_us())
        # A simulated month has no time to wait for a disk.
        writer(store).execute("PRAGMA synchronous = OFF")
        vault = Vault(wire.places({"MOMO_HOME": str(folder)}, 0, "/tmp"), "file")
        env = Env(store, clock, FakeEntropy(seed), settings(limit), vault, account_key=b"k" * 32)
        product = cls(env, clock)
        product.phone = phone
        await product.connect()
        await store.write(product._put_number)
        sim = product.source.sim_key
        await store.write(lambda tx: balances.expect_test_payment(tx, sim, TEST_PAYMENT, START + DAY))
        return product

    def close(self) -> None:
        """Close the database."""
        self.env.store.close()

    def go_to(self, at: int) -> None:
        """Let time pass until then."""
        now = self.clock.now_us()
        if at > now:
            self.clock.advance((at - now) / 1e6)

    # --- the modem and the daemon -------------------------------------------------------------------

    async def connect(self) -> None:
        """Plug the modem in: momo learns its SIM and the centre that the SIM names (`AT+CSCA?`)."""
        phone = PhoneIdentity("/dev/ttyUSB0", IMEI, ICCID, IMSI, "huawei", "E3131", smsc=HOME)
        self.source = await modems.identify(self.env, phone)
        if self.phone:
            self.source = replace(self.source, name="stick", level=TrustLevel.PARTIAL)

    async def disconnect(self) -> None:
        """Unplug the modem."""
        await modems.disconnect(self.env, self.source.device_id)

    async def restart(self) -> None:
        """Stop and start the daemon."""
        await self.env.store.write(devices.mark_all_absent)
        await self.connect()

    async def take(self, pdus: Iterable[str]) -> None:
        """Read these parts from the modem."""
        parts = []
        for pdu in pdus:
            self._slot += 1
            octets = bytes.fromhex(pdu)
            parts.append(ReadPart("SM", self._slot, len(octets) - 1 - octets[0], pdu))
        await self._take(parts)

    async def take_text(self, sender: str, text: str, sent_at: int) -> None:
        """Read a whole text from a source without service centres."""
        self._slot += 1
        await self._take(text_parts(sender, text, sent_at, storage="local", slot=self._slot))

    async def _take(self, parts: list[ReadPart]) -> None:
        taken = await ingest.ingest(self.env, self.source, parts)
        assert not taken.faults, taken.faults

    async def assemble(self) -> None:
        """Put parts together that have waited for rivals."""
        await settle_lines.assemble_parts(self.env)

    async def settle(self) -> None:
        """Settle lines by time: a row wins by silence, a balance becomes firm."""
        await settle_lines.settle_lines(self.env)

    async def tidy(self) -> None:
        """Do the daemon's daily work."""
        while await cancel_expire.expire(self.env):
            pass

    # --- people --------------------------------------------------------------------------------------

    async def order(self, code: str, amount: int) -> None:
        """Make an order with this payment code, valid for a day."""
        self._orders += 1
        number, now = self._orders, self.clock.now_us()
        made = rows.transaction(
            id=f"0f3c0000-0000-4000-8000-{number:012d}", svc_code=code, expected_minor=amount,
            created_at=now, expires_at=now + DAY, public_slug=f"slug-{number}", client_reference=f"order-{number}",
            customer_name=None, send_sms_to_payer=False,
        )  # fmt: skip
        row = {name: value for name, value in asdict(made).items() if name != "seq"}

        def add(tx: Tx) -> None:
            transactions.add(tx, row)
            transactions.claim_code(tx, made.mode, code, made.id, now + 40 * DAY, now)

        await self.env.store.write(add)

    def open_reviews(self, opened_before: int) -> list[Open]:
        """Return the open reviews that were opened before then, oldest first."""
        found = self._look(
            "SELECT r.id, COALESCE(m.body, ''), r.transaction_id IS NOT NULL "
            "FROM reviews r JOIN messages m ON m.id = r.message_id "
            f"WHERE r.state = 'open' AND r.created_at <= {opened_before} ORDER BY r.seq LIMIT {REVIEWS_AT_ONCE}"
        )
        return [Open(*row) for row in found]

    async def decide(self, one: Open, *, genuine: bool, code: str | None = None) -> None:
        """Approve or reject a review as the owner, with the password; one that ended meanwhile is left.

        `code` is the payment code in the text; the owner names its order if the review does not.
        """
        reference = None
        if code is not None and not one.names_order:
            waiting = self._look(f"SELECT id FROM transactions WHERE svc_code = '{code}' AND status = 'PENDING'")
            reference = f"svc_trx_{waiting[0][0].replace('-', '')}" if waiting else None
        try:
            if genuine:
                approval = review.Approval(reference, confirmed=True)
                await review.approve(self.env, OWNER, one.id, approval)
            else:
                await review.reject(self.env, OWNER, one.id, "not ours", confirmed=True)
        except Refusal:
            # An earlier decision settled it, or its ID is paid: a person sees that and goes on.
            return
        self.decisions += 1

    def asks(self, since: int) -> bool:
        """Return whether momo has a question that what the wallet shows can answer, for so long."""
        return bool(
            self._look(
                f"SELECT 1 FROM reviews WHERE state = 'open' AND reason = 'balance_break' AND created_at <= {since} "
                "UNION ALL SELECT 1 FROM line_trust WHERE provisional = 'first' AND balance IS NOT NULL "
                "UNION ALL SELECT 1 FROM events WHERE type IN ('notice.wallet_asked', 'notice.forgery_flood') "
                "AND at > (SELECT MAX(proved_at) FROM line_trust) LIMIT 1"
            )
        )

    async def take_back(self, review_id: str) -> None:
        """Take back a wrong decision; one that was settled otherwise since stays."""
        with contextlib.suppress(Refusal):
            await review.undo(self.env, OWNER, review_id)

    async def say_balance(self, shown: int, are_genuine: Callable[[list[str]], bool]) -> None:
        """Say what the wallet shows; answer yes to what momo asks, if the messages that it asks about are genuine."""
        self.decisions += 1
        answer: Question | None = None
        while True:
            proof, _ = await wallet.say_balance(self.env, OWNER, LINE, money(shown), answer=answer)
            if proof.settled or proof.question is answer:
                return
            asked = ", ".join(f"'{one}'" for one in proof.about)
            found = self._look(f"SELECT body FROM messages WHERE id IN ({asked})") if asked else []
            if not are_genuine([row[0] for row in found]):
                return
            answer = proof.question

    def shown_receipts(self, stored_before: int) -> list[tuple[str, str]]:
        """Return the held receipts without a review, of a foreign centre or contradicted: their customers ask for them."""
        return self._look(
            "SELECT m.id, m.body FROM line_balances b JOIN messages m ON m.seq = b.message_seq WHERE b.standing = 'doubtful' "
            f"AND b.doubts = '[]' AND b.pays = 1 AND m.state = 'held' AND b.stored_at <= {stored_before} "
            "AND (b.why = 'foreign' OR b.why = 'contradicted' AND NOT EXISTS "
            "(SELECT 1 FROM reviews r WHERE r.message_id = m.id AND r.state = 'open'))"
        )

    async def trust(self, message_id: str) -> None:
        """Trust a message, unless it was settled meanwhile."""
        try:
            await smscs.trust_message(self.env, OWNER, self.source.device_id, self.source.slot_index, message_id)
        except Refusal:
            return
        self.decisions += 1

    # --- payments and reviews of momo ----------------------------------------------------------------

    def new_payments(self) -> list[Paid]:
        """Return the payments since the last call."""
        found = self._look(
            "SELECT p.seq, COALESCE(m.body, ''), p.amount_minor, p.balance_minor, p.telco_transaction_id, "
            f"m.sent_at, p.standing = 'used', b.counts = {Counts.LIMIT:d} FROM payments p JOIN messages m ON m.seq = p.message_seq "
            f"LEFT JOIN line_balances b ON b.message_seq = m.seq WHERE p.seq > {self._seen} ORDER BY p.seq"
        )
        now = self.clock.now_us()
        if found:
            self._seen = found[-1][0]
        return [
            Paid(body, amount, balance, telco_id, now, sent_at, bool(used), bool(limited))
            for _, body, amount, balance, telco_id, sent_at, used, limited in found
        ]

    def reversed_ids(self) -> set[str]:
        """Return the IDs of the payments that momo marks as reversed."""
        return {row[0] for row in self._look("SELECT telco_transaction_id FROM payments WHERE reversed_at IS NOT NULL")}

    def homes(self) -> set[str]:
        """Return the home centres without their last two digits."""
        found = self._look("SELECT smsc FROM sim_smscs WHERE source <> 'noticed'")
        return {row[0][:-2] for row in found}

    def standing(self) -> set[str]:
        """Return the texts of the payments that count."""
        found = self._look(
            "SELECT m.body FROM payments p JOIN messages m ON m.seq = p.message_seq WHERE p.standing <> 'withdrawn'"
        )
        return {row[0] for row in found}

    def proved_at(self) -> int:
        """Return the time of the last proof; 0 if there was none."""
        found = self._look("SELECT COALESCE(MAX(proved_at), 0) FROM line_trust")
        return int(found[0][0])

    def conflicts(self) -> set[str]:
        """Return the texts with a review because another payment has their ID."""
        found = self._look(
            "SELECT m.body FROM reviews r JOIN messages m ON m.id = r.message_id WHERE r.reason = 'id_conflict'"
        )
        return {row[0] for row in found}

    def notices(self) -> dict[str, int]:
        """Return how often each notice was given."""
        return dict(self._look("SELECT type, COUNT(*) FROM events WHERE type LIKE 'notice.%' GROUP BY type"))

    def dump(self) -> str:
        """Return all payments and reviews, for comparing two runs."""
        tables = ("payments", "reviews", "messages")
        return json.dumps([self._look(f"SELECT * FROM {table} ORDER BY seq") for table in tables])

    def _look(self, sql: str) -> list[tuple]:  # type: ignore[type-arg]  # rows of any columns
        store = self.env.store
        assert isinstance(store, Disk)
        return store.peek(lambda reader: reader.all(sql))

    def _put_number(self, tx: Tx) -> None:
        tx.run(
            "INSERT INTO payment_methods (id, provider, phone_number, account_name, sim_seq, is_active, "
            "line_created_at, created_at, updated_at) VALUES (:id, 'momo_mtn', '+233244124567', 'Ama', "
            "(SELECT seq FROM sims WHERE sim_key = :sim), 1, :now, :now, :now)",
            {"id": LINE, "sim": self.source.sim_key, "now": self.clock.now_us() - MINUTE},
        )


def settings(limit: Limit) -> Config:
    """Return the settings with this limit."""
    return parse_config(f"[trust]\nunconfirmed_limit = {json.dumps(limit)}\n")
