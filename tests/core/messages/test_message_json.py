"""A message as JSON, with its neighbours on the line."""

from msgspec.structs import replace

from daemon.core.messages.balance_chain import Entry, Standing, Why
from daemon.core.messages.message_json import ChainPosition, balance_chain
from tests.fakes.rows import AT


def entry(number: int, effect: int, after: int | None, **changes: object) -> Entry:
    plain = Entry(
        key=f"m{number}", seq=number, at=AT, stored_at=AT, telco_id=f"{number}", pays=True, effects=(effect,),
        after=after, standing=Standing.ACCEPTED, gap_minor=0,
    )  # fmt: skip
    return replace(plain, **changes)  # fields by name


def test_two_neighbours_on_each_side_are_shown_in_the_order_of_the_line() -> None:
    here = entry(
        4,
        2500,
        70_000,
        standing=Standing.UNCONFIRMED,
        why=Why.BREAKS,
        doubts=("reference_too_long",),
        gap_minor=None,
    )
    beside = [entry(number, 100, 1000 * number) for number in (6, 2, 1, 3, 5, 7)]
    shown = balance_chain(ChainPosition(here, beside, "GHS"))
    assert [one["message_id"] for one in shown["messages"]] == ["m2", "m3", "m4", "m5", "m6"]
    assert shown["messages"][2] == {
        "message_id": "m4",
        "this": True,
        "transaction_id": "4",
        "timestamp": "2026-11-21T08:01:00.123Z",
        "moved": "25.00",
        "balance": "700.00",
        "standing": "unconfirmed",
        "unaccounted": None,
    }
    assert (shown["standing"], shown["why"], shown["doubts"], shown["currency"]) == (
        "unconfirmed",
        "breaks",
        ["reference_too_long"],
        "GHS",
    )


def test_what_cannot_be_read_moved_nobody_knows_how_much() -> None:
    unread = entry(1, 0, None, effects=(), standing=Standing.NOTED, pays=False)
    shown = balance_chain(ChainPosition(entry(2, 100, 500), [unread], "GHS"))
    assert (shown["messages"][0]["moved"], shown["messages"][0]["balance"]) == (None, None)


def test_every_why_is_explained() -> None:
    for why in Why:
        assert balance_chain(ChainPosition(entry(1, 1, 1, why=why), [], "GHS"))["explanation"]
