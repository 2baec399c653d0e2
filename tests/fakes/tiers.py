"""The size of the slow tests: `make test-slow` runs a tenth of the full figures, `make test-long` all of them."""

import os
from typing import Final

LONG: Final = bool(os.environ.get("MOMO_TEST_LONG"))
"""Whether to run the full figures that the issues and documents state."""


def share(full: int, least: int = 1) -> int:
    """Return the number of seeds, kills or examples for a slow test: `full` in the long tier, else a tenth, at least
    `least`.
    """
    return full if LONG else max(least, full // 10)
