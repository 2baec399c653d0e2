"""The seed of everything in the tests that is drawn by dice (docs/decisions/0049)."""

import os
from typing import Final

USUAL: Final = 1
OTHER: Final = bool(os.environ.get("MOMO_TEST_SEED"))
"""Somebody asked for another one than usual."""


def seed() -> int:
    """Return the seed, and print it for who wants to see the same again: pytest shows it when the test fails."""
    chosen = int(os.environ.get("MOMO_TEST_SEED") or USUAL)
    print(f"MOMO_TEST_SEED={chosen}")
    return chosen
