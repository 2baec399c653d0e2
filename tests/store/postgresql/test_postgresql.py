"""The store on a PostgreSQL server, as a hub will have it. Skipped where PostgreSQL is not installed."""

import asyncio
from collections.abc import Coroutine
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from daemon.core.errors import Refusal, Unavailable
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.store.engine import Store
from daemon.store.migrate import NotCopied, migrations
from daemon.store.payments import transactions
from daemon.store.postgresql import connection as store_connection
from daemon.store.postgresql.server import Server, copy_shop
from daemon.wire import ErrorCode, FaultCause
from tests.fakes import new_database, postgresql
from tests.fakes.branches import Chain, FakeBranch
from tests.fakes.receipts import mtn
from tests.fakes.shop import FakeShop

NOW = 1_795_248_000_000_000


@pytest.fixture(autouse=True)
def _on_postgresql(monkeypatch: pytest.MonkeyPatch) -> None:
    postgresql.cluster()
    new_database.use_postgresql(monkeypatch)


def test_every_table_and_index_of_the_schema_is_made() -> None:
    url = postgresql.cluster().new_database()
    with psycopg.connect(url) as connection:
        for step in migrations():
            for statement in store_connection.schema(step.sql):
                connection.execute(statement.encode())
        made = {
            name
            for (name,) in connection.execute("SELECT relname FROM pg_class WHERE relkind IN ('r', 'i')").fetchall()
        }
    words = [line.split() for step in migrations() for line in step.sql.splitlines()]
    tables = {word[2] for word in words if word[:2] == ["CREATE", "TABLE"]}
    indexes = {word[word.index("INDEX") + 1] for word in words if word[:1] == ["CREATE"] and "INDEX" in word[:3]}
    assert len(tables) > 40
    assert tables | indexes <= made | {"messages_by_sender"}, "a hub's messages are of few senders"


async def test_a_receipt_pays_its_transaction(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    with closing(shop):
        await shop.begin_chain()
        asked = await shop.request(2_500)
        await shop.read(
            mtn(2_500, "KWABENA KONADU DANKWA-EBO", shop.wallet(2_500), asked.svc_code or "", "86100000001")
        )
        (paid,) = await shop.payments()
        found = await shop.env.store.look(lambda reader: transactions.get(reader, asked.id))
        assert found is not None
        assert (found.payment_id, paid.amount_minor) == (paid.id, 2_500)


async def test_an_sms_with_a_character_that_the_server_has_not_is_stored(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path, line=True)
    with closing(shop):
        strange = encode_deliver("+233241234567", "hi \0 \u4f60", datetime(2026, 11, 21, tzinfo=UTC))
        await shop.read_pdus(strange)
        assert await shop.values("SELECT body FROM messages") == ["hi \ufffd \u4f60"]


async def test_a_text_with_a_character_that_the_server_has_not_finds_nothing() -> None:
    with closing(postgresql.empty_store(NOW)) as store:
        found = await store.read(
            lambda reader: (
                reader.exists("SELECT 1 FROM payments WHERE id = :id", {"id": "a\0"}),
                reader.all_among("SELECT id FROM payments WHERE id IN (members)", ["a\0"]),
            )
        )
        assert found == (False, [])


async def test_a_shop_whose_file_has_a_character_that_the_server_has_not_moves(tmp_path: Path) -> None:
    with new_database.in_files():
        shop = await FakeShop.make(tmp_path / "shop #1")
    with closing(shop):
        asked = await shop.request(2_500)
        await shop.env.store.write(lambda tx: tx.run("UPDATE transactions SET customer_name = :text", {"text": "a\0b"}))
        url = postgresql.cluster().new_database()
        copy_shop(shop.env.store.path, url, NOW)
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT id, customer_name FROM transactions").fetchall()
    assert found == [(asked.id, "a\ufffdb")]


async def test_a_branch_does_not_move_and_a_shop_on_a_server_does_not_join(tmp_path: Path) -> None:
    chain = await Chain.make(tmp_path, "kumasi")
    with closing(chain):
        url = postgresql.cluster().new_database()
        with pytest.raises(NotCopied, match="this shop is a branch") as not_copied:
            copy_shop(chain["kumasi"].shop.env.store.path, url, NOW)
        assert not_copied.value.next_step == "momo hub leave"
        with psycopg.connect(url) as connection:
            made = "SELECT COUNT(*) FROM pg_class WHERE relname = 'shop'"
            assert connection.execute(made).fetchone() == (0,)

        late = FakeBranch(await FakeShop.make(tmp_path / "late"), chain.hub, tmp_path / "late")
        with closing(late.shop), pytest.raises(Refusal, match="keeps its data in a file"):
            await late.join("late")
        joined = await chain.hub.values("SELECT name FROM branches WHERE status = 'joined'")
        assert joined == ["kumasi"]


async def test_a_second_daemon_waits_until_the_first_one_ends() -> None:
    first = postgresql.empty_store(NOW)
    second = Store(first.path, Server(first.path))
    with closing(second):
        with closing(first):
            with pytest.raises(Unavailable, match="standby: waiting for the writer, momo on"):
                second.connect(NOW)
            assert second.fault is not None
        second.connect(NOW)
        await second.write(lambda tx: tx.run("DELETE FROM notices"))
        assert second.fault is None


async def test_a_reading_connection_cannot_write() -> None:
    store = postgresql.empty_store(NOW)
    with closing(store), pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        await store.read(lambda reader: reader.one("DELETE FROM notices RETURNING seq"))


async def test_the_jobs_of_a_commit_fail_alone() -> None:
    store = postgresql.empty_store(NOW)
    with closing(store):

        def secret(name: str) -> Coroutine[Any, Any, int]:
            return store.write(
                lambda tx: tx.run(
                    "INSERT INTO sealed_secrets (name, sealed, set_at) VALUES (:name, 'x', 1)", {"name": name}
                )
            )

        results = await asyncio.gather(secret("a"), secret("a"), secret("b"), return_exceptions=True)
        kept = await store.read(lambda reader: reader.all("SELECT name FROM sealed_secrets ORDER BY name"))
    assert [type(one).__name__ for one in results] == ["int", "UniqueViolation", "int"]
    assert kept == [("a",), ("b",)]


async def test_a_server_that_is_gone_makes_the_store_unavailable_and_its_return_heals_it() -> None:
    server = postgresql.Cluster(postgresql.SETTINGS[0])
    try:
        url = server.new_database()
        store = Store(url, Server(url))
        store.connect(NOW)
        server.stop("immediate")
        with pytest.raises(Unavailable, match="the database server cannot be used"):
            await store.write(lambda tx: tx.run("DELETE FROM notices"))
        store.disconnect()
        server.start()
        store.connect(NOW)
        await store.write(lambda tx: tx.run("DELETE FROM notices"))
        assert store.fault is None
        store.close()
    finally:
        server.remove()


async def test_a_search_ignores_the_case_of_letters(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    with closing(shop):
        asked = await shop.request(2_500, customer_name="Abena MENSAH")
        found = await shop.env.store.read(
            lambda reader: reader.all(
                "SELECT id FROM transactions WHERE customer_name LIKE :text", {"text": "%mensah%"}
            )
        )
        assert found == [(asked.id,)]


@pytest.mark.parametrize("on_server", [False, True])
async def test_a_payment_that_another_writer_has_used_is_refused_by_its_constraint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_server: bool
) -> None:
    if not on_server:
        monkeypatch.undo()  # the fixture of this module
    shop = await FakeShop.make(tmp_path)
    with closing(shop):
        await shop.begin_chain()
        first, second = await shop.request(2_500), await shop.request(2_500)
        name = "KWABENA KONADU DANKWA-EBO"
        await shop.read(mtn(2_500, name, shop.wallet(2_500), first.svc_code or "", "86100000001"))
        (paid,) = await shop.payments()
        with pytest.raises(Refusal) as refused:
            await shop.env.store.write(
                lambda tx: tx.run(
                    "UPDATE transactions SET status = 'SUCCESS', payment_seq = :payment, completed_at = 1 "
                    "WHERE id = :id",
                    {"payment": paid.seq, "id": second.id},
                )
            )
        assert refused.value.code is ErrorCode.TRANSACTION_ID_ALREADY_USED


async def test_a_server_that_refuses_writes_is_noticed_without_a_payment() -> None:
    with closing(postgresql.empty_store(NOW)) as store:
        await store.check_writable()
        await store.write(lambda tx: tx.run("SET default_transaction_read_only = on"))
        with pytest.raises(Unavailable):
            await store.check_writable()
        assert store.fault is not None
        assert store.fault.cause is FaultCause.DATABASE_UNREADABLE
