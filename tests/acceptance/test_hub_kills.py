"""Branches, hub and database server are killed at random moments while people work: nothing is lost or doubled."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import postgresql
from tests.fakes.busy_day import BusyDay
from tests.fakes.head_office import HeadOffice
from tests.fakes.real_shop import pause
from tests.fakes.seed import seed
from tests.fakes.tiers import LONG, share

VICTIMS = ("branch", "hub", "postgres")
EACH = VICTIMS if LONG else ("any of them",)
"""In the long tier each is killed 60 times, in the other one each once."""
NAMES = ("kumasi", "tamale") if LONG else ("kumasi",)


@pytest.fixture
def server() -> Iterator[postgresql.Cluster | None]:
    """A server with fsync; None where PostgreSQL is not installed, and the hub then keeps a file."""
    if not postgresql.is_installed():
        yield None
        return
    made = postgresql.Cluster("-c max_connections=40")
    yield made
    made.remove()


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("victim", EACH)
def test_kills_at_random_moments_lose_nothing_and_double_nothing(
    server: postgresql.Cluster | None, victim: str, tmp_path: Path
) -> None:
    if server is None and victim == "postgres":
        pytest.skip("PostgreSQL's server is not installed")
    rng = random.Random(seed())
    url = "" if server is None else server.new_database()
    with HeadOffice(tmp_path, url=url, names=NAMES) as office:
        office.open()
        victims = VICTIMS if server is not None else VICTIMS[:2]
        kills, count = 60 if LONG else len(victims), share(300)
        day = BusyDay(office, rng, count)
        day.start()
        for number in range(kills):
            day.allow(count * (number + 1) // kills - count * number // kills)
            chosen = victims[number % len(victims)] if victim not in VICTIMS else victim
            pause(rng.uniform(0, 0.6) * office.hub.slowness)
            _kill(office, server, chosen, rng)
        day.finish()
        day.check()
        office.hub.stop()


def _kill(office: HeadOffice, server: postgresql.Cluster | None, victim: str, rng: random.Random) -> None:
    """Kill one program, and start it again; sometimes kill it once more while it starts."""
    if victim == "branch":
        branch = rng.choice(office.branches)
        branch.shop.kill()
        if rng.random() < 0.2:
            branch.shop.spawn()
            pause(rng.uniform(0.1, 0.9) * branch.shop.slowness)
            branch.shop.kill()
        office.start_branch(branch)
    elif victim == "hub":
        office.hub.kill()
        office.start_hub()
    else:
        assert server is not None
        how = rng.choice(("whole", "alone", "immediate", "connection"))
        if how == "connection":
            server.kill_a_connection()
            return
        if how == "immediate":
            server.stop("immediate")
        else:
            server.kill(whole=how == "whole")
        pause(rng.choice((0.0, 0.5, 2.0)))
        server.start()
