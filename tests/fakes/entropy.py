"""Random numbers that are the same in each run."""

import random


class FakeEntropy:
    """Seeded random numbers."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)

    def unit(self) -> float:
        return self._random.random()
