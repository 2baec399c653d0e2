"""The format of the message journal: only whole, genuine lines are read, and erased parts stay erased."""

import random
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from daemon.core.messages import message_journal as journal
from daemon.core.messages.message_journal import Erased, JournalHeader, Record
from tests.fakes.seed import seed

KEY = journal.journal_key(b"k" * 32)
_TEXT = st.text(max_size=40)
_RECORDS = st.builds(
    Record,
    received_at=st.integers(0, 2**60),
    sim_key=_TEXT,
    device_id=_TEXT,
    slot_index=st.integers(0, 9),
    network=st.none() | _TEXT,
    since=st.integers(0, 2**60),
    storage=_TEXT,
    slot=st.integers(0, 255),
    tpdu_length=st.integers(0, 255),
    pdu=st.binary(max_size=60).map(lambda octets: octets.hex().upper()) | _TEXT,
)


def part(number: int, *, received_at: int | None = None) -> Record:
    at = number if received_at is None else received_at
    return Record(at, "8923301000000000012", "device", 0, "mtn", 0, "SM", 1, 3, f"00{number:04X}")


def file_of(entries: list[Record]) -> bytes:
    lines: list[journal.Entry] = [JournalHeader(1, journal.shop_mark(KEY)), *entries]
    return b"".join(journal.encode(one, KEY) for one in lines)


def read(data: bytes, key: bytes = KEY) -> list[Record | Erased]:
    return journal.decode_all(data.splitlines(keepends=True), key)


@given(st.lists(_RECORDS, max_size=5))
def test_each_record_is_read_as_it_was_written(records: list[Record]) -> None:
    assert read(file_of(records)) == records


@given(st.lists(_RECORDS, min_size=1, max_size=4), st.data())
def test_after_a_cut_the_records_before_it_are_read_and_nothing_else(
    records: list[Record], data: st.DataObject
) -> None:
    whole = file_of(records)
    cut = data.draw(st.integers(0, len(whole)))
    found = read(whole[:cut])
    assert found == records[: len(found)]
    complete = len(file_of(records[: len(found) + 1]))
    assert len(found) == len(records) or cut < complete


@given(st.lists(_RECORDS, min_size=1, max_size=4), st.data())
def test_a_changed_byte_never_gives_a_wrong_record_and_costs_at_most_two(
    records: list[Record], data: st.DataObject
) -> None:
    whole = bytearray(file_of(records))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    found = read(bytes(whole))
    lines: Iterator[Record | Erased] = iter(records)
    assert all(one in lines for one in found), "only records that were written, in their order"
    assert len(found) >= len(records) - 2
    before = sum(1 for number in range(len(records)) if len(file_of(records[: number + 1])) <= at)
    assert found[:before] == records[:before]


def test_lines_of_another_shop_are_not_read() -> None:
    other = journal.journal_key(b"o" * 32)
    assert read(file_of([part(1)]), other) == []
    assert journal.shop_mark(other) != journal.shop_mark(KEY)


def test_a_line_of_an_unknown_kind_is_not_read() -> None:
    line = journal.encode(part(1), KEY)
    data = line[33:].replace(b'"part"', b'"else"')
    forged = journal._mac(data.strip(), KEY) + b" " + data
    assert read(forged) == []


def test_an_erased_part_stays_erased_when_files_are_merged() -> None:
    ours = journal.erase([part(1), part(2)], {part(2).key})
    assert ours == [part(1), Erased(*part(2).key)]
    assert set(journal.merge(ours, [part(1), part(2), part(3)])) == {part(1), Erased(*part(2).key), part(3)}


def test_a_merge_keeps_each_part_once_in_the_order_of_arrival() -> None:
    parts = [part(number) for number in range(20)]
    rng = random.Random(seed())
    ours, theirs = rng.sample(parts, 12), rng.sample(parts, 12)
    merged = journal.merge(ours, theirs)
    assert merged == sorted({*ours, *theirs}, key=lambda one: one.received_at)
