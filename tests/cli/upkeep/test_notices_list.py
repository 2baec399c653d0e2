"""`momo notices list`: the text of a notice, and its command on one line for copying."""

from daemon.wire import Path
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok

RESUME = "momo endpoints resume b91f0c1e-7d2b-4c3d-9e4f-0123456789ab"
PAUSED = {
    **samples.NOTICE,
    "text": "The endpoint shop.example failed 20 times and is paused.",
    "next": RESUME,
    "count": 1,
}


def test_a_shop_without_a_channel_is_told_the_settings(api: FakeApi, momo: Momo) -> None:
    api.on("POST", Path.LOCAL_NOTICES_TEST, ok({"queued": []}))
    ran = momo("notices", "test", "-o", "table")
    assert ran.code == 6
    assert ran.err.splitlines()[1:] == ["next:  momo config edit", "       momo config set notices.desktop true"]


def test_a_notice_has_its_command_on_a_line_of_its_own(api: FakeApi, momo: Momo) -> None:
    other = {**samples.NOTICE, "kind": "other", "next": None}
    api.on("GET", Path.LOCAL_NOTICES, ok([samples.NOTICE, other]))
    assert momo("notices", "list", "-o", "table", COLUMNS="100").out.splitlines() == [
        f"! now  18m ago  2 times  {samples.NOTICE['id'][:8]}",
        "       A SIM that is usually busy has had no message for a long time. Is the network down?",
        "       momo phones status",
        f"! now  18m ago  2 times  {samples.NOTICE['id'][:8]}",
        "       A SIM that is usually busy has had no message for a long time. Is the network down?",
    ]


def test_notices_for_one_reason_stand_together(api: FakeApi, momo: Momo) -> None:
    over = {**PAUSED, "recovered_at": "2026-11-20T09:10:00.000Z"}
    note = {**samples.NOTICE, "kind": "other", "next": None}
    many = [over, note, *[{**PAUSED, "text": f"Endpoint {n} is paused."} for n in range(4)]]
    for row in (over, PAUSED):
        assert row["kind"] == PAUSED["kind"]
    api.on("GET", Path.LOCAL_NOTICES, ok(many))
    shown = momo("notices", "list", "-o", "table", COLUMNS="100").out.splitlines()
    short = samples.NOTICE["id"][:8]
    assert shown == [
        f"! now  5 notices: {PAUSED['kind']}",
        f"       18m ago  {short}",
        "         The endpoint shop.example failed 20 times and is paused.",
        f"       18m ago  {short}",
        "         Endpoint 0 is paused.",
        f"       18m ago  {short}",
        "         Endpoint 1 is paused.",
        "       and 2 more: momo notices list -o plain",
        f"       {RESUME}",
        f"! now  18m ago  2 times  {short}",
        "       A SIM that is usually busy has had no message for a long time. Is the network down?",
    ]
    assert len(momo("notices", "list", "-o", "plain").out.splitlines()) == len(many)


def test_a_command_is_whole_however_narrow_the_terminal_is(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.LOCAL_NOTICES, ok([PAUSED]))
    assert f"       {RESUME}" in momo("notices", "list", "-o", "table", COLUMNS="80").out.split("\n")
    narrow = momo("notices", "list", "-o", "table", COLUMNS="40").out
    assert RESUME in " ".join(narrow.split())
    assert "…" not in narrow
