"""The PostgreSQL server of a hub is lost, and its synchronous standby takes over: nothing that was acknowledged is missing."""

import json
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemon import wire
from tests.fakes import postgresql
from tests.fakes.busy_day import BusyDay
from tests.fakes.far_server import FarServer
from tests.fakes.head_office import HeadOffice
from tests.fakes.measured import MEASURED
from tests.fakes.real_shop import SOON_S, RealShop, pause, wait_until
from tests.fakes.seed import seed
from tests.fakes.server_pair import ServerPair
from tests.fakes.slow_line import SlowLine
from tests.fakes.tiers import share

CALLERS = 4
CUT_OFF_S = 25.0
"""Until a call is refused: TCP gives up after 11 s (`daemon.store.postgresql.server.DEFAULTS`), and a busy machine."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not postgresql.is_installed(), reason="PostgreSQL's server is not installed"),
]


class Crowd:
    """Callers who make orders at the hub one after the other until they are told to stop."""

    def __init__(self, day: BusyDay) -> None:
        self._day = day
        self._ending = threading.Event()
        self.acknowledged_at = list[float]()
        self.errors: list[BaseException] = []
        self._threads = [threading.Thread(target=self._call, daemon=True) for _ in range(CALLERS)]
        for thread in self._threads:
            thread.start()

    def _call(self) -> None:
        try:
            while not self._ending.is_set():
                self._day.order(self._day.office.hub, 2_500)
                self.acknowledged_at.append(now_s())
        except BaseException as error:  # noqa: BLE001 -- raised by `stop`
            self.errors.append(error)

    def stop(self) -> None:
        """Let them go; fail if one was refused."""
        self._ending.set()
        for thread in self._threads:
            thread.join(60)
        assert self.errors == []


def now_s() -> float:
    """Return a time to measure from."""
    return time.monotonic_ns() / 1e9


@pytest.mark.timeout(300)
@pytest.mark.parametrize("turn", range(share(10)))
def test_every_acknowledged_row_outlives_the_primary_and_none_is_doubled(
    turn: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    rng = random.Random(seed() + turn)
    count = share(100)
    with ServerPair() as servers, HeadOffice(tmp_path, url=servers.url, names=("kumasi",)) as office:
        office.open()
        day = BusyDay(office, rng, count)
        day.start()
        crowd = Crowd(day)
        day.allow(count // 2)
        pause(rng.uniform(1, 2.5))
        assert servers.is_synchronous()
        servers.lose_primary()
        lost_s = now_s()
        day.allow(count - count // 2)
        pause(rng.uniform(0, 1.5))
        promoted_s = now_s()
        servers.promote()
        day.finish()
        crowd.stop()
        again_s = min(at for at in crowd.acknowledged_at if at > promoted_s)
        record_property(
            MEASURED,
            f"the hub writes {again_s - promoted_s:.2f} s after `pg_ctl promote` began, "
            f"{again_s - lost_s:.2f} s after the loss; {len(crowd.acknowledged_at)} orders",
        )
        day.check()
        office.hub.stop()


@pytest.mark.timeout(300)
def test_doctor_names_a_lost_standby_and_of_two_daemons_one_writes_after_a_lost_primary(tmp_path: Path) -> None:
    order = {"amount": "25.00", "phone_number": "0244123456"}
    answers: list[tuple[int, Any]] = []
    with (
        ServerPair() as servers,
        RealShop(tmp_path / "first", url=servers.url) as first,
        RealShop(tmp_path / "second", standby_of=first) as second,
    ):
        first.start(arguments=["--no-modem"])
        second.start(arguments=["--no-modem"])
        servers.standby.kill(whole=True)
        caller = threading.Thread(target=lambda: answers.append(first.api("POST", wire.Path.INITIALIZE, order)))
        caller.start()
        said = wait_until(lambda: _not_ok(first), SOON_S, "doctor finds it")
        assert "for the standby server (second), which does not answer" in said
        assert answers == [], "a commit waits"
        servers.standby.start()
        caller.join(SOON_S)
        ((status, made),) = answers
        assert status == 201

        wait_until(servers.is_synchronous, SOON_S, "the standby follows again")
        servers.lose_primary()
        servers.promote()
        wait_until(lambda: _states(first, second) == {"ok", "standby"}, 60, "one of them writes")
        writer = first if _states(first) == {"ok"} else second
        found = writer.transaction(made["data"]["reference"])
        assert found["svc_code"] == made["data"]["svc_code"]
        assert writer.rows("SELECT COUNT(*) FROM transactions") == [(1,)]
        assert writer.request("9.00")


@pytest.mark.timeout(300)
def test_a_server_that_the_network_cuts_off_is_noticed_in_bounded_time_and_used_again(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    order = {"amount": "25.00", "phone_number": "0244123456"}
    with (
        SlowLine(random.Random(seed())) as line,
        FarServer(line, postgresql.cluster()) as server,
        RealShop(tmp_path / "hub", url=server.near_url) as hub,
    ):
        hub.write_settings({"store": {"url": server.url}})
        hub.start(arguments=["--no-modem"], prefix=line.enter(0))
        hub.request("25.00")

        line.cut()
        cut_s = now_s()
        status, answer = hub.api("POST", wire.Path.INITIALIZE, order)
        refused_s = now_s() - cut_s
        assert (status, answer["error"]["code"]) == (503, "UNAVAILABLE")
        assert refused_s < CUT_OFF_S
        wait_until(lambda: _states(hub) == {"degraded"}, SOON_S, "it is degraded")
        again_s = now_s()
        assert hub.api("POST", wire.Path.INITIALIZE, order)[0] == 503
        assert now_s() - again_s < 2, "nothing waits for the server any more"

        line.heal()
        healed_s = now_s()
        wait_until(lambda: _states(hub) == {"ok"}, 60, "the hub writes again")
        again_s = now_s() - healed_s
        hub.request("25.00")
        record_property(MEASURED, f"refused after {refused_s:.1f} s, writes {again_s:.1f} s after")
        assert hub.rows("SELECT COUNT(*) FROM transactions") == [(2,)], "none of the refused calls"
        hub.stop()


def _states(*hubs: RealShop) -> set[str]:
    return {hub.ask("GET", wire.Path.LOCAL_STATUS)["state"] for hub in hubs}


def _not_ok(hub: RealShop) -> str:
    """Return the detail of the check of the second server, empty while it is fine."""
    checks = json.loads(hub.momo("doctor", "db", "--json").stdout)["data"]["checks"]
    (found,) = [check for check in checks if check["id"] == "db.copies"]
    return "" if found["status"] == "ok" else str(found["detail"])
