"""A receiver gets every body byte for byte as it was made, however it is stored."""

import hashlib
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.store.engine import Reader
from daemon.store.migrate import migrate
from daemon.store.webhooks import bodies
from tests.fakes.outbox import add_endpoint, lease_one, owe
from tests.fakes.shop import FakeShop

DIGEST = "d80eaa98a748f8685b5aab528eec28e3222ea7b97626d63de517fe73179ade47"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    path = tmp_path_factory.mktemp("shop") / "momo.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        migrate(base, 1)
        yield Reader(base)


@given(st.binary() | st.text().map(str.encode))
def test_any_body_comes_back_as_it_was(reader: Reader, body: bytes) -> None:
    assert bodies.inflate(reader, bodies.NEWEST, bodies.deflate(reader, body)) == body


@given(st.integers(1, 20_000), st.randoms(use_true_random=False))
def test_a_body_of_any_length_comes_back_as_it_was(
    reader: Reader, length: int, random: "st.DataObject"
) -> None:
    body = random.randbytes(length)  # type: ignore[attr-defined]
    assert bodies.inflate(reader, bodies.NEWEST, bodies.deflate(reader, body)) == body


def test_a_body_that_was_cut_off_is_refused(reader: Reader) -> None:
    deflated = bodies.deflate(reader, b'{"type":"transaction.forwarded"}')
    for cut in (deflated[:-1], deflated + b"x"):
        with pytest.raises(zlib.error):
            bodies.inflate(reader, bodies.NEWEST, cut)


def test_a_dictionary_never_changes(reader: Reader) -> None:
    """A change would make the stored bodies unreadable: give a better dictionary the next number."""
    (content,) = reader.one("SELECT content FROM body_dictionaries WHERE number = 1") or ()
    assert hashlib.sha256(content.encode()).hexdigest() == DIGEST


async def test_a_body_keeps_its_dictionary_when_there_is_a_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = await FakeShop.make(tmp_path)
    await add_endpoint(shop)
    await owe(shop, "93214500001")
    (first,) = await shop.bodies()
    newer = "INSERT INTO body_dictionaries (number, content) VALUES (2, :content)"
    await shop.env.store.write(lambda tx: tx.run(newer, {"content": "transaction"}))
    monkeypatch.setattr(bodies, "NEWEST", 2)
    monkeypatch.setattr(bodies, "_contents", {})
    await owe(shop, "93214500002")
    assert await shop.values("SELECT dictionary FROM delivery_bodies ORDER BY delivery_seq") == [
        1,
        2,
    ]
    assert (await shop.bodies())[0] == first
    assert (await lease_one(shop)).body.decode() == first
    shop.close()


async def test_a_real_body_takes_a_quarter_of_its_length(tmp_path: Path) -> None:
    shop = await FakeShop.make(tmp_path)
    await add_endpoint(shop)
    await owe(shop)
    ((stored,), (body,)) = (
        await shop.values("SELECT deflated FROM delivery_bodies"),
        await shop.bodies(),
    )
    assert len(stored) < len(body.encode()) / 4 + 20
    shop.close()
