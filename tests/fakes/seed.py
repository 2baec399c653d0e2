"""The seed of all random numbers in the tests (docs/decisions/0018)."""

import os
from typing import Final

USUAL: Final = 1
OTHER: Final = bool(os.environ.get("MOMO_TEST_SEED"))
"""Whether MOMO_TEST_SEED sets another seed."""


def seed() -> int:
    """Return the seed, and print it: pytest shows it with a failed test, so that the run can be repeated."""
    chosen = int(os.environ.get("MOMO_TEST_SEED") or USUAL)
    print(f"MOMO_TEST_SEED={chosen}")
    return chosen
