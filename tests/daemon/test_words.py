"""The words of all languages: a language is a folder, and each has the same sentences with the same places."""

import ast
import re
import string
from collections.abc import Callable, Iterator

import pytest

from daemon.core.text import Catalogue
from daemon.dash.web.words import load
from daemon.runtime import words
from tests.house.markdown import ROOT

KINDS = (words.sentences, load, words.of_checkout)


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", words.LANGUAGES)
def test_a_language_has_the_same_keys_with_the_same_places(language: str, kind: Callable[[str], Catalogue]) -> None:
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


# The sentences and the code that makes them


def patterns(node: ast.AST) -> Iterator[str]:
    """Yield a pattern for each text that an expression may be; a part that is only known at run time is any name."""
    if isinstance(node, ast.JoinedStr):
        parts = (re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+" for part in node.values)
        yield "".join(parts)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield re.escape(node.value)
    else:
        for child in ast.iter_child_nodes(node):
            yield from patterns(child)


def chosen(node: ast.AST) -> Iterator[str]:
    """Yield the patterns of the key of a `Text`; none for a key that is a variable."""
    if isinstance(node, ast.IfExp):
        yield from (*chosen(node.body), *chosen(node.orelse))
    elif isinstance(node, ast.JoinedStr | ast.Constant):
        yield from patterns(node)


def made() -> Iterator[tuple[str, list[str]]]:
    """Yield where each `Text` is made, with the keys that it may have."""
    for path in sorted((ROOT / "daemon").rglob("*.py")):
        source = path.read_text("utf-8")
        if "Text" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Text":
                yield f"{path.relative_to(ROOT)}:{node.lineno}", list(chosen(node.args[0]))


STEMS = sorted({re.sub("_(one|other)$", "", key) for key in words.sentences("en")})


def test_every_text_has_words() -> None:
    unknown = [
        (place, pattern)
        for place, keys in made()
        for pattern in keys
        if not any(re.fullmatch(pattern, key) for key in (*STEMS, *words.sentences("en")))
    ]
    assert unknown == []


def test_every_sentence_is_made_somewhere() -> None:
    known = {
        pattern for path in (ROOT / "daemon").rglob("*.py") for pattern in patterns(ast.parse(path.read_text("utf-8")))
    }
    exact = {re.sub(r"\\(.)", r"\1", one) for one in known}
    # A pattern of variables alone would fit every key.
    partly = [re.compile(one) for one in known if ".+" in one and len(one.replace(".+", "")) > 5]

    def is_made(key: str) -> bool:
        variants = (key, key.rpartition(".")[0])
        return exact.intersection(variants) != set() or any(one.fullmatch(key) for one in partly)

    assert [key for key in STEMS if not is_made(key)] == []
