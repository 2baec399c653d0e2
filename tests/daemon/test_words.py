"""The words of all languages: a language is a folder, and each has the same sentences with the same places."""

import string
from collections.abc import Callable

import pytest

from daemon.core.text import Words
from daemon.dash.web.words import load
from daemon.runtime import words

KINDS = (words.sentences, load, words.of_checkout)


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", words.LANGUAGES)
def test_a_language_has_the_same_keys_with_the_same_places(
    language: str, kind: Callable[[str], Words]
) -> None:
    english, other, sentences = kind("en"), kind(language), words.sentences("en")
    assert other.keys() == english.keys()
    for key, text in other.items():
        assert text.strip(), key
        if kind is load and key in sentences:
            # A page may say less than the sentence of the API.
            assert places(text) <= places(sentences[key]), key
        else:
            assert places(text) == places(english[key]), key


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_a_sentence_with_a_number_has_each_form_of_its_language(language: str) -> None:
    for kind in KINDS:
        found = kind(language)
        for key in kind("en"):
            if key.endswith("_one"):
                stem = key.removesuffix("_one")
                assert all(f"{stem}_{form}" in found for form in found.forms), key
        assert all(0 <= found.plural(count) < len(found.forms) for count in range(200))


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_a_language_says_its_own_name_and_has_twelve_months(language: str) -> None:
    assert words.about(language)["name"]
    for kind in (load, words.of_checkout):
        assert len(kind(language)["months"].split()) == 12


def test_english_is_the_first_language() -> None:
    assert words.LANGUAGES == ("en", "fr")
    assert words.sentences("fr").plural(0) == 0
    assert words.sentences("en").plural(0) == 1
