"""Payment codes: the check character detects typing errors, and codes are found in typed text."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers import svc_code
from parsers.svc_code import (
    ALPHABET,
    CANDIDATES_MAX,
    LENGTH,
    candidates,
    check_character,
    complete_code,
    is_valid_code,
    make_code,
    normalize_code,
)
from tests.fakes.each import each


def test_every_single_wrong_character_and_neighbour_swap_changes_the_sum() -> None:
    # The sum is linear, so an error adds a number that depends only on its place and on the two characters
    # involved, not on the rest of the code: looking at all places and pairs is looking at all codes.
    size = len(ALPHABET)
    assert size == 31
    weights = svc_code._WEIGHTS
    for place in range(LENGTH):
        for right in range(size):
            for wrong in range(size):
                if right == wrong:
                    continue
                assert weights[place] * (wrong - right) % size != 0
                if place + 1 < LENGTH:
                    straight = weights[place] * right + weights[place + 1] * wrong
                    swapped = weights[place] * wrong + weights[place + 1] * right
                    assert (swapped - straight) % size != 0


def test_every_error_in_real_codes_is_refused() -> None:
    dice = random.Random(1)
    for _ in range(60):
        code = make_code(dice.randrange)
        for place in range(LENGTH):
            for wrong in ALPHABET:
                if wrong != code[place]:
                    assert not is_valid_code(code[:place] + wrong + code[place + 1 :])
        for place in range(LENGTH - 1):
            a, b = code[place], code[place + 1]
            if a != b:
                assert not is_valid_code(code[:place] + b + a + code[place + 2 :])


def test_codes_use_the_alphabet_have_two_letters_and_a_right_check() -> None:
    dice = random.Random(2)
    codes = {make_code(dice.randrange) for _ in range(2000)}
    assert len(codes) > 1990
    assert min(sum(character.isalpha() for character in code) for code in codes) == 2
    for code in codes:
        assert len(code) == LENGTH
        assert set(code) <= set(ALPHABET)
        assert sum(character.isalpha() for character in code) >= 2
        assert check_character(code[:5]) == code[5]
        assert is_valid_code(code)


def test_each_character_comes_as_often() -> None:
    dice = random.Random(3)
    first = [make_code(dice.randrange)[0] for _ in range(31 * 300)]
    counts = {character: first.count(character) for character in ALPHABET}
    # 300 each are expected; the few codes thrown away for want of letters begin with digits.
    assert min(counts.values()) > 220
    assert max(counts.values()) < 380


def test_a_source_that_is_not_random_is_an_error_and_not_an_endless_loop() -> None:
    with pytest.raises(RuntimeError):
        make_code(lambda _limit: 0)


@pytest.mark.parametrize("text", ["", "K7M2Q", "K7M2QX7", "234567", "O0IL11", "K7M2Q\u00c9", "      "])
def test_what_is_no_code_is_not_valid(text: str) -> None:
    assert not is_valid_code(text)


def test_a_code_with_one_letter_is_not_valid_even_with_a_right_check() -> None:
    found = [body + check_character(body) for body in ("22222", "22223", "22224", "23456", "99999")]
    for code in found:
        assert sum(character.isalpha() for character in code) < 2
        assert not is_valid_code(code)


def test_a_right_sum_does_not_make_a_code_of_another_length() -> None:
    code = make_code(random.Random(5).randrange)
    zero = ALPHABET[0]
    assert is_valid_code(code)
    # A zero adds nothing to the check sum, so the length is checked too.
    assert not is_valid_code(code + zero)
    assert not is_valid_code(code[:5])


def test_one_unknown_character_of_a_code_is_found_by_the_others() -> None:
    dice = random.Random(6)
    for _ in range(100):
        code = make_code(dice.randrange)
        for place in range(LENGTH):
            assert complete_code(code[:place], code[place + 1 :]) == code


@pytest.mark.parametrize("place", range(LENGTH))
def test_five_characters_that_are_of_no_code_are_filled_by_none(place: int) -> None:
    around = "K7M0Q"
    assert complete_code(around[:place], around[place:]) is None


def test_what_would_have_one_letter_is_no_code_and_two_are_enough() -> None:
    dice = random.Random(7)
    few = 0
    for _ in range(400):
        digits = "".join(dice.choice("23456789") for _ in range(4))
        for around in (digits + "K", digits + dice.choice("23456789")):
            found = complete_code(around[:3], around[3:])
            letters = sum(character.isalpha() for character in found or "")
            assert found is None or (letters >= 2 and is_valid_code(found))
            few += letters == 2
    assert few > 100


def test_codes_compare_trimmed_and_upper_cased() -> None:
    code = make_code(random.Random(4).randrange)
    assert normalize_code(f" {code.lower()} ") == code
    assert is_valid_code(f" {code.lower()} ")


@each(
    ("text", "expected"),
    [
        ("K7M2QX", ("K7M2QX",)),
        ("k7m2qx.", ("K7M2QX",)),
        ("k7m 2qx thanks", ("K7M2QX", "THANKS")),
        ("k7-m2-qx", ("K7M2QX",)),
        ("k.7.m.2.q.x", ("K7M2QX",)),
        ("Gh Gh k7m2qx", ("K7M2QX",)),
        ("gh gh k7 m2qx", ("GHGHK7", "K7M2QX")),
        ("K7M2QX K7M2QX", ("K7M2QX",)),
        ("K7M2QX Q4T9WD X8P3LM", ("K7M2QX", "Q4T9WD", "X8P3LM")),
        ("K7M2QXX", ()),
        ("K7M/2QX", ()),
        ("K7M,2QX", ()),
        ("K7M_2QX", ()),
        ("aK7M2QX", ()),
        ("K7M2QX\u00e9", ()),
        ("MoMo:K7M2QX", ("K7M2QX",)),
        ("a b c d e f g", ("ABCDEF", "BCDEFG")),
        ("stra\u00dfe", ()),
        ("", ()),
        ("...---", ()),
    ],
)
def test_candidates_follow_the_rule(text: str, expected: tuple[str, ...]) -> None:
    assert candidates(text) == expected


@given(st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_candidates_are_six_ascii_characters_each_once(text: str) -> None:
    found = candidates(text)
    assert len(set(found)) == len(found)
    assert all(len(code) == 6 and code.isascii() and code.isalnum() for code in found)


def test_long_texts_give_a_bounded_answer_quickly() -> None:
    texts = ["a" * 100_000, "a " * 50_000, "ab-" * 30_000, " ." * 50_000]
    texts.append(" ".join(f"{number:06d}" for number in range(10_000)))
    start = time.thread_time()
    for text in texts:
        assert len(candidates(text)) <= CANDIDATES_MAX
    assert time.thread_time() - start < 1
