"""The running balance of a line: what holds for every line, whatever was sent, lost or forged."""

import itertools
import random
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.messages.balance_chain import (
    Entry,
    Standing,
    effects_of,
    id_number,
    in_order,
    is_in_chain,
)
from parsers.read import read
from parsers.reading import Unreadable
from tests.fakes.balance_line import ACCEPTED, FORGED, HELD, UNPROVEN, Line, entry
from tests.fakes.rows import AT


@st.composite
def chains(draw: st.DrawFn, *, debits: bool) -> list[Entry]:
    """A genuine line whose balances are all different, so that nothing joins by chance."""
    effects = draw(st.lists(st.integers(1, 100_000), min_size=2, max_size=14))
    balance = draw(st.integers(0, 1_000_000))
    line: list[Entry] = []
    seen = {balance}
    for number, amount in enumerate(effects):
        leaves = debits and line and amount % 3 == 0 and balance > amount
        effect = -amount if leaves else amount
        while balance + effect in seen:
            effect = abs(effect) + 100_003
        balance += effect
        seen.add(balance)
        line.append(entry(10 * number, effect, balance))
    return line


@given(chains(debits=True))
def test_a_whole_genuine_line_is_never_held(line: list[Entry]) -> None:
    books = Line()
    assert not any(books.tell(new).holds for new in line)
    assert set(books.standings().values()) == {ACCEPTED}
    assert books.gaps() == {}


@given(chains(debits=False), st.randoms(use_true_random=False))
def test_a_genuine_line_in_any_order_ends_accepted_and_without_a_gap(
    line: list[Entry], dice: random.Random
) -> None:
    books = Line()
    for new in dice.sample(line, len(line)):
        books.tell(new)
    assert books.standings() == dict.fromkeys(sorted(new.key for new in line), ACCEPTED)
    assert books.gaps() == {}


@given(chains(debits=True), st.integers(0, 1 << 14))
def test_only_what_stands_behind_a_lost_message_is_held(line: list[Entry], lost: int) -> None:
    books = Line()
    for number, new in enumerate(line):
        if lost >> number & 1:
            continue
        ruling = books.tell(new)
        if ruling.holds:
            # The message before it is lost, or the wallet stands where it stood before the loss.
            assert number > 0
            assert lost >> (number - 1) & 1
    # A hold that is left has lost its neighbour on both sides, or nothing came after it.
    last = max((number for number in range(len(line)) if not lost >> number & 1), default=0)
    for number, new in enumerate(line[:last]):
        if not lost >> number & 1 and books.entries[new.key].standing is HELD:
            assert lost >> (number + 1) & 1
    assert FORGED not in books.standings().values()
    check_books(books)


def check_books(books: Line) -> None:
    """Between accepted messages, what was told and what is unaccounted for give the balance."""
    known = [kept for kept in in_order(books.entries.values()) if kept.standing is ACCEPTED]
    for before, after in itertools.pairwise(known):
        assert before.after is not None
        assert after.gap_minor is not None
        between = [
            kept.effects[0]
            for kept in in_order(books.entries.values())
            if kept.standing is UNPROVEN and before.seq < kept.seq < after.seq
        ]
        told = before.after + sum(between) + after.effects[0]
        assert after.after == told + after.gap_minor


@given(chains(debits=True), st.integers(1, 200_000), st.integers(0, 2_000_000), st.data())
def test_a_spoofer_who_does_not_know_the_balance_is_never_accepted_between_two_receipts(
    line: list[Entry], amount: int, after: int, data: st.DataObject
) -> None:
    balances = {new.after for new in line} | {new.balances_before[0] for new in line}
    place = data.draw(st.integers(0, len(line) - 2))
    if after in balances or after - amount in balances:
        after = amount + 10_000_019
    forged = entry(10 * place + 5, amount, after, key="forged")
    late = data.draw(st.booleans())
    books = Line()
    for number, new in enumerate(line):
        assert not books.tell(new).holds
        if number == place + late:
            assert books.tell(forged).holds
    assert books.standings()["forged"] is FORGED
    assert {kept.standing for key, kept in books.entries.items() if key != "forged"} == {ACCEPTED}
    assert books.gaps() == {}


@given(
    chains(debits=False),
    st.integers(0, 1 << 14),
    st.integers(1, 200_000),
    st.integers(0, 2_000_000),
    st.integers(0, 14),
)
def test_lost_messages_do_not_help_the_spoofer(
    line: list[Entry], lost: int, amount: int, after: int, place: int
) -> None:
    # Receipts only: a debit that breaks the chain explains a break, whoever makes use of it.
    balances = {new.after for new in line} | {new.balances_before[0] for new in line}
    if after in balances or after - amount in balances:
        after = amount + 10_000_019
    books = Line()
    books.tell(line[0])
    for number, new in enumerate(line[1:], 1):
        if number == place:
            assert books.tell(entry(10 * number - 5, amount, after, key="forged")).holds
        if not lost >> number & 1:
            books.tell(new)
    assert books.standings().get("forged") in {HELD, FORGED, None}
    check_books(books)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 12), st.integers(-6, 6), st.none() | st.integers(0, 12), st.booleans()
        ),
        max_size=14,
    )
)
def test_the_books_close_whatever_is_told(
    told: Iterable[tuple[int, int, int | None, bool]],
) -> None:
    books = Line()
    for seq, (number, effect, after, doubted) in enumerate(told):
        new = entry(number, effect, after, doubted=doubted, key=f"k{seq}", at=AT + seq)
        ruling = books.tell(replace(new, seq=seq))
        assert Standing.NEW not in {kept.standing for kept in books.entries.values()}
        assert ruling.holds <= new.pays
        for change in ruling.changes:
            # What a message says never changes, only what is thought of it.
            same = replace(change.before, standing=change.after.standing, gap_minor=None)
            assert same == replace(change.after, gap_minor=None)
            assert change.before.standing is not FORGED


def test_ids_are_numbers_that_rise_with_time() -> None:
    assert id_number("0000014673911819") == 14673911819
    assert id_number(None) is None
    assert id_number("TJK2P9QA53") is None
    early, late = id_number("PP260922.2359.C09999"), id_number("CI260923.0000.A00001")
    assert early is not None
    assert late is not None
    assert early < late


def test_messages_without_an_id_stand_where_their_time_puts_them() -> None:
    line = [entry(1, 1, 1), entry(3, 1, 2), entry(2, None, None, with_id=False)]
    assert [kept.key for kept in in_order(line)] == ["m1", "m2", "m3"]


SENT = (
    "Payment made for GHS 500.00 to AKUA FREMA Current Balance: GHS 1233.10 . Available Balance: GHS 1233.10. "
    "Reference: 1423. Transaction ID: 22972414527. Fee charged: GHS3.75 Tax charged: 4.00."
)
RECEIVED = (
    "Payment received for GHS 70.00 from ESI NAANA QUANSAH  Current Balance: GHS 628.92 . Available Balance: GHS "
    "628.92. Reference: Q4T9WD. Transaction ID: 85614800061. TRANSACTION FEE: 0.50"
)


@pytest.mark.parametrize(
    ("text", "effects"), [(SENT, (-50775, -50375, -50000)), (RECEIVED, (6950,))]
)
def test_what_a_message_did_to_the_balance(text: str, effects: tuple[int, ...]) -> None:
    reading = read("MobileMoney", text)
    assert (effects_of(reading), is_in_chain(reading)) == (effects, True)


def test_an_unreadable_message_may_have_done_anything() -> None:
    assert effects_of(Unreadable("no known wording")) == ()
    assert is_in_chain(Unreadable("no known wording"))
