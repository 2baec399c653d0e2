"""Lists of rows and members in statements."""

from hypothesis import given
from hypothesis import strategies as st

from daemon.store.rows import evened, pieces

_MEMBERS = st.lists(st.integers(), max_size=700)


@given(_MEMBERS)
def test_an_evened_list_has_the_same_members_and_few_lengths(members: list[int]) -> None:
    found = evened(members)
    assert [*found[: len(members)]] == members
    assert set(found) == set(members)
    assert len(found) <= max(4, 1.5 * len(members))


@given(_MEMBERS)
def test_pieces_together_are_the_rows(rows: list[int]) -> None:
    assert [one for piece in pieces(rows) for one in piece] == rows


def test_all_numbers_of_rows_take_few_different_statements() -> None:
    numbers = range(1, 257)
    assert len({len(evened([0] * number)) for number in numbers}) == 16
    assert len({len(piece) for number in numbers for piece in pieces([0] * number)}) == 16
    assert max(len([*pieces([0] * number)]) for number in numbers) <= 7
