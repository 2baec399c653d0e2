"""Names of people as networks print them and as customers write them: what of two of them is the same.

`KOFI  ANTWI BADU`, `Badu, Kofi Antwi` and `Mr. Kofi A. Badu` are one name. Case, accents, order, punctuation and titles
say nothing; an initial stands for any word that begins with it. A word more or less is another name: relatives share
words, and a customer named Kofi Badu is not Kofi Antwi Badu until a person says so.
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
"""What people put before or behind a name. Not `NANA` and `CHIEF`: in Ghana those are names too."""
WORDS_MAX: Final = 16
"""More words than any name has; the rest of a longer text is not looked at."""
PAIRED_MAX: Final = 5
"""Words that are paired: ten pairs at most."""

_LETTERS: Final = str.maketrans("ƆƐŊƉƑƔƲØŁĐ", "OENDFGVOLD")
"""Letters of Ghana's languages, and of others, that networks print without their sign; Unicode takes them for letters
of their own."""
_APOSTROPHES: Final = re.compile("['`\u2018\u2019\u02bc\u00b4]")
_WORD: Final = re.compile(r"[^\W_]+")


def parts(name: str) -> tuple[str, ...]:
    """Return the words and initials of a name, upper case, without accents and titles, in the order written."""
    plain = unicodedata.normalize("NFKD", _APOSTROPHES.sub("", name))
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    words = _WORD.findall(plain.upper().translate(_LETTERS))
    return tuple(word for word in words[:WORDS_MAX] if word not in TITLES)


def words(name: str) -> tuple[str, ...]:
    """Return the words of a name that are no initials, each once."""
    return tuple(dict.fromkeys(part for part in parts(name) if len(part) > 1))


def key(name: str) -> str:
    """Return what is equal for two spellings of one name that differ in case, accents, order, titles and punctuation."""
    return " ".join(sorted(parts(name)))


def pairs(name: str) -> tuple[str, ...]:
    """Return every two words of a name, or its only word: two names of one person share at least one of these.

    So an index finds the names that look alike, without reading the others. From the first five words.
    """
    found = sorted(words(name)[:PAIRED_MAX])
    if len(found) == 1:
        return tuple(found)
    return tuple(" ".join(pair) for pair in itertools.combinations(found, 2))


def is_name(name: str) -> bool:
    """Say whether there is at least one word to compare: of two letters or more, and no title."""
    return any(any(char.isalpha() for char in word) for word in words(name))


def same(one: str, other: str) -> bool:
    """Say whether two names are the same: every word of one stands in the other, or an initial of it does.

    At least one whole word is in both, because initials alone are anybody's.
    """
    first, second = Counter(parts(one)), Counter(parts(other))
    both = first & second
    if not any(len(word) > 1 for word in both):
        return False
    return _initials_fit(first - both, second - both)


def _initials_fit(first: Counter[str], second: Counter[str]) -> bool:
    """Say whether what is left of two names is words on one side and their initials on the other."""
    return _split(first) == tuple(reversed(_split(second)))


def _split(left: Counter[str]) -> tuple[Counter[str], Counter[str]]:
    """Return the first letters of the words, and the initials."""
    return _initials(left, whole=True), _initials(left, whole=False)


def _initials(left: Counter[str], *, whole: bool) -> Counter[str]:
    return Counter(part[0] for part in left.elements() if (len(part) > 1) is whole)


def alike(one: str, other: str) -> bool:
    """Say whether two names look like one person's: the same, or two words in common.

    Good enough to suggest something to a person, and for nothing else.
    """
    return same(one, other) or len(set(words(one)) & set(words(other))) > 1
