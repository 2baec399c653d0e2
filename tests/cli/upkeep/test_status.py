"""`momo status` shows the age of the newest backup and the findings of the daily database check."""

from typing import Any

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok

WELL: dict[str, Any] = {
    **samples.STATUS, "db": {**samples.STATUS["db"], "last_check": "ok"}, "endpoints": [],
    "phones": [], "queue": {}, "notices": {}, "lines": {"ready": True, "phones": []},
    "clock": {"state": "ok"}, "secrets": "unlocked", "http_security": "loopback",
}  # fmt: skip


@pytest.mark.parametrize(
    ("found", "said", "command"),
    [
        ("damaged", "! the database is damaged", "momo restore"),
        ("findings", "! the ledger check has findings", "momo doctor ledger"),
    ],
)
def test_a_database_that_is_not_sound_needs_a_person(
    found: str, said: str, command: str, api: FakeApi, momo: Momo
) -> None:
    db = {**samples.STATUS["db"], "last_check": found}
    api.on("GET", wire.Path.LOCAL_STATUS, ok({**samples.STATUS, "db": db}))
    ran = momo("status", "--fail-if-unhealthy", "-o", "table")
    assert ran.code == 6
    assert said in ran.err
    assert command in ran.err


@pytest.mark.parametrize("found", ["ok", "damaged"])
def test_cron_hears_nothing_of_a_shop_that_is_well_and_two_lines_of_one_that_is_not(
    found: str, api: FakeApi, momo: Momo
) -> None:
    well = {**WELL, "db": {**samples.STATUS["db"], "last_check": found}}
    api.on("GET", wire.Path.LOCAL_STATUS, ok(well))
    ran = momo("status", "--fail-if-unhealthy", "--quiet")
    said = (
        ""
        if found == "ok"
        else (
            "error: the database is damaged: no payment is recorded until a backup is restored\n"
            "next:  momo restore --stop\n"
        )
    )
    assert (ran.code, ran.out, ran.err) == (0 if found == "ok" else 6, "", said)
    # An explicit output form is printed also with --quiet.
    assert momo("status", "--fail-if-unhealthy", "--quiet", "--json").out != ""


@pytest.mark.parametrize("hold", ["refused", "idle_only"])
def test_a_machine_that_cannot_be_kept_awake_needs_attention(hold: str, api: FakeApi, momo: Momo) -> None:
    awake = {"hold": hold, "why": "Access denied"}
    api.on("GET", wire.Path.LOCAL_STATUS, ok({**samples.STATUS, "awake": awake}))
    ran = momo("status", "-o", "table")
    assert "! the machine may fall asleep" in ran.err
    assert "momo doctor service" in ran.err


@pytest.mark.parametrize(
    ("clock", "said"),
    [
        ({"state": "ok", "skew_s": 1}, " · clock ok (modem +1 s)"),
        ({"state": "ok", "skew_s": 0}, " · clock ok (modem +0 s)"),
        ({"state": "suspect", "skew_s": -7200}, " · clock suspect (modem -7200 s)"),
        ({"state": "ok", "skew_s": None}, " · clock ok"),
    ],
)
def test_the_first_line_says_how_far_the_networks_time_is_from_the_clock(
    clock: dict[str, object], said: str, api: FakeApi, momo: Momo
) -> None:
    api.on("GET", wire.Path.LOCAL_STATUS, ok({**samples.STATUS, "clock": clock}))
    assert momo("status", "-o", "table", COLUMNS="200").out.splitlines()[0].endswith(said)
    told = momo("status", "--fields", "clock,clock_skew_s").out
    skew = "" if clock["skew_s"] is None else clock["skew_s"]
    assert told == f"{clock['state']}\t{skew}\n"


def test_the_age_of_the_newest_backup_is_in_the_first_line(api: FakeApi, momo: Momo) -> None:
    db = {**samples.STATUS["db"], "backed_up_at": "2026-11-20T02:00:00.000Z"}
    api.on("GET", wire.Path.LOCAL_STATUS, ok({**samples.STATUS, "db": db}))
    first = momo("status", "-o", "table").out.splitlines()[0]
    assert " · backup 7h ago · " in first


def test_a_daemon_that_still_opens_its_database_is_shown_as_starting(api: FakeApi, momo: Momo) -> None:
    api.on("GET", wire.Path.LOCAL_STATUS, ok({**samples.STATUS, "state": "starting"}))
    first = momo("status", "-o", "table").out.splitlines()[0]
    assert first == "! starting: the database is being opened"


def test_a_notice_that_was_not_seen_is_shown_and_is_no_fault(api: FakeApi, momo: Momo) -> None:
    notices = {"unseen": 2, "urgent": 1}
    api.on("GET", wire.Path.LOCAL_STATUS, ok({**WELL, "notices": notices}))
    ran = momo("status", "--fail-if-unhealthy")
    assert (ran.code, "NOTICES   2 not seen yet\n" in ran.out) == (0, True)
    assert "momo notices list" in ran.err


def test_a_shop_that_only_practises_is_told_that_its_phones_are_simulated(api: FakeApi, momo: Momo) -> None:
    lines = {**WELL["lines"], "receiving": False, "receiving_reason": "no modem is connected"}
    phones = [{"name": "simulated-mtn", "state": "ready", "simulated": True}]
    api.on("GET", wire.Path.LOCAL_STATUS, ok({**WELL, "lines": lines, "phones": phones}))
    ran = momo("status", "--fail-if-unhealthy")
    assert (ran.code, "no modem" in ran.out + ran.err) == (6, False)
    assert "LINES     only simulated phones, for the sandbox: no real payment is seen\n" in ran.out
    assert "! only simulated phones, for the sandbox: no real payment is seen\n" in ran.err


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"auto_paused_at": "2026-11-20T09:12:00.000Z"}, "https://shop.example/hook was paused after failures"),
        ({"auto_paused_at": None}, "https://shop.example/hook is paused"),
        ({"auto_paused_at": None, "is_sandbox": True}, ""),
    ],
)
def test_a_paused_endpoint_of_the_live_shop_is_a_fault(
    members: dict[str, Any], said: str, api: FakeApi, momo: Momo
) -> None:
    paused = {**samples.ENDPOINT, "url": "https://shop.example/hook", "is_active": False, **members, "queued": 3}
    api.on("GET", wire.Path.LOCAL_STATUS, ok({**WELL, "endpoints": [paused]}))
    ran = momo("status", "--fail-if-unhealthy", "--quiet")
    next_ = f"next:  momo endpoints resume {samples.ENDPOINT['id']}\n"
    assert (ran.code, ran.err) == ((6, f"error: {said}\n{next_}") if said else (0, ""))
