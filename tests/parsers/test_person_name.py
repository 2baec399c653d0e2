"""Comparison of names: equal ones, and ones that are only similar."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.person_name import WORDS_MAX, comparison_key, is_name, is_same, is_similar, parts, word_pairs, words
from tests.fakes.each import each

SAME = [
    ("KOFI ANTWI BADU", "Kofi Antwi Badu"),
    ("KOFI  ANTWI   BADU ", "Badu, Kofi Antwi"),
    ("ADJOA MENSAH", "Mrs. Adjoa Mensah"),
    ("Dr. Prof. Ama Serwaa", "ama serwaa"),
    ("SELASI K. AGBEKO", "Selasi Kwame Agbeko"),
    ("EDMUND GYAMFI T.", "Edmund T Gyamfi"),
    ("Kofi Añtwí", "KOFI ANTWI"),
    ("Ɛsi Ɔkɔmfo", "ESI OKOMFO"),
    ("N'Guessan Yao", "NGUESSAN YAO"),
    ("OWUSU-ANSAH YAW", "Yaw Owusu Ansah"),
    ("NANA AMA", "Ama Nana"),
    ("ABENA", "Abena"),
    ("Kofi K. K. Badu", "KOFI KWAME KWESI BADU"),
    ("BigPay 0099", "BIGPAY 0099"),
]
OTHERS = [
    ("KOFI ANTWI BADU", "Kofi Badu"),
    ("KOFI BADU", "KOFI ANTWI BADU"),
    ("KOFI BADU", "KWAME BADU"),
    ("K. B.", "KOFI BADU"),
    ("K B", "K B"),
    ("Mr", "Mr"),
    ("", ""),
    ("KOFI", "K."),
    ("KOFI A. BADU", "KOFI BADU"),
    ("KOFI K. BADU", "KOFI ANTWI BADU"),
    ("KOFI KWAME BADU", "KOFI K. K. BADU"),
    ("BigPay 0099", "BigPay 0100"),
    ("NANA AMA", "AMA"),
    ("ADJOA MENSAH ADJOA", "ADJOA MENSAH"),
    ("K. KWAME BADU", "K. KOFI BADU"),
]


@each(("one", "other"), SAME)
def test_one_name_in_two_spellings_is_the_same(one: str, other: str) -> None:
    assert is_same(one, other)
    assert is_same(other, one)


@each(("one", "other"), OTHERS)
def test_a_word_more_or_another_word_is_another_name(one: str, other: str) -> None:
    assert not is_same(one, other)
    assert not is_same(other, one)


def test_the_key_knows_no_case_accents_order_titles_and_punctuation() -> None:
    assert comparison_key("Mr. Kofi A. Bádu") == comparison_key("BADU, KOFI A") == "A BADU KOFI"


def test_the_key_keeps_initials_apart_from_words() -> None:
    assert comparison_key("KOFI A BADU") != comparison_key("KOFI ANTWI BADU")


def test_words_are_without_initials_and_each_once() -> None:
    assert words("Ama K. Ama Mensah") == ("AMA", "MENSAH")


@pytest.mark.parametrize("text", ["Ama", "Mr Ama", "Ɔ Ama", "O'Brien", "Ama 4"])
def test_a_name_has_a_word(text: str) -> None:
    assert is_name(text)


@each("text", ["", " ", "A. B.", "Mr.", "Dr Prof", "12 34", "...", "'"])
def test_initials_titles_and_numbers_are_no_name(text: str) -> None:
    assert not is_name(text)


def test_two_words_in_common_look_alike_and_one_does_not() -> None:
    assert is_similar("KOFI ANTWI BADU", "Kofi Badu")
    assert is_similar("ABENA", "Abena")
    assert not is_similar("KOFI BADU", "Kofi Mensah")
    assert not is_similar("KOFI", "Kofi Mensah")


@given(st.text(max_size=60), st.text(max_size=60))
def test_sameness_and_likeness_go_both_ways(one: str, other: str) -> None:
    assert is_same(one, other) == is_same(other, one)
    assert is_similar(one, other) == is_similar(other, one)


@given(st.text(max_size=60))
def test_a_name_is_the_same_as_itself_in_any_case_and_order(name: str) -> None:
    assert is_same(name, name) == bool(words(name))
    backwards = " ".join(reversed(parts(name)))
    assert comparison_key(backwards) == comparison_key(name)


@given(st.text(alphabet="abc .'é", max_size=2000))
def test_a_long_text_costs_no_more_than_a_name(text: str) -> None:
    assert len(parts(text)) <= WORDS_MAX


@given(st.lists(st.sampled_from(["KOFI", "AMA", "BADU", "KWAME", "OWUSU"]), min_size=2, unique=True))
def test_a_word_taken_away_makes_another_name(name: list[str]) -> None:
    assert not is_same(" ".join(name), " ".join(name[1:]))


def test_a_name_is_found_by_any_two_of_its_words_in_any_order() -> None:
    assert word_pairs("Kofi K. Antwi Badu") == ("ANTWI BADU", "ANTWI KOFI", "BADU KOFI")
    assert word_pairs("Badu Kofi") == ("BADU KOFI",)
    assert word_pairs("Mr Abena") == ("ABENA",)
    assert word_pairs("K.") == ()
    assert len(word_pairs("A1 B2 C3 D4 E5 F6 G7")) == 10


@given(
    st.lists(st.sampled_from(["KOFI", "AMA", "BADU", "KWAME"]), max_size=4),
    st.lists(st.sampled_from(["KOFI", "AMA", "BADU", "KWAME"]), max_size=4),
)
def test_names_with_two_words_in_common_share_a_pair(one: list[str], other: list[str]) -> None:
    common = len(set(one) & set(other)) > 1
    assert common == any(" " in pair for pair in set(word_pairs(" ".join(one))) & set(word_pairs(" ".join(other))))
