"""The running balance of a line (decisions.md section 4, rule 5)."""

import itertools
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.balance import (
    HELD_US_MAX,
    BalanceCheck,
    Ruling,
    Unaccounted,
    decide,
    judge,
    overdue,
    unaccounted,
)
from daemon.core.balance_line import (
    Away,
    Entry,
    Gap,
    Standing,
    Why,
    effects_of,
    id_number,
    in_order,
    matters,
)
from daemon.core.limits import MINUTE_US
from parsers.read import read
from parsers.reading import Unreadable
from tests.fakes.rows import AT

ACCEPTED, HELD, FORGED = Standing.ACCEPTED, Standing.HELD, Standing.FORGED
SUSPECT, UNPROVEN, NOTED = Standing.SUSPECT, Standing.UNPROVEN, Standing.NOTED


def entry(
    number: int,
    effect: int | None,
    after: int | None,
    *,
    pays: bool | None = None,
    doubted: bool = False,
    at: int | None = None,
    key: str | None = None,
    with_id: bool = True,
) -> Entry:
    """A message; `number` is its place in time and in the order of IDs."""
    when = AT + number * MINUTE_US if at is None else at
    return Entry(
        key=key or f"m{number}",
        seq=number,
        at=when,
        stored_at=when,
        telco_id=f"{93_000_000_000 + number}" if with_id else None,
        pays=(effect or 0) > 0 if pays is None else pays,
        effects=() if effect is None else (effect,),
        after=after,
        doubted=doubted,
    )


class Line:
    """A line that remembers what it was told, as the store will."""

    def __init__(
        self, *, check: BalanceCheck = BalanceCheck.REVIEW, away: Sequence[Away] = ()
    ) -> None:
        self.entries: dict[str, Entry] = {}
        self.check = check
        self.away = away

    def tell(self, *news: Entry) -> Ruling:
        for new in news:
            ruling = judge(self.entries.values(), new, away=self.away, check=self.check)
            if ruling.why is not Why.ID_TAKEN:
                self.keep(ruling)
        return ruling

    def keep(self, ruling: Ruling) -> None:
        for change in ruling.changes:
            assert self.entries[change.before.key] == change.before
            self.entries[change.after.key] = change.after
        self.entries[ruling.entry.key] = ruling.entry

    def standings(self) -> dict[str, Standing]:
        return {key: self.entries[key].standing for key in sorted(self.entries)}

    def gaps(self) -> dict[str, int]:
        return {key: kept.gap_minor for key, kept in self.entries.items() if kept.gap_minor}


FIRST = entry(10, 2500, 10000)


def test_the_first_receipt_of_a_line_is_accepted() -> None:
    ruling = Line().tell(FIRST)
    assert ruling == Ruling(replace(FIRST, standing=ACCEPTED), Why.FIRST)
    assert not ruling.holds


def test_a_receipt_that_finds_the_balance_is_accepted() -> None:
    new = entry(11, 500, 10500)
    ruling = judge([replace(FIRST, standing=ACCEPTED)], new)
    assert ruling == Ruling(replace(new, standing=ACCEPTED, gap_minor=0), Why.JOINS)


def test_outgoing_money_and_its_fee_are_taken_into_account() -> None:
    line = Line()
    ruling = line.tell(FIRST, entry(11, -4038, 5962), entry(12, 1000, 6962))
    assert (ruling.why, line.gaps()) == (Why.JOINS, {})


def test_an_unexplained_break_is_held_and_names_the_amount() -> None:
    line = Line()
    ruling = line.tell(FIRST, entry(11, 1000, 14000))
    assert ruling.holds
    assert (ruling.entry.standing, ruling.why) == (HELD, Why.BREAKS)
    assert ruling.gaps == (Gap("m10", 3000),)


def test_a_hold_is_released_when_the_next_receipt_chains_from_it() -> None:
    line = Line()
    ruling = line.tell(FIRST, entry(11, 1000, 14000), entry(12, 200, 14200))
    (change,) = ruling.changes
    assert (change.released, change.forged, change.suspect) == (True, False, False)
    assert (change.after.key, change.after.gap_minor) == ("m11", 3000)
    assert line.standings() == {"m10": ACCEPTED, "m11": ACCEPTED, "m12": ACCEPTED}


def proven(**settings: object) -> Line:
    """A line of two receipts that join."""
    line = Line(**settings)  # type: ignore[arg-type]  # only the two settings of a line
    line.tell(FIRST, entry(11, 500, 10500))
    return line


def test_a_released_hold_leaves_its_gap_reported_as_missing() -> None:
    line = proven()
    ruling = line.tell(entry(13, 1000, 14500), entry(14, 200, 14700))
    assert [change.released for change in ruling.changes] == [True]
    assert line.standings() == dict.fromkeys(("m10", "m11", "m13", "m14"), ACCEPTED)
    assert line.gaps() == {"m13": 3000}
    assert unaccounted(line.entries.values()) == Unaccounted(3000, 0, AT + 13 * MINUTE_US)


def test_a_held_receipt_is_forged_when_the_next_chains_from_the_balance_before() -> None:
    line = proven()
    ruling = line.tell(entry(12, 9000, 80000), entry(13, 200, 10700))
    assert [change.forged for change in ruling.changes] == [True]
    assert line.standings()["m12"] is FORGED
    assert ruling.why is Why.JOINS
    assert unaccounted(line.entries.values()) == Unaccounted(0, 0, None)


def test_a_late_message_closes_the_gap_and_releases_the_hold() -> None:
    line = proven()
    assert line.tell(entry(13, 1000, 14500)).holds
    ruling = line.tell(entry(12, 3000, 13500))
    assert (ruling.why, ruling.changes[0].released) == (Why.JOINS, True)
    assert line.gaps() == {}


def test_a_late_message_makes_a_reported_gap_smaller() -> None:
    line = proven()
    line.tell(entry(14, 1000, 14500), entry(15, 200, 14700))
    assert line.gaps() == {"m14": 3000}
    line.tell(entry(13, 1200, 13500))
    assert line.gaps() == {"m13": 1800}


def test_a_late_forgery_between_two_that_join_is_forged_at_once() -> None:
    line = proven()
    ruling = line.tell(replace(entry(105, 900, 90000), telco_id="93000000010.5"))
    assert ruling.holds
    line = Line()
    line.tell(FIRST, entry(13, 500, 10500))
    ruling = line.tell(entry(11, 900, 90000))
    assert (ruling.entry.standing, ruling.why) == (FORGED, Why.CONTRADICTED)
    assert ruling.holds


@pytest.mark.parametrize("first", ["m12", "m13"])
def test_payments_of_one_moment_may_be_booked_against_the_order_of_their_ids(first: str) -> None:
    line = proven()
    pair = [entry(12, 700, 11400), entry(13, 200, 10700)]
    for new in sorted(pair, key=lambda new: new.key != first):
        line.tell(new)
    assert set(line.standings().values()) == {ACCEPTED}
    assert line.tell(entry(14, 100, 11500)).why is Why.JOINS
    assert line.gaps() == {}


def test_a_late_receipt_that_only_starts_where_its_neighbour_starts_is_held() -> None:
    line = Line()
    line.tell(FIRST, entry(13, 500, 10500))
    ruling = line.tell(entry(11, 900, 10900))
    assert (ruling.entry.standing, ruling.why) == (HELD, Why.CONTRADICTED)


def test_money_that_came_and_left_again_is_put_right_when_both_messages_come_late() -> None:
    line = Line()
    line.tell(FIRST, entry(15, 500, 10500))
    assert line.tell(entry(12, 700, 10700)).holds
    ruling = line.tell(entry(13, -700, 10000))
    assert [change.released for change in ruling.changes] == [True]
    assert set(line.standings().values()) == {ACCEPTED}
    assert line.gaps() == {}


def test_a_debit_without_a_balance_explains_and_fits_when_it_says_what_it_took() -> None:
    line = proven()
    assert line.tell(entry(12, -500, None)).entry.standing is NOTED
    assert line.tell(entry(13, 200, 10200)).why is Why.JOINS


def test_a_debit_that_took_something_else_explains_the_break() -> None:
    line = proven()
    ruling = line.tell(entry(12, -500, None), entry(13, 200, 9200))
    assert (ruling.entry.standing, ruling.why) == (ACCEPTED, Why.EXPLAINED)
    assert ruling.gaps == (Gap("m11", -1000),)
    assert unaccounted(line.entries.values()).went_out_minor == 1000


def test_an_unreadable_message_explains_a_break_and_the_chain_goes_on_from_there() -> None:
    line = proven()
    unread = entry(12, None, None, with_id=False)
    ruling = line.tell(unread, entry(13, 200, 15700))
    assert (ruling.why, ruling.gaps) == (Why.EXPLAINED, (Gap("m11", 5000),))
    assert line.tell(entry(14, 300, 16000)).why is Why.JOINS
    assert line.gaps() == {"m13": 5000}


def test_an_unreadable_message_before_the_last_known_balance_explains_nothing() -> None:
    line = Line()
    line.tell(FIRST, entry(11, None, None, with_id=False), entry(12, 500, 10500))
    assert line.tell(entry(13, 200, 15700)).holds


def test_an_unreadable_message_after_the_receipt_explains_nothing() -> None:
    line = proven()
    line.tell(entry(12, 200, 15700), entry(13, None, None, with_id=False))
    assert line.standings()["m12"] is HELD


def test_an_explanation_that_comes_late_releases_the_hold() -> None:
    line = proven()
    line.tell(entry(13, 200, 15700))
    ruling = line.tell(entry(12, None, None, with_id=False))
    assert [change.released for change in ruling.changes] == [True]
    assert line.gaps() == {"m13": 5000}


def test_a_promotion_is_no_explanation() -> None:
    line = proven()
    line.tell(entry(12, 0, None, pays=False, with_id=False))
    assert line.tell(entry(13, 200, 15700)).holds


@pytest.mark.parametrize(
    ("since", "until", "explained"),
    [(11, 13, True), (12, None, True), (0, 10, False), (14, 15, False), (0, 11, True)],
)
def test_the_modem_having_been_away_explains_a_break(
    since: int, until: int | None, *, explained: bool
) -> None:
    away = Away(AT + since * MINUTE_US, None if until is None else AT + until * MINUTE_US)
    assert proven(away=[away]).tell(entry(13, 200, 15700)).holds is not explained


def test_a_balance_below_the_amount_is_held_whatever_explains_it() -> None:
    away = [Away(AT, None)]
    ruling = proven(away=away).tell(entry(13, 2000, 1999))
    assert (ruling.entry.standing, ruling.why) == (HELD, Why.IMPOSSIBLE)
    assert Line().tell(entry(13, 2000, 1999)).holds


def test_a_balance_equal_to_the_previous_one_is_held_whatever_explains_it() -> None:
    # A genuine text sent again with another ID.
    ruling = proven(away=[Away(AT, None)]).tell(entry(12, 500, 10500))
    assert (ruling.entry.standing, ruling.why) == (HELD, Why.REPEATED)


def test_a_repeated_balance_is_not_released_by_a_receipt_that_fits_without_it() -> None:
    line = proven()
    line.tell(entry(12, 500, 10500), entry(13, 100, 10600))
    assert line.standings() == {"m10": ACCEPTED, "m11": ACCEPTED, "m12": HELD, "m13": ACCEPTED}


def test_a_forgery_that_knew_the_balance_is_flagged_by_the_next_genuine_receipt() -> None:
    line = proven()
    assert not line.tell(entry(12, 9000, 19500)).holds
    ruling = line.tell(entry(13, 200, 10700))
    assert (ruling.why, ruling.entry.standing) == (Why.SKIPS, ACCEPTED)
    assert [(change.after.key, change.suspect) for change in ruling.changes] == [("m12", True)]
    assert line.tell(entry(14, 300, 11000)).why is Why.JOINS
    assert line.gaps() == {}


def test_a_forged_first_receipt_shows_as_money_that_is_gone() -> None:
    line = Line()
    line.tell(FIRST)
    assert line.tell(entry(11, 200, 700)).holds
    line.tell(entry(12, 300, 1000))
    assert line.gaps() == {"m11": -9500}


def test_a_forgery_excused_by_an_absence_is_flagged_once_the_genuine_ones_chain() -> None:
    line = proven(away=[Away(AT + 12 * MINUTE_US, AT + 13 * MINUTE_US)])
    assert line.tell(entry(14, 9000, 80000)).why is Why.EXPLAINED
    assert line.tell(entry(15, 200, 11700)).holds
    line.tell(entry(16, 100, 11800))
    assert line.standings()["m14"] is SUSPECT
    assert line.gaps() == {"m15": 1000}


def test_two_held_receipts_apart_name_the_amount_from_both_balances() -> None:
    line = proven()
    line.tell(entry(13, 1000, 14500))
    ruling = line.tell(entry(15, 100, 15000))
    assert ruling.gaps == (Gap("m11", 4400), Gap("m13", 400))


def test_messages_that_both_came_by_a_new_route_do_not_prove_each_other() -> None:
    line = proven()
    line.tell(entry(12, 1000, 50000, doubted=True))
    assert line.tell(entry(13, 1000, 51000, doubted=True)).holds
    assert line.standings()["m12"] is HELD


def test_a_message_by_the_known_route_proves_one_that_came_by_a_new_one() -> None:
    line = proven()
    line.tell(entry(12, 1000, 50000, doubted=True))
    assert not line.tell(entry(13, 1000, 51000)).holds
    assert line.standings()["m12"] is ACCEPTED


def test_a_new_route_together_with_an_explained_break_is_held() -> None:
    # decisions.md section 4, rule 6: a new SMSC counts together with another doubt.
    line = proven(away=[Away(AT, None)])
    assert line.tell(entry(12, 1000, 50000, doubted=True)).holds
    assert not line.tell(entry(13, 500, 11000, doubted=True)).holds


def test_an_unreadable_message_by_a_new_route_explains_nothing() -> None:
    line = proven()
    line.tell(entry(12, None, None, with_id=False, doubted=True))
    assert line.tell(entry(13, 200, 15700)).holds


def test_a_debit_that_breaks_is_no_known_balance_until_the_next_message_joins_it() -> None:
    line = proven()
    ruling = line.tell(entry(13, -200, 13300))
    assert (ruling.entry.standing, ruling.holds) == (UNPROVEN, False)
    assert ruling.gaps == (Gap("m11", 3000),)
    assert line.tell(entry(14, 100, 13400)).why is Why.JOINS
    assert line.gaps() == {"m13": 3000}


def test_the_first_receipt_is_accepted_also_behind_a_debit_that_it_does_not_join() -> None:
    line = Line()
    line.tell(entry(9, -100, 2000))
    ruling = line.tell(FIRST)
    assert (ruling.why, ruling.gaps) == (Why.FIRST, (Gap("m9", 5500),))


def test_a_receipt_without_a_balance_waits_for_the_next_one() -> None:
    for after, standing in ((11100, ACCEPTED), (10600, FORGED)):
        line = proven()
        assert line.tell(entry(12, 500, None)).holds
        line.tell(entry(13, 100, after))
        assert line.standings()["m12"] is standing
    assert not Line().tell(entry(12, 500, None)).holds


def test_an_id_that_the_line_has_is_not_judged() -> None:
    line = proven()
    ruling = line.tell(entry(11, 9000, 19500, key="again"))
    assert (ruling.why, ruling.holds, ruling.changes) == (Why.ID_TAKEN, True, ())


def test_balance_check_warn_accepts_and_says_so() -> None:
    line = proven(check=BalanceCheck.WARN)
    ruling = line.tell(entry(12, 9000, 80000))
    assert (ruling.holds, ruling.warning, ruling.gaps) == (False, True, (Gap("m11", 60500),))
    # The wallet goes on from the balance before: the accepted one is flagged.
    line.tell(entry(13, 200, 10700))
    assert line.standings()["m12"] is SUSPECT
    assert line.tell(entry(14, 200, 10700)).entry.standing is SUSPECT


def test_balance_check_off_accepts_everything_and_says_nothing() -> None:
    line = proven(check=BalanceCheck.OFF)
    ruling = line.tell(entry(12, 9000, 1))
    assert (ruling.holds, ruling.warning, ruling.gaps) == (False, False, ())
    assert line.tell(entry(13, -1, None)).entry.standing is NOTED


def test_a_person_who_accepts_a_held_receipt_settles_those_behind_it() -> None:
    line = proven()
    line.tell(entry(13, 1000, 14500), entry(15, 100, 15000))
    ruling = decide(line.entries.values(), "m13", genuine=True)
    assert (ruling.why, ruling.entry.standing, ruling.entry.gap_minor) == (
        Why.PERSON,
        ACCEPTED,
        3000,
    )
    line.keep(ruling)
    assert line.tell(entry(14, 400, 14900)).why is Why.JOINS
    assert line.standings()["m15"] is ACCEPTED


def test_a_person_who_rejects_a_held_receipt_takes_it_out_of_the_chain() -> None:
    line = proven()
    line.tell(entry(13, 1000, 14500))
    line.keep(decide(line.entries.values(), "m13", genuine=False))
    assert line.standings()["m13"] is FORGED
    assert line.tell(entry(14, 100, 14600)).holds


def test_a_receipt_held_for_half_an_hour_is_due_for_a_notice() -> None:
    line = proven()
    held = line.tell(entry(12, 9000, 80000)).entry
    entries = line.entries.values()
    assert overdue(entries, held.stored_at + HELD_US_MAX - 1) == []
    assert overdue(entries, held.stored_at + HELD_US_MAX) == [held]


# What holds for all of them.


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
    balances = {new.after for new in line} | {new.befores[0] for new in line}
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
    balances = {new.after for new in line} | {new.befores[0] for new in line}
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
    assert (effects_of(reading), matters(reading)) == (effects, True)


def test_an_unreadable_message_may_have_done_anything() -> None:
    assert effects_of(Unreadable("no known wording")) == ()
    assert matters(Unreadable("no known wording"))
