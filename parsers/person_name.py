"""Comparison of names of people, as networks print them and as customers write them.

`KOFI  ANTWI BADU`, `Badu, Kofi Antwi` and `Mr. Kofi A. Badu` are the same name. Case, accents, order, punctuation and
titles are ignored; an initial matches any word that begins with it. A missing or additional word makes another name:
relatives share words, and Kofi Badu is not Kofi Antwi Badu until an operator says so.
"""

import itertools
import re
import unicodedata
from collections import Counter
from typing import Final

TITLES: Final = frozenset(
    {
        "MR", "MRS", "MS", "MISS", "MISTER", "MADAM", "SIR", "DR", "DOCTOR", "PROF", "PROFESSOR", "REV", "REVEREND",
        "PASTOR", "HON", "ING", "ENG", "ESQ", "ALHAJI", "ALHAJA", "HAJIA", "HAJI",
    }
)  # fmt: skip
"""Titles before or after a name. Not `NANA` and `CHIEF`: in Ghana these are names too."""
WORDS_MAX: Final = 16
"""More words than any name has; further words are ignored."""
PAIRED_MAX: Final = 5
"""Number of words that `pairs` combines: ten pairs at most."""

_LETTERS: Final = str.maketrans("ƆƐŊƉƑƔƲØŁĐ", "OENDFGVOLD")
"""Letters of Ghana's and other languages that networks print without their diacritic, but Unicode does not decompose."""
_APOSTROPHES: Final = re.compile("['`\u2018\u2019\u02bc\u00b4]")
_WORD: Final = re.compile(r"[^\W_]+")


def parts(name: str) -> tuple[str, ...]:
    """Return the words and initials of a name, upper case, without accents and titles, in the order written."""
    plain = unicodedata.normalize("NFKD", _APOSTROPHES.sub("", name))
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    words = _WORD.findall(plain.upper().translate(_LETTERS))
    return tuple(word for word in words[:WORDS_MAX] if word not in TITLES)


def words(name: str) -> tuple[str, ...]:
    """Return the words of a name without initials, each once."""
    return tuple(dict.fromkeys(part for part in parts(name) if len(part) > 1))


def comparison_key(name: str) -> str:
    """Return a key that is equal for spellings of one name that differ in case, accents, order, titles and punctuation."""
    return " ".join(sorted(parts(name)))


def word_pairs(name: str) -> tuple[str, ...]:
    """Return every pair of words of a name, or its only word; two names of one person share at least one entry.

    An index on these entries finds similar names without reading the others. Uses the first five words.
    """
    found = sorted(words(name)[:PAIRED_MAX])
    if len(found) == 1:
        return tuple(found)
    return tuple(" ".join(pair) for pair in itertools.combinations(found, 2))


def is_name(name: str) -> bool:
    """Return whether the name has a word to compare: at least two letters, and not a title."""
    return any(any(char.isalpha() for char in word) for word in words(name))


def is_same(one: str, other: str) -> bool:
    """Return whether two names are the same: every word of one is in the other, or its initial is.

    At least one whole word must be in both, because many people share the same initials.
    """
    first, second = Counter(parts(one)), Counter(parts(other))
    both = first & second
    if not any(len(word) > 1 for word in both):
        return False
    return _initials_fit(first - both, second - both)


def _initials_fit(first: Counter[str], second: Counter[str]) -> bool:
    """Return whether the remaining parts of two names are words in one and their initials in the other."""
    return _split(first) == tuple(reversed(_split(second)))


def _split(left: Counter[str]) -> tuple[Counter[str], Counter[str]]:
    """Return the first letters of the words, and the single initials."""
    return _initials(left, whole=True), _initials(left, whole=False)


def _initials(left: Counter[str], *, whole: bool) -> Counter[str]:
    return Counter(part[0] for part in left.elements() if (len(part) > 1) is whole)


def is_similar(one: str, other: str) -> bool:
    """Return whether two names are similar: the same, or two words in common.

    Use it only for suggestions to an operator.
    """
    return is_same(one, other) or len(set(words(one)) & set(words(other))) > 1
