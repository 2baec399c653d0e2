import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.modem.codec.parts import (
    SPAN_US_MAX,
    Fit,
    Part,
    PartKey,
    Placement,
    fits,
    is_whole,
    join,
    key_of,
    part_of,
    place,
)
from daemon.modem.codec.pdu import decode
from daemon.modem.codec.pdu_encode import encode_deliver
from daemon.modem.codec.pdu_fields import Deliver

CORPUS = Path(__file__).parents[2] / "corpus"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / name).read_text("utf-8").splitlines()]


PDUS = {vector["id"]: vector["pdu"] for vector in lines("pdu_vectors.jsonl")}
SETS = lines("pdu_sets.jsonl")
SIM = "8923301000000000001"
HOUR_US = 3600 * 1_000_000
SENT_AT = datetime(2026, 2, 14, 9, 5, 7, tzinfo=UTC)


def delivered(pdu: str) -> Deliver:
    value = decode(pdu)
    assert isinstance(value, Deliver)
    return value


def join_pdus(pdus: Iterable[str]) -> str:
    """The text of one message from its parts as they are kept, in any order."""
    return join([delivered(pdu) for pdu in pdus])


def part(position: int, hours: float | None = 0, octets: bytes = b"") -> Part:
    sent_at_us = None if hours is None else int(hours * HOUR_US)
    return Part(position, sent_at_us, octets or bytes((position,)))


@pytest.mark.parametrize("group", SETS, ids=[group["id"] for group in SETS])
def test_set_joins_to_the_published_text(group: dict[str, Any]) -> None:
    pdus = [PDUS[name] for name in group["parts"]]
    messages = [delivered(pdu) for pdu in pdus]
    assert len({key_of(SIM, message) for message in messages}) == 1
    parts = [part_of(message) for message in messages]
    for at in range(1, len(parts)):
        assert fits(parts[:at], parts[at]) is Fit.JOINS
    assert is_whole(len(parts), [one.position for one in parts])
    for order in (pdus, pdus[::-1]):
        assert join_pdus(order) == group["expect_text"]
    assert join(messages) == group["expect_text"]


def test_an_escape_cut_from_its_letter_reads_as_one_character() -> None:
    # Clause 9.2.3.24.1 forbids the cut; where a sender makes it, the whole is still what he meant.
    pdus = [PDUS["syn-gsm7-esc-split-1of2"], PDUS["syn-gsm7-esc-split-2of2"]]
    assert join_pdus(pdus) == "ab€c"


def test_key_holds_all_that_tells_messages_apart() -> None:
    message = delivered(PDUS["syn-ucs2-16bitref"])
    assert key_of(SIM, message) == PartKey(
        iccid=SIM, sender="+233000000001", width=16, reference=0xBEEF, total=3
    )
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
    ("existing", "new", "fit"),
    [
        ([], part(1), Fit.NEW),
        ([part(1)], part(2), Fit.JOINS),
        ([part(2)], part(1), Fit.JOINS),
        ([part(1)], part(2, 24), Fit.JOINS),
        ([part(1)], part(2, 24.001), Fit.NEW),
        ([part(1, 24.001)], part(2), Fit.NEW),
        (
            [part(1), part(2, 20)],
            part(3, 30),
            Fit.NEW,
        ),  # within 24 h of each, not of one
        ([part(1)], part(1), Fit.REPEAT),
        ([part(1)], part(1, octets=b"other"), Fit.NEW),
        # The same beginning at another time is another receipt, not the first delivered again.
        ([part(1)], part(1, 5), Fit.NEW),
        ([part(1)], part(1, None), Fit.NEW),
        ([part(1, None)], part(1, None), Fit.REPEAT),
        ([part(1, None)], part(2, 5), Fit.JOINS),
        ([part(1)], part(2, None), Fit.JOINS),
    ],
)
def test_a_part_joins_those_of_its_message_and_no_other(
    existing: list[Part], new: Part, fit: Fit
) -> None:
    assert fits(existing, new) is fit


def test_a_part_goes_to_the_message_nearest_in_time() -> None:
    messages = [[part(1, 0)], [part(1, 10)], [part(1, 20)]]
    assert place(messages, part(2, 9)) == Placement(Fit.JOINS, 1)
    assert place(messages, part(2, 19)) == Placement(Fit.JOINS, 2)
    assert place(messages, part(2, 5)) == Placement(Fit.JOINS, 1)  # of equals the later
    assert place(messages, part(2, None)) == Placement(Fit.JOINS, 2)
    assert place(messages, part(1, 15)) == Placement(Fit.NEW, None)
    assert place(messages, part(2, 45)) == Placement(Fit.NEW, None)
    assert place([], part(2)) == Placement(Fit.NEW, None)
    assert place([[part(1)]], part(2, SPAN_US_MAX / HOUR_US)) == Placement(Fit.JOINS, 0)


def test_a_repeat_is_known_though_another_message_lacks_it() -> None:
    messages = [[part(1, 0), part(2, 0)], [part(1, 1)]]
    assert place(messages, part(2, 0)) == Placement(Fit.REPEAT, 0)


def test_a_reused_reference_makes_two_messages_of_equal_beginnings() -> None:
    first, second = (
        encode_deliver("MobileMoney", "x" * 153 + tail, SENT_AT + timedelta(hours=hours))
        for tail, hours in (("one", 0), ("two", 3))
    )
    messages: list[list[Part]] = []
    texts: list[list[str]] = []
    for pdu in (*first, *second[::-1]):
        new = part_of(delivered(pdu))
        placement = place(messages, new)
        if placement.index is None:
            messages.append([new])
            texts.append([pdu])
        else:
            messages[placement.index].append(new)
            texts[placement.index].append(pdu)
    assert [join_pdus(pdus)[-3:] for pdus in texts] == ["one", "two"]


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
    spanish, plain = (
        delivered(PDUS[name]) for name in ("syn-nl-spanish-single", "syn-gsm7-esc-unknown")
    )
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


texts = st.one_of(
    st.text(min_size=161, max_size=500), st.text("ab€[₵👍", min_size=80, max_size=400)
)


@settings(max_examples=100)
@given(texts, st.sampled_from([8, 16]), st.randoms(use_true_random=False))
def test_any_long_text_joins_in_any_order(text: str, width: int, order: Any) -> None:
    pdus = list(encode_deliver("MobileMoney", text, SENT_AT, reference=3, width=width))
    order.shuffle(pdus)
    assert join_pdus(pdus) == text


@given(
    st.lists(
        st.builds(
            Part,
            st.integers(1, 4),
            st.one_of(st.none(), st.integers(0, 3 * SPAN_US_MAX)),
            st.binary(max_size=1),
        ),
        max_size=12,
    )
)
def test_placing_never_fills_a_position_twice(parts: list[Part]) -> None:
    messages: list[list[Part]] = []
    for new in parts:
        placement = place(messages, new)
        if placement.fit is Fit.NEW:
            messages.append([new])
        elif placement.fit is Fit.JOINS:
            assert placement.index is not None
            messages[placement.index].append(new)
    for message in messages:
        positions = [one.position for one in message]
        assert len(positions) == len(set(positions))
        known = [one.sent_at_us for one in message if one.sent_at_us is not None]
        assert not known or max(known) - min(known) <= SPAN_US_MAX
    assert {one for message in messages for one in message} == set(parts)
