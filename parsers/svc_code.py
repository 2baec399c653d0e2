"""The service code a customer types as reference: 6 characters, the last of them a check character.

The check is a weighted sum modulo the prime 31: the weights are not zero and neighbours differ, so one wrong
character changes the sum by w * (a - b), a swap of neighbours by (w1 - w2) * (a - b), and neither is 0 modulo 31.
"""

import re
from collections.abc import Callable
from typing import Final

ALPHABET: Final = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
"""No 0 1 I L O: they are mistaken for each other (decisions.md section 2)."""
LENGTH: Final = 6
LETTERS_MIN: Final = 2
"""References are full of numbers; a code with letters is not one of them."""
TEXT_CHARACTERS_MAX: Final = 1600
CANDIDATES_MAX: Final = 256

_WEIGHTS: Final = (6, 5, 4, 3, 2, 1)
_VALUES: Final = {character: value for value, character in enumerate(ALPHABET)}
_BODIES: Final = len(ALPHABET) ** (LENGTH - 1)
_TRIES_MAX: Final = 1_000
_RUN: Final = re.compile(r"[^\W_]+")
_JOINT: Final = re.compile(r"[\s.\-]+")


def make_code(draw: Callable[[int], int]) -> str:
    """Return a new code, every valid one equally likely.

    Args:
        draw: Gives an unbiased random integer in [0, n); called until the code has its letters, mostly once.

    Raises:
        RuntimeError: The source does not behave as a random one (it never gave two letters).
    """
    for _ in range(_TRIES_MAX):
        rest = draw(_BODIES)
        body = ""
        for _place in range(LENGTH - 1):
            rest, value = divmod(rest, len(ALPHABET))
            body += ALPHABET[value]
        code = body + check_character(body)
        if _letters(code) >= LETTERS_MIN:
            return code
    msg = "the source of randomness gives no usable code"
    raise RuntimeError(msg)


def check_character(body: str) -> str:
    """Return the last character for the five before it."""
    assert len(body) == LENGTH - 1
    # The check character's own weight is 1, so it is the negative of the rest.
    return ALPHABET[-_weighted_sum(body) % len(ALPHABET)]


def normalize_code(text: str) -> str:
    """Return the code as it is compared: trimmed and upper-cased."""
    return text.strip().upper()


def is_valid_code(text: str) -> bool:
    """Say whether `text`, once normalised, is a code that could have been given out."""
    code = normalize_code(text)
    return (
        len(code) == LENGTH
        and all(character in _VALUES for character in code)
        and _letters(code) >= LETTERS_MIN
        and _weighted_sum(code) % len(ALPHABET) == 0
    )


def fill(before: str, after: str) -> str | None:
    """Return the one code that has an unknown character between these two parts, None when there is none.

    Args:
        before: The characters in front of it, upper case.
        after: Those behind it; 5 in all.
    """
    assert len(before) + len(after) == LENGTH - 1
    if not all(character in _VALUES for character in before + after):
        return None
    weight, prime = _WEIGHTS[len(before)], len(ALPHABET)
    rest = _weighted_sum(before) + sum(
        one * _VALUES[character]
        for one, character in zip(_WEIGHTS[len(before) + 1 :], after, strict=True)
    )
    code = before + ALPHABET[-rest * pow(weight, -1, prime) % prime] + after
    return code if _letters(code) >= LETTERS_MIN else None


def candidates(reference_text: str) -> tuple[str, ...]:
    """Return what in a reference may be a code (decisions.md section 2), upper-cased, each once, in order.

    These are every run of letters and digits, and every join of neighbouring runs separated by spaces, dots or
    dashes, that is exactly 6 long in all; whole runs only. At most 256, from the first 1600 characters.
    """
    text = reference_text[:TEXT_CHARACTERS_MAX]
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
