from hypothesis import given
from hypothesis import strategies as st

from daemon.modem.codec import gsm7
from tests.fakes.each import each

septet_strings = st.binary(max_size=700).map(lambda octets: bytes(o & 0x7F for o in octets))


def alphabet(locking: int = 0, single: int = 0) -> st.SearchStrategy[str]:
    characters = sorted(gsm7._writing(locking, single))
    return st.text(st.sampled_from(characters), max_size=200)


def test_published_packing_of_hellohello() -> None:
    # The example of 23.038 implementers everywhere, e.g. dreamfabric.com/sms.
    septets = gsm7.encode("hellohello")
    assert septets == b"hellohello"
    assert gsm7.pack(septets) == bytes.fromhex("E8329BFD4697D9EC37")
    assert gsm7.unpack(bytes.fromhex("E8329BFD4697D9EC37"), 10) == b"hellohello"


def test_seven_spare_bits_are_not_read_as_an_at_sign() -> None:
    packed = gsm7.pack(b"1234567")
    assert len(packed) == 7
    assert gsm7.unpack(packed, 7) == b"1234567"
    assert gsm7.unpack(packed, 8) == b"1234567\x00"


@given(septet_strings, st.integers(0, 6))
def test_packing_round_trips_at_every_fill(septets: bytes, fill_bits: int) -> None:
    packed = gsm7.pack(septets, fill_bits)
    assert len(packed) == (7 * len(septets) + fill_bits + 7) // 8
    assert gsm7.unpack(packed, len(septets), fill_bits) == septets


@each("count", [*range(18), 159, 160, 161, 255, 256, 257, 512, 513])
@each("fill_bits", range(7))
def test_packing_agrees_with_bit_by_bit_arithmetic(count: int, fill_bits: int) -> None:
    septets = bytes((index * 37 + 11) & 0x7F for index in range(count))
    bits = "".join(f"{septet:07b}"[::-1] for septet in septets)
    bits = "0" * fill_bits + bits
    bits += "0" * (-len(bits) % 8)
    expected = bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))
    assert gsm7.pack(septets, fill_bits) == expected
    assert gsm7.unpack(expected, count, fill_bits) == septets


@given(st.binary(max_size=300), st.integers(-5, 400), st.integers(0, 6))
def test_unpacking_gives_at_most_what_is_there(octets: bytes, count: int, fill_bits: int) -> None:
    septets = gsm7.unpack(octets, count, fill_bits)
    assert len(septets) <= max(0, count)
    assert all(septet < 128 for septet in septets)


@given(st.data(), st.integers(0, 15), st.integers(0, 15))
def test_any_text_of_an_alphabet_round_trips(data: st.DataObject, locking: int, single: int) -> None:
    text = data.draw(alphabet(locking, single))
    septets = gsm7.encode(text, locking=locking, single=single)
    assert septets is not None
    assert gsm7.decode(septets, locking=locking, single=single) == text


@given(st.text())
def test_any_text_either_round_trips_or_does_not_fit(text: str) -> None:
    septets = gsm7.encode(text)
    assert septets is None or gsm7.decode(septets) == text


@given(st.binary(), st.integers(0, 300), st.integers(0, 300))
def test_decoding_any_octets_gives_a_text(octets: bytes, locking: int, single: int) -> None:
    text = gsm7.decode(octets, locking=locking, single=single)
    assert len(text) <= len(octets)
    text.encode()


def test_the_default_alphabet_has_128_different_codes() -> None:
    assert len(gsm7.DEFAULT) == 128
    assert len(set(gsm7.DEFAULT)) == 128


def test_what_is_not_in_the_alphabet_does_not_fit() -> None:
    assert gsm7.encode("GH₵ 5") is None
    assert gsm7.encode("ç") is None  # 0x09 is the capital, clause 6.2.1
    assert gsm7.encode("Ç") == b"\x09"
    assert gsm7.encode("`") is None
    assert gsm7.encode("\x1b") is None
    assert gsm7.encode("") == b""


def test_extension_characters_take_two_septets() -> None:
    assert gsm7.encode("€[") == b"\x1b\x65\x1b\x3c"


@each(
    ("septets", "text"),
    [
        (b"\x1b\x65", "€"),
        (b"\x1bA", "A"),  # clause 6.2.1.1: no such extension, show the plain character
        (b"\x1b\x1b", " "),  # reserved for another extension table: a space
        (b"\x1b\x1b\x65", " e"),
        (b"Hi\x1b", "Hi"),
        (b"\x1b", ""),
        (b"\x1b\x00", "@"),
        (b"a\x80b", "a\ufffdb"),
    ],
)
def test_an_escape_stands_for_a_character_of_the_other_table(septets: bytes, text: str) -> None:
    assert gsm7.decode(septets) == text


def test_every_national_table_is_there() -> None:
    # Clause 6.2.1.2.4: identifiers 1 to 13; Spanish (2) has no locking table.
    assert sorted(gsm7.SINGLE) == list(range(1, 14))
    assert sorted(gsm7.LOCKING) == [1, *range(3, 14)]


@each("language", range(1, 14))
def test_national_tables_keep_what_all_of_them_share(language: int) -> None:
    if language in gsm7.LOCKING:
        assert gsm7.decode(b"09 az.\n\r", locking=language) == "09 az.\n\r"
    assert gsm7.decode(b"\x1b\x14\x1b\x28\x1b\x40\x1b\x65", single=language) == "^{|€"
    # The page break, and the reserved escape in the escape table.
    assert gsm7.decode(b"\x1b\x0a\x1b\x1b", single=language) == "\f "


@each("language", [*range(1, 14)])
def test_national_tables_hold_no_code_twice_but_the_known_ones(language: int) -> None:
    main, shifted = gsm7._reading(language, language)
    named = [character for character in main if character != "\ufffd"]
    assert len(named) == len(set(named))
    twice = {c for c in shifted.values() if list(shifted.values()).count(c) > 1}
    # Annex A.2.4 on: ! inverted and * stand at two places each.
    assert twice <= {"¡", "*"}


@each(
    ("locking", "first_letters"),
    [
        (1, "ıĞğŞş"),
        (3, "ãõÃÕº"),
        (4, "অকহ"),
        (5, "અકહ"),
        (6, "अकह"),
        (7, "ಅಕಡಹ"),
        (8, "അകഹ"),
        (9, "ଅକହ"),
        (10, "ਅਕਹ"),
        (11, "அகஹ"),
        (12, "అకహ"),
        (13, "اپڈے"),
    ],
)
def test_each_locking_table_writes_its_own_script_in_one_septet(locking: int, first_letters: str) -> None:
    septets = gsm7.encode(first_letters, locking=locking)
    assert septets is not None
    assert len(septets) == len(first_letters)


@each(
    ("single", "digits"),
    [
        (4, "০১২৩৪৫৬৭৮৯"),
        (5, "૦૧૨૩૪૫૬૭૮૯"),
        (6, "०१२३४५६७८९"),
        (7, "೦೧೨೩೪೫೬೭೮೯"),
        (8, "൦൧൨൩൪൫൬൭൮൯"),
        (9, "୦୧୨୩୪୫୬୭୮୯"),
        (10, "੦੧੨੩੪੫੬੭੮੯"),
        (11, "௦௧௨௩௪௫௬௭௮௯"),
        (12, "౦౧౨౩౪౫౬౭౮౯"),
        (13, "۰۱۲۳۴۵۶۷۸۹"),
    ],
)
def test_each_single_shift_table_has_its_ten_digits(single: int, digits: str) -> None:
    septets = gsm7.encode(digits, single=single)
    assert septets is not None
    codes = septets[1::2]
    # Annex A.2: the digits stand in a row from 0x1C on (Bengali begins at 0x19, around the escape).
    expected = [0x19, 0x1A, *range(0x1C, 0x24)] if single == 4 else [*range(0x1C, 0x26)]
    assert list(codes) == expected


def test_an_unknown_national_table_reads_as_the_default() -> None:
    assert gsm7.decode(b"plain\x1b\x65", locking=99, single=99) == "plain€"
    assert gsm7.decode(b"\x40", locking=2) == "¡"  # Spanish: no locking table
