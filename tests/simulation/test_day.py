"""A shop's day in simulated time: with any fault, no message is lost, stored twice or put on the wrong line.

The ports' loops, the sessions, the links, the flows and the database are the real ones; time, the wire (sockets instead
of ptys) and the phones are simulated. `MOMO_TEST_SEED=n` runs another seed. Three tests inject a fault into the daemon
each, to show that the simulation detects it.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.inputs import PhoneIdentity, Source
from daemon.core.messages import message_journal
from daemon.env import Env
from daemon.flows.lines import modems
from daemon.loops.lines import modems as loops_modems
from daemon.modem.session import events as said
from daemon.modem.session.read_messages import CommandScheduler
from daemon.modem.session.sim import ANSWER_VALID_S
from daemon.modem.session.start import SessionSetup
from daemon.steps import store_parts
from daemon.store.messages import messages
from tests.fakes.seed import seed
from tests.fakes.tiers import LONG
from tests.simulation.simulated_time import run
from tests.simulation.world import TROUBLES, Day, Verdict, World


def hour(seed: int) -> Day:
    return Day(seed, hours=1.0, messages=200, fault_every_s=300.0)


GOOD = Verdict()


def live(folder: Path, day: Day) -> World:
    world = World(folder, day)
    try:
        world.verdict = run(world.clock, world.run())
    finally:
        world.store.close()
    return world


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_a_day_with_four_modems_loses_nothing(tmp_path: Path) -> None:
    """In the slow tier five hours with almost as many faults as the day."""
    day = Day(seed()) if LONG else Day(seed(), hours=5.0, messages=1_000, fault_every_s=110.0)
    world = live(tmp_path, day)
    assert len(world.sent) >= day.messages
    assert world.verdict == GOOD
    assert set(world.happened) == set(TROUBLES)
    assert min(world.happened.values()) >= (2 if LONG else 1)


@pytest.mark.slow
def test_the_same_seed_is_the_same_hour(tmp_path: Path) -> None:
    chosen = seed()
    days = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        world = live(tmp_path / name, hour(chosen))
        rows = world.store_rows
        days.append((rows, world.happened, [[*phone.phone.commands] for phone in world.phones]))
    assert days[0] == days[1]


@pytest.mark.slow
@pytest.mark.parametrize("gap_s", [0.5, 5.0, 60.0])
def test_sims_that_change_places_in_running_phones_keep_their_lines(tmp_path: Path, gap_s: float) -> None:
    world = World(tmp_path, hour(3))

    async def swap() -> Verdict:
        await world.begin()
        huawei, sim800, quectel, mute = world.phones
        pairs = [(huawei, sim800), (quectel, huawei), (sim800, quectel)]
        if gap_s > ANSWER_VALID_S:
            pairs += [(mute, huawei), (sim800, mute)]  # It does not report its SIM by itself; it must be asked.
        for first, second in pairs:
            await world.swap_running(first, second, gap_s)
            for number in world.numbers:
                world.send(number)
            await asyncio.sleep(120)
        return await world.end()

    try:
        assert run(world.clock, swap()) == GOOD
    finally:
        world.store.close()
    assert len(world.sent) in {12, 20}


# --- injected faults are detected ----------------------------------------------------------------------


@pytest.mark.slow
def test_a_daemon_that_deletes_before_it_stores_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = loops_modems.PortLoop._heard

    def hasty(loop: loops_modems.PortLoop, events: Sequence[said.Event]) -> None:
        heard(loop, events)
        for event in events:
            if isinstance(event, said.PartsRead) and loop._link is not None:
                loop._link.stored(event.parts)

    monkeypatch.setattr(loops_modems.PortLoop, "_heard", hasty)
    assert live(tmp_path, hour(7)).verdict.too_early


@pytest.mark.slow
def test_a_daemon_that_forgets_a_storage_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = CommandScheduler.begin

    def forgetful(work: CommandScheduler, setup: SessionSetup, now: float) -> None:
        begin(work, replace(setup, storages=setup.storages[:1]), now)

    monkeypatch.setattr(CommandScheduler, "begin", forgetful)
    verdict = live(tmp_path, hour(7)).verdict
    assert verdict.lost
    assert verdict.left_on_phones


@pytest.mark.slow
def test_a_daemon_that_knows_a_sim_by_its_port_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Source] = {}
    identified = modems.identify

    async def by_port(env: Env, phone: PhoneIdentity) -> Source:
        source = await identified(env, phone)
        return known.setdefault(phone.port, source)

    monkeypatch.setattr(modems, "identify", by_port)
    assert live(tmp_path, hour(7)).verdict.misplaced


@pytest.mark.slow
def test_a_daemon_that_stores_a_message_again_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "has_part", lambda *_: False)
    digest = message_journal.digest
    taken: list[str] = []

    def unlike(pdu: str) -> str:
        taken.append(pdu)
        return digest(f"{pdu}{len(taken):08X}")

    monkeypatch.setattr(store_parts, "digest", unlike)
    verdict = live(tmp_path, hour(7)).verdict
    assert verdict.twice
