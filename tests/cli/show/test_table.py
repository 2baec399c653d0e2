"""Tables: every line fits the terminal, only ids are cut, and long values continue on the next lines."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from momo_cli.flags import Flags, Output
from momo_cli.show import table
from momo_cli.show.answer import Answer, Cell, Head, View
from momo_cli.show.terminal import Terminal, open_terminal
from momo_cli.show.wrapping import text_width, wrap_hanging, wrap_words
from tests.cli.conftest import Shop

VIEW = View(
    fields=(),
    heads=(
        Head("STATE", lambda row, _: Cell(row["state"], "green")),
        Head("AMOUNT", lambda row, _: row["amount"], right=True),
        Head("WHY", lambda row, _: row["why"]),
        Head("ID", lambda row, _: row["id"], cut=True),
    ),
)
PAID = {"state": "✓ PAID", "amount": "12.50", "why": "", "id": "0123456789abcdef"}
SHORT = {"state": "! SHORT", "amount": "1,012.50", "why": "paid from 055 000 0099, expected 024 412 4567", "id": "x1"}


@pytest.fixture
def terminal(shop: Shop) -> Terminal:
    made = open_terminal(Flags(output=Output.TABLE), {**shop.environ, "TERM": "xterm"})
    return replace(made, symbols=True)


def drawn(terminal: Terminal, width: int, *rows: dict[str, str]) -> list[str]:
    answer = Answer(rows=rows, heading="Showing orders")
    return list(table.table_lines(replace(terminal, width=width), VIEW, answer, ()))


def test_wide_terminal_shows_everything_on_one_line(terminal: Terminal) -> None:
    assert drawn(terminal, 120, PAID, SHORT) == [
        "Showing orders",
        "STATE      AMOUNT  WHY                                            ID",
        "─" * 82,
        "✓ PAID      12.50                                                 0123456789abcdef",
        "! SHORT  1,012.50  paid from 055 000 0099, expected 024 412 4567  x1",
    ]


def test_ids_are_cut_first_and_then_texts_go_on_below(terminal: Terminal) -> None:
    assert drawn(terminal, 60, PAID, SHORT)[1:] == [
        "STATE      AMOUNT  WHY                             ID",
        "─" * 60,
        "✓ PAID      12.50                                  0123…cdef",
        "! SHORT  1,012.50  paid from 055 000 0099,         x1",
        "                   expected 024 412 4567",
    ]


def test_narrow_terminal_gets_a_few_lines_for_each_row(terminal: Terminal) -> None:
    assert drawn(terminal, 36, PAID, SHORT) == [
        "Showing orders",
        "STATE   ✓ PAID",
        "AMOUNT  12.50",
        "ID      0123456789abcdef",
        "",
        "STATE   ! SHORT",
        "AMOUNT  1,012.50",
        "WHY     paid from 055 000 0099,",
        "        expected 024 412 4567",
        "ID      x1",
    ]


def test_column_that_is_empty_in_every_row_makes_room(terminal: Terminal) -> None:
    assert drawn(terminal, 30, {**PAID, "id": "x1"}) == [
        "Showing orders",
        "STATE   AMOUNT  WHY  ID",
        "─" * 23,
        "✓ PAID   12.50       x1",
    ]
    assert drawn(terminal, 20, {**PAID, "id": "x1"})[1:] == ["STATE   AMOUNT  ID", "─" * 18, "✓ PAID   12.50  x1"]


def test_id_of_a_record_is_whole_so_that_it_can_be_copied(terminal: Terminal) -> None:
    assert drawn(terminal, 20, {**SHORT, "id": PAID["id"]})[-2:] == ["ID", "  0123456789abcdef"]


def test_colour_takes_no_room(terminal: Terminal) -> None:
    plain = drawn(terminal, 60, PAID, SHORT)
    coloured = drawn(replace(terminal, color=True), 60, PAID, SHORT)
    bare = [line.replace("\x1b[1m", "").replace("\x1b[32m", "").replace("\x1b[0m", "") for line in coloured]
    assert "\x1b[32m✓ PAID\x1b[0m " in coloured[3]
    assert bare == plain


def test_terminal_without_symbols_gets_ascii(terminal: Terminal) -> None:
    shown = drawn(replace(terminal, symbols=False), 60, PAID)
    assert all(line.isascii() for line in shown)
    assert shown[3] == "+ PAID   12.50       0123456789abcdef"


def test_letters_that_take_two_columns_keep_the_columns_straight(terminal: Terminal) -> None:
    shown = drawn(terminal, 60, {**PAID, "why": "付款 A"}, {**PAID, "why": "Kofi Ɔsei"})
    places = [text_width(line[: line.index("0123")]) for line in shown[3:]]
    assert len(set(places)) == 1


ids = st.text(st.sampled_from("abc-0123"), max_size=40)
letters = st.text(st.sampled_from("ab付é "), max_size=40)


@given(
    rows=st.lists(
        st.fixed_dictionaries({"state": letters, "amount": st.just("1.00"), "why": letters, "id": ids}),
        min_size=1,
        max_size=4,
    ),
    columns=st.integers(20, 90),
)
@example(rows=[{"state": "", "amount": "1.00", "why": "a", "id": "0" * 21}], columns=20)
def test_no_line_is_wider_than_its_terminal_but_an_id(rows: list[dict[str, str]], columns: int) -> None:
    bare = open_terminal(Flags(output=Output.TABLE), {"HOME": "/nowhere", "TERM": "xterm"})
    shown = drawn(replace(bare, symbols=True), columns, *rows)
    ids = {row["id"] for row in rows}
    assert not [line for line in shown if text_width(line) > columns and line not in ids]


@given(text=letters, room=st.integers(2, 12))
def test_wrapping_loses_no_letter(text: str, room: int) -> None:
    found = wrap_words(text, room)
    assert "".join(found).replace(" ", "") == text.replace(" ", "")
    assert all(text_width(line) <= room for line in found)


def test_line_that_is_too_wide_goes_on_below_its_text() -> None:
    assert wrap_hanging("PHONES    ready  zte-front  last SMS 4m ago", 30) == [
        "PHONES    ready  zte-front",
        "          last SMS 4m ago",
    ]
    assert wrap_hanging("TODAY     42 paid GHS 3,118.50 · 1 to review", 34) == [
        "TODAY     42 paid GHS 3,118.50",
        "          1 to review",
    ]
    assert wrap_hanging("   nothing listens at that address", 20) == ["   nothing listens", "   at that address"]
    assert wrap_hanging("! \x1b[31msome webhooks\x1b[0m were given up", 18) == [
        "! \x1b[31msome webhooks\x1b[0m",
        "  were given up",
    ]


def test_facts_about_one_thing_are_set_in_below_it() -> None:
    assert wrap_hanging("zte-front  ready  last SMS 4m ago", 20, labels=False) == [
        "zte-front  ready",
        "  last SMS 4m ago",
    ]


def test_no_word_is_broken_where_another_column_can_give_way(terminal: Terminal) -> None:
    key = {**SHORT, "state": "svc_live_sk_...Sui1"}
    assert drawn(terminal, 50, key)[3:] == [
        "svc_live_sk_...Sui1  1,012.50  paid from 055    x1",
        "                               000 0099,",
        "                               expected 024",
        "                               412 4567",
    ]


@given(line=st.text(st.sampled_from("ab付é ·-"), max_size=60), columns=st.integers(20, 60))
def test_hanging_loses_no_word_and_is_never_wider_than_it_must_be(line: str, columns: int) -> None:
    found = wrap_hanging(line, columns)
    assert "".join(found).replace(" ", "").replace("·", "").replace("-", "") == line.replace(" ", "").replace(
        "·", ""
    ).replace("-", "")
    widest = max(map(text_width, line.split(" ")))
    assert all(text_width(piece) <= max(columns, widest + 16) for piece in found)


def test_an_id_that_fits_the_line_is_not_set_in_beyond_its_edge() -> None:
    reference = "svc_trx_0123456789abcdef0123456789abcdef"
    assert wrap_hanging(f"  ref       {reference}", 40) == ["  ref", reference]
    assert wrap_hanging(f"  ref       {reference}", 44) == ["  ref", f"    {reference}"]
    assert wrap_hanging(f"  ref       {reference}", 80) == [f"  ref       {reference}"]


def test_an_optional_column_is_shown_only_if_a_row_has_something_in_it(terminal: Terminal) -> None:
    heads = (*VIEW.heads[:2], Head("BRANCH", lambda row, _: row.get("branch", ""), optional=True))
    view = View(fields=(), heads=heads)
    wide = replace(terminal, width=120)

    def head_of(*rows: dict[str, str]) -> str:
        return next(iter(table.table_lines(wide, view, Answer(rows=rows), ())))

    assert head_of(PAID, SHORT).split() == ["STATE", "AMOUNT"]
    assert head_of(PAID, SHORT | {"branch": "kumasi"}).split() == ["STATE", "AMOUNT", "BRANCH"]
