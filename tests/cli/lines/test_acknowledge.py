"""Money without a message: `momo status` reports it, `momo lines` names the command, and an operator acknowledges it."""

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.cli.payments.test_review_decisions import posted
from tests.fakes.fake_api import FakeApi, ok

SIM = samples.LINES["phones"][0]["sims"][0]
TOLD = {
    **samples.LINES,
    "phones": [{**samples.LINES["phones"][0], "sims": [{**SIM, "unaccounted": None}]}],
}


def test_status_finds_fault_with_it_until_it_is_known(api: FakeApi, momo: Momo) -> None:
    sound = {**samples.STATUS, "lines": {**TOLD, "ready": True}}
    api.on("GET", wire.Path.LOCAL_STATUS, ok({**sound, "lines": samples.LINES}))
    ran = momo("status", "--fail-if-unhealthy", "-o", "table")
    assert ran.code == 6
    assert "! 024 412 4567: money moved without a message" in ran.err
    assert "momo lines" in ran.err
    api.on("GET", wire.Path.LOCAL_STATUS, ok(sound))
    assert "no message told of" not in momo("status", "-o", "table").err


def test_the_lines_say_what_to_type(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LINES, ok(samples.LINES))
    assert "momo lines acknowledge zte-front:0" in momo("lines", "-o", "table").err


def test_a_person_knows_of_it_and_says_why(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.SIMS, ok(samples.SIMS))
    api.on("POST", wire.Path.LOCAL_SIM_UNTOLD, ok(samples.KNOWN))
    ran = momo("lines", "acknowledge", "zte-front:0", "--notes", "interest", "-o", "table")
    assert ran.code == 0
    assert "GHS 30.00" in ran.out
    assert "Acknowledged. Later differences are reported again." in ran.err
    device = samples.SIMS[0]["device_id"]
    assert posted(api) == [{"device_id": device, "slot_index": 0, "notes": "interest"}]


def test_when_nothing_is_untold_it_says_so(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.SIMS, ok(samples.SIMS))
    api.on("POST", wire.Path.LOCAL_SIM_UNTOLD, ok([]))
    ran = momo("lines", "acknowledge", "zte-front:0", "-o", "table")
    assert (ran.code, ran.err) == (0, "All money of this SIM is accounted for.\n")
