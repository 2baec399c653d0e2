"""A whole shop with customers, operators and faults in simulated time; `checks.py` has the conditions.

`MOMO_TEST_SEED=n` repeats one seed exactly; `make simulate SEEDS=10000` searches for a failing one. Three tests inject
a fault into the daemon each, to show that the simulation detects it.
"""

import os
import sqlite3
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from daemon.core.messages import trust
from daemon.core.webhooks import delivery
from daemon.core.webhooks.delivery import AttemptOutcome, AttemptResult
from daemon.store.engine import _Job, run_job
from tests.fakes.tiers import LONG, share
from tests.simulation.__main__ import play
from tests.simulation.checks import run_day
from tests.simulation.faults import FAULTS, HANGS, NAGS, WAYS, WRONG_S
from tests.simulation.inline_store import FaultyStore
from tests.simulation.operators import BEFORE_PHONE, JOBS
from tests.simulation.shop import Size

SHORT = Size(1, hours=0.75, orders=15)
MANY = share(40)
EVERYTHING = (
    *FAULTS, "killed", "order", "receipt", "SMS lost", "SMS twice", "SMS shuffled", "asked again", "asked otherwise",
    *JOBS, BEFORE_PHONE, *(f"phone has {name}" for name in (*NAGS, *HANGS)), *(f"receiver says {ways}" for ways in WAYS),
    *(f"clock wrong by {seconds} s" for seconds in WRONG_S),
)  # fmt: skip
"""Events that must occur in that many mornings."""


def seeds(count: int) -> Iterable[int]:
    """Return the seeds to run: the requested one, else the first `count`."""
    chosen = os.environ.get("MOMO_TEST_SEED")
    return [int(chosen)] if chosen else range(1, count + 1)


def test_a_short_morning_ends_without_problems(tmp_path: Path) -> None:
    shop = run_day(tmp_path, SHORT)
    assert shop.happened["receipt"] >= 10
    assert shop.happened["killed"] >= 5


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_many_mornings_end_without_problems() -> None:
    chosen = seeds(MANY)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        played = dict(zip(chosen, pool.map(play, chosen), strict=True))
    assert not {seed: problem for seed, (problem, _) in played.items() if problem is not None}
    happened = sum((counts for _, counts in played.values()), Counter[str]())
    # Every fault must have happened, or the run does not test it.
    assert not LONG or len(played) < MANY or not set(EVERYTHING) - set(happened)


@pytest.mark.slow
def test_the_same_seed_is_the_same_morning(tmp_path: Path) -> None:
    digests = set()
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        digests.add(run_day(tmp_path / name, SHORT).digest)
    assert len(digests) == 1


# --- injected faults are detected ----------------------------------------------------------------------


@pytest.mark.slow
def test_a_daemon_whose_commits_do_not_last_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = FaultyStore._commit

    def forgetful(store: FaultyStore, connection: sqlite3.Connection, group: list[_Job]) -> None:
        if store.kill_chance and store.rng.random() < 0.03:
            connection.execute("BEGIN")
            for job in group:
                run_job(connection, job, [], alone=True)
            connection.execute("ROLLBACK")
        else:
            commit(store, connection, group)

    monkeypatch.setattr(FaultyStore, "_commit", forgetful)
    with pytest.raises(AssertionError, match=r"lost|gone|before it was stored|has two answers"):
        run_day(tmp_path, SHORT)


@pytest.mark.slow
def test_a_daemon_that_trusts_every_sender_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "untrusted_reasons", lambda *_, **__: [])
    with pytest.raises(AssertionError, match="forged, but used"):
        run_day(tmp_path, Size(3, thief=60))


@pytest.mark.slow
def test_a_daemon_that_takes_any_answer_for_success_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classify = delivery.classify

    def hopeful(outcome: AttemptOutcome) -> AttemptResult:
        return AttemptResult.DELIVERED if outcome.connected else classify(outcome)

    monkeypatch.setattr(delivery, "classify", hopeful)
    with pytest.raises(AssertionError, match="never received"):
        run_day(tmp_path, Size(3))
