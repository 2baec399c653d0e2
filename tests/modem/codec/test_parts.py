import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.modem.codec.parts import (
    NEARER_US_MIN,
    SPAN_US_MAX,
    Assembly,
    Part,
    PartKey,
    choose,
    is_near,
    is_repeat,
    is_whole,
    join,
    key_of,
    part_of,
)
from daemon.modem.codec.pdu import decode
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.modem.codec.pdu_fields import Deliver
from tests.modem.codec.drawn_pdus import characters

CORPUS = Path(__file__).parents[2] / "corpus"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / name).read_text("utf-8").splitlines()]


PDUS = {vector["id"]: vector["pdu"] for vector in lines("pdu_vectors.jsonl")}
SETS = lines("pdu_sets.jsonl")
SIM = "8923301000000000001"
SECOND_US = 1_000_000
SENT_AT = datetime(2026, 2, 14, 9, 5, 7, tzinfo=UTC)


def delivered(pdu: str) -> Deliver:
    value = decode(pdu)
    assert isinstance(value, Deliver)
    return value


def join_pdus(pdus: Iterable[str]) -> str:
    """The text of one message from its parts as they are kept, in any order."""
    return join([delivered(pdu) for pdu in pdus])


def part(position: int, seconds: float | None = 0, octets: bytes = b"") -> Part:
    sent_at_us = None if seconds is None else int(seconds * SECOND_US)
    return Part(position, sent_at_us, octets or bytes((position,)))


@pytest.mark.parametrize("group", SETS, ids=[group["id"] for group in SETS])
def test_set_joins_to_the_published_text(group: dict[str, Any]) -> None:
    pdus = [PDUS[name] for name in group["parts"]]
    messages = [delivered(pdu) for pdu in pdus]
    assert len({key_of(SIM, message) for message in messages}) == 1
    parts = [part_of(message) for message in messages]
    assert [choose(len(parts), parts[:count]) for count in range(len(parts))] == [None] * len(parts)
    found = choose(len(parts), parts)
    assert found is not None
    assert (sorted(found.indexes), found.has_rivals) == (list(range(len(parts))), False)
    assert is_whole(len(parts), [one.position for one in parts])
    for order in (pdus, pdus[::-1]):
        assert join_pdus(order) == group["expect_text"]
    assert join(messages) == group["expect_text"]


def test_an_escape_cut_from_its_letter_reads_as_one_character() -> None:
    # Clause 9.2.3.24.1 forbids the cut; if a sender makes it, the joined text is the intended one.
    pdus = [PDUS["syn-gsm7-esc-split-1of2"], PDUS["syn-gsm7-esc-split-2of2"]]
    assert join_pdus(pdus) == "ab€c"


def test_key_holds_all_that_tells_messages_apart() -> None:
    message = delivered(PDUS["syn-ucs2-16bitref"])
    assert key_of(SIM, message) == PartKey(iccid=SIM, sender="+233000000001", width=16, reference=0xBEEF, total=3)
    assert key_of(SIM, delivered(PDUS["syn-emoji-1"])) is None


def test_equal_references_of_other_width_or_total_are_other_messages() -> None:
    two = [encode_deliver("MobileMoney", "x" * 161, SENT_AT, reference=7, width=w) for w in (8, 16)]
    three = encode_deliver("MobileMoney", "x" * 400, SENT_AT, reference=7)
    keys = {key_of(SIM, delivered(pdus[0])) for pdus in (*two, three)}
    assert len(keys) == 3


def test_part_keeps_the_moment_not_the_zone() -> None:
    at = SENT_AT.astimezone(tz=None)
    message = delivered(encode_deliver("1", "x" * 200, at)[1])
    assert part_of(message) == Part(2, 1_771_059_907_000_000, message.user_data)
    whole = delivered(PDUS["syn-ts-ff"])
    assert part_of(whole) == Part(1, None, whole.user_data)


@pytest.mark.parametrize(
    ("one", "other", "repeat"),
    [
        (part(1), part(1), True),
        (part(1, None), part(1, None), True),
        (part(1), part(2, octets=b"\x01"), False),
        (part(1), part(1, octets=b"other"), False),
        # The same beginning at another time is another receipt, not the first delivered again.
        (part(1), part(1, 1), False),
        (part(1), part(1, None), False),
    ],
)
def test_a_repeat_has_the_same_position_octets_and_time(one: Part, other: Part, *, repeat: bool) -> None:
    assert is_repeat(one, other) is repeat


@pytest.mark.parametrize(("seconds", "near"), [(0, True), (900, True), (-900, True), (900.1, False), (None, True)])
def test_parts_of_one_message_bear_times_within_15_minutes(seconds: float | None, *, near: bool) -> None:
    assert is_near(part(1, 0), part(2, seconds)) is near


def test_nothing_is_chosen_while_a_position_lacks_a_part() -> None:
    assert choose(2, []) is None
    assert choose(2, [part(1)]) is None
    assert choose(2, [part(1), part(2, 901)]) is None
    # Each is near to the first one, but none is near to the others.
    assert choose(3, [part(1, 0), part(2, 900), part(3, 1000)]) is None
    assert choose(2, [part(1), part(3)]) is None


def test_parts_without_rivals_are_clear_whatever_their_order_and_distance() -> None:
    assert choose(2, [part(2), part(1)]) == Assembly((1, 0), False, True, 0)
    assert choose(2, [part(1), part(2, 22)]) == Assembly((0, 1), False, True, 22 * SECOND_US)
    assert choose(2, [part(1, None), part(2)]) == Assembly((0, 1), False, True, SPAN_US_MAX)
    # The same octets at another time are no rival, because the text is the same.
    again = choose(2, [part(1), part(2), part(2, 40)])
    assert again == Assembly((0, 1), False, True, 0)


@pytest.mark.parametrize(
    ("seconds", "chosen", "clear"),
    [
        (0, None, False),  # either one
        (29, 1, False),
        (30, 1, True),
        (-30, 1, True),
        (800, 1, True),
        (None, 1, True),  # an unreadable time is unknown
    ],
)
def test_of_two_rivals_the_nearer_one_counts_if_it_is_nearer_by_30_seconds(
    seconds: float | None, chosen: int | None, *, clear: bool
) -> None:
    rival = part(2, seconds, octets=b"forged")
    for candidates, place in (([part(1), part(2), rival], 1), ([rival, part(1), part(2)], 2)):
        found = choose(2, candidates)
        assert found is not None
        assert found.has_rivals
        assert found.is_clear is clear
        if chosen is not None:
            assert found.indexes[1] == place


def test_a_rival_of_an_earlier_part_is_found_too() -> None:
    forged = part(1, 20, octets=b"forged")
    found = choose(2, [forged, part(1), part(2)])
    assert found == Assembly((1, 2), True, False, 0)
    found = choose(2, [part(1, 45, octets=b"forged"), part(1), part(2)])
    assert found == Assembly((1, 2), True, True, 0)


def test_a_reused_reference_makes_two_messages_of_equal_beginnings() -> None:
    first, second = (
        encode_deliver("MobileMoney", "x" * 158 + tail, SENT_AT + timedelta(minutes=minutes))
        for tail, minutes in (("one", 0), ("two", 10))
    )
    pdus = [first[0], second[1], second[0], first[1]]
    messages = [delivered(pdu) for pdu in pdus]
    texts = []
    while messages:
        found = choose(2, [part_of(one) for one in messages])
        assert found is not None
        assert found.is_clear
        taken = [messages[index] for index in found.indexes]
        texts.append(join(taken)[-3:])
        messages = [one for one in messages if one not in taken]
    assert sorted(texts) == ["one", "two"]


def test_whole_is_every_position_once_or_more() -> None:
    assert is_whole(2, [2, 1])
    assert is_whole(2, [1, 2, 2])
    assert not is_whole(3, [1, 3])
    assert not is_whole(1, [])


def test_parts_in_other_alphabets_are_read_each_by_its_own() -> None:
    gsm7 = encode_deliver("1", "a" * 152 + "€€" + "b" * 20, SENT_AT)
    ucs2 = encode_deliver("1", "₵" * 80, SENT_AT)
    assert join_pdus([ucs2[1], gsm7[0]]) == "a" * 152 + "₵" * 13


def test_national_tables_count_for_their_own_part_only() -> None:
    spanish, plain = (delivered(PDUS[name]) for name in ("syn-nl-spanish-single", "syn-gsm7-esc-unknown"))
    assert (spanish.single, plain.single) == (2, 0)
    # ESC and 0x41 is a capital A with acute by the Spanish table, a plain one by the default.
    assert join([spanish, plain]) == "Canción ÁÍÓÚ áíóú ç ñ ¿qué?HAi"


def test_ucs2_cut_inside_a_unit_joins_by_octets() -> None:
    # 133 octets are left beside a 16-bit reference: some senders fill them all.
    head = "0040048121430008622041905070"
    one = delivered(head + "00" + "0A" + "060804000102010020" + "B5")
    two = delivered(head + "00" + "0B" + "060804000102020041" + "0042")
    assert one.user_data + two.user_data == bytes.fromhex("0020B5") + bytes.fromhex("00410042")
    cut = delivered(head + "00" + "08" + "0608040001020120")
    rest = delivered(head + "00" + "0A" + "06080400010202B5" + "0041")
    assert join([rest, cut]) == "₵A"


texts = st.one_of(st.text(characters, min_size=161, max_size=500), st.text("ab€[₵👍", min_size=80, max_size=400))


@settings(max_examples=100)
@given(texts, st.sampled_from([8, 16]), st.randoms(use_true_random=False))
def test_any_long_text_joins_in_any_order(text: str, width: int, order: Any) -> None:
    pdus = list(encode_deliver("MobileMoney", text, SENT_AT, reference=3, width=width))
    order.shuffle(pdus)
    assert join_pdus(pdus) == text


some_time = st.integers(0, 3 * SPAN_US_MAX)
some_parts = st.lists(
    st.builds(Part, st.integers(1, 4), st.one_of(st.none(), some_time), st.binary(max_size=1)), max_size=12
)


@given(st.integers(2, 4), some_time, some_parts, st.data())
def test_a_complete_set_near_in_time_is_always_found(
    total: int, at: int, others: list[Part], data: st.DataObject
) -> None:
    apart = st.integers(0, SPAN_US_MAX // 2)
    genuine = [Part(position, at + data.draw(apart), b"genuine") for position in range(1, total + 1)]
    candidates = data.draw(st.permutations([*genuine, *others]))
    found = choose(total, candidates)
    assert found is not None
    chosen = [candidates[index] for index in found.indexes]
    assert [one.position for one in chosen] == list(range(1, total + 1))
    assert found.span_us <= SPAN_US_MAX


@given(st.integers(2, 4), st.lists(st.binary(min_size=1, max_size=2), max_size=12), st.data())
def test_rivals_further_than_30_seconds_never_replace_a_part_of_one_moment(
    total: int, octets: list[bytes], data: st.DataObject
) -> None:
    """One position has no rival, so that the set of the genuine parts is the only one around it."""
    genuine = [Part(position, 0, b"genuine") for position in range(1, total + 1)]
    far = st.integers(NEARER_US_MIN, SPAN_US_MAX)
    rivals = [Part(data.draw(st.integers(2, total)), data.draw(far), one) for one in octets]
    candidates = data.draw(st.permutations([*genuine, *rivals]))
    found = choose(total, candidates)
    assert found is not None
    assert [candidates[index] for index in found.indexes] == genuine
    assert found.is_clear


@given(st.lists(st.integers(-NEARER_US_MIN + 1, NEARER_US_MIN - 1), min_size=1, max_size=5))
def test_a_rival_nearer_than_30_seconds_makes_it_unclear(times: list[int]) -> None:
    rivals = [Part(2, at, b"forged") for at in times]
    found = choose(2, [*rivals, part(1), part(2)])
    assert found is not None
    assert found.has_rivals
    assert not found.is_clear
