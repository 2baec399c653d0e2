"""Payment codes (`svc_code`), which customers type as reference: 6 characters, the last one a check character.

The check is a sum modulo the prime 31 in which each position has a factor. The factors are not zero and neighbours
differ, so one wrong character changes the sum by w * (a - b), and swapped neighbours by (w1 - w2) * (a - b); neither is
0 modulo 31.
"""

import re
from collections.abc import Callable
from typing import Final

from parsers.pasted import MESSAGE_CHARACTERS_MAX

ALPHABET: Final = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
"""Without 0 1 I L O, which are easily confused."""
HUB_FIRST: Final = "23456789"
"""A hub's codes begin with a digit."""
BRANCH_FIRST: Final = "ABCDEFGHJKMNPQRSTUVWXYZ"
"""A branch's codes begin with a letter."""
LENGTH: Final = 6
LETTERS_MIN: Final = 2
"""References often contain numbers; a code with letters cannot be mistaken for one."""
CANDIDATES_MAX: Final = 256

_WEIGHTS: Final = (6, 5, 4, 3, 2, 1)
_VALUES: Final = {character: value for value, character in enumerate(ALPHABET)}
_TAILS: Final = len(ALPHABET) ** (LENGTH - 2)
_TRIES_MAX: Final = 1_000
_RUN: Final = re.compile(r"[^\W_]+")
_JOINT: Final = re.compile(r"[\s.\-\u2010-\u2015\u2212]+")


def make_code(draw: Callable[[int], int], first: str = ALPHABET) -> str:
    """Return a new random code; every valid code is equally likely.

    `draw` returns an unbiased random integer in [0, n). It may begin with the characters `first`: `HUB_FIRST`,
    `BRANCH_FIRST` or all.

    Raises:
        RuntimeError: The source is not random (it never gave two letters).
    """
    for _ in range(_TRIES_MAX):
        rest, value = divmod(draw(len(first) * _TAILS), len(first))
        body = first[value]
        for _place in range(LENGTH - 2):
            rest, value = divmod(rest, len(ALPHABET))
            body += ALPHABET[value]
        code = body + check_character(body)
        if _letters(code) >= LETTERS_MIN:
            return code
    msg = "the source of randomness gives no usable code"
    raise RuntimeError(msg)


def check_character(body: str) -> str:
    """Return the check character for the first five characters."""
    assert len(body) == LENGTH - 1
    # The factor of the check character is 1, so its value is the negative of the sum of the others.
    return ALPHABET[-_weighted_sum(body) % len(ALPHABET)]


def normalize_code(text: str) -> str:
    """Return the code in the form that is compared: trimmed, upper case."""
    return text.strip().upper()


def is_valid_code(text: str) -> bool:
    """Return whether `text`, after normalising, is a valid code."""
    code = normalize_code(text)
    return (
        len(code) == LENGTH
        and all(character in _VALUES for character in code)
        and _letters(code) >= LETTERS_MIN
        and _weighted_sum(code) % len(ALPHABET) == 0
    )


def is_of_hub(code: str) -> bool:
    """Return whether a text is a valid code of the class that only hubs draw."""
    return code[:1] in HUB_FIRST and is_valid_code(code)


def complete_code(before: str, after: str) -> str | None:
    """Return the only code with one unknown character between these two parts, or None.

    They are upper case and have 5 characters together.
    """
    assert len(before) + len(after) == LENGTH - 1
    if not all(character in _VALUES for character in before + after):
        return None
    weight, prime = _WEIGHTS[len(before)], len(ALPHABET)
    rest = _weighted_sum(before) + sum(
        one * _VALUES[character] for one, character in zip(_WEIGHTS[len(before) + 1 :], after, strict=True)
    )
    code = before + ALPHABET[-rest * pow(weight, -1, prime) % prime] + after
    return code if _letters(code) >= LETTERS_MIN else None


def candidates(reference_text: str) -> tuple[str, ...]:
    """Return the parts of a reference that may be a code, upper case, unique, in order.

    A candidate is a run of letters and digits, or several neighbouring runs joined over spaces, dots or dashes, with
    exactly 6 characters in all; runs are never divided. At most 256, from the first `MESSAGE_CHARACTERS_MAX` characters.
    """
    text = reference_text[:MESSAGE_CHARACTERS_MAX]
    runs = list(_RUN.finditer(text))
    found: dict[str, None] = {}
    for start, first in enumerate(runs):
        joined = first.group()
        end = start
        while len(joined) < LENGTH and end + 1 < len(runs):
            if not _JOINT.fullmatch(text, runs[end].end(), runs[end + 1].start()):
                break
            end += 1
            joined += runs[end].group()
        if len(joined) == LENGTH and joined.isascii():
            found[joined.upper()] = None
            if len(found) == CANDIDATES_MAX:
                break
    return tuple(found)


def _weighted_sum(text: str) -> int:
    total = 0
    for weight, character in zip(_WEIGHTS, text, strict=False):
        total += weight * _VALUES[character]
    return total


def _letters(code: str) -> int:
    return sum(map(str.isalpha, code))
