"""`momo lines`: the next command for a SIM without a number."""

import io
import os
import pty
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import pytest

from daemon import wire
from daemon.wire import Path
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.cli.payments.test_review_decisions import posted
from tests.fakes.fake_api import FakeApi, Says, ok, refusal


def bare(name: str) -> dict[str, Any]:
    sim = {"slot_index": 0, "network": "MTN", "unplaced_payments": 0, "line": None}
    phone = {"device_id": samples.DEVICE, "name": name, "reads_payments": True, "sims": [sim]}
    return {"ready": False, "unplaced_payments": 0, "phones": [phone]}


def number(phone: str, *, placed: bool = False) -> dict[str, Any]:
    place = {"device_id": samples.DEVICE, "slot_index": 0} if placed else None
    return {**samples.METHOD_ROW, "phone_number": phone, "sim": place}


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ([number("+233244124567"), number("+233200000011", placed=True)],
         ["next:  momo lines update 0244124567 --sim 'till 1:0'",
          "       momo lines ignore 'till 1:0'"]),
        ([number("+233244124567"), number("+233200000011")],
         ["next:  momo lines update 0244124567 --sim 'till 1:0'",
          "       momo lines update 0200000011 --sim 'till 1:0'",
          "       momo lines ignore 'till 1:0'"]),
        ([number("+233200000011", placed=True)],
         ["next:  momo lines add NUMBER --name \"NAME\" --sim 'till 1:0'",
          "       momo lines ignore 'till 1:0'"]),
    ],
)  # fmt: skip
def test_a_sim_without_a_number_is_offered_those_that_have_no_sim(
    numbers: list[dict[str, Any]], told: list[str], api: FakeApi, momo: Momo
) -> None:
    api.on("GET", Path.LINES, ok(bare("till 1")))
    api.on("GET", Path.PAYMENT_METHODS, ok(numbers))
    assert momo("lines", "-o", "table").err.splitlines() == told


def never_read(api: FakeApi) -> None:
    """Connect a phone that has never read a payment; its SIM has no number, yet the daemon says `ready`."""
    lines = bare("spare")
    lines["phones"][0]["reads_payments"] = False
    api.on("GET", Path.LINES, ok({**lines, "ready": True}))


def test_a_connected_sim_without_a_number_is_not_ready(api: FakeApi, momo: Momo) -> None:
    never_read(api)
    heading, *_, row = momo("lines", "-o", "table").out.splitlines()
    assert heading == "NOT READY  ! 1 SIM has no number: spare:0     UNPLACED (30 d)  0"
    assert "no number" in row
    assert momo("lines", "-o", "table").code == 0
    ran = momo("lines", "--fail-if-unready", "--quiet")
    assert ran.code == 6
    assert "error: 1 SIM has no number: spare:0" in ran.err


def test_a_sim_of_a_phone_that_is_away_needs_no_number(api: FakeApi, momo: Momo) -> None:
    never_read(api)
    away = {"device_id": samples.DEVICE, "name": "spare", "state": "away", "troubles": []}
    api.on("GET", Path.LOCAL_MODEMS, ok([away]))
    heading, *_ = momo("lines", "-o", "table").out.splitlines()
    assert heading == "READY  ✓ every SIM in use has a number     UNPLACED (30 d)  0"
    assert momo("lines", "--fail-if-unready", "--quiet").code == 0


def test_programs_are_asked_for_nothing_more(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.LINES, ok(bare("till")))
    assert momo("lines", "--json").code == 0
    assert [asked.path for asked in api.asked] == [Path.LINES]


def test_a_number_taken_off_its_sim_is_said_to_be_on_none(api: FakeApi, momo: Momo) -> None:
    api.on("PATCH", f"/v1/payment-methods/{samples.METHOD}", ok(number("+233244124567")))
    ran = momo("lines", "update", samples.METHOD, "--sim", "none", "-o", "table")
    assert ran.out == "✓ 024 412 4567 (Ama Mensah) is on no SIM now\n"
    assert ran.err.splitlines()[0] == "next:  momo phones list"


def deaf(api: FakeApi) -> str:
    """Make the only line unable to receive; return the reason."""
    why = "the SIM asks for its PIN"
    lines = bare("till")
    [phone] = lines["phones"]
    phone["sims"][0] |= {"receiving": False, "receiving_reason": why, "line": {"phone_number": "+233244124567"}}
    cannot = {"ready": True, "receiving": False, "receiving_reason": why}
    api.on("GET", Path.LINES, ok(lines | cannot))
    return why


@pytest.mark.parametrize("form", [["--quiet"], ["--json"], ["-o", "csv"], ["-o", "table"]])
def test_the_reason_of_a_failure_is_on_stderr_in_every_form(form: list[str], api: FakeApi, momo: Momo) -> None:
    why = deaf(api)
    ran = momo("lines", "--fail-if-unready", *form)
    assert ran.code == 6
    assert f"error: payments are not seen: {why}" in ran.err


def test_a_line_that_cannot_receive_is_shown_once_with_the_reason(api: FakeApi, momo: Momo) -> None:
    why = deaf(api)
    ran = momo("lines", "-o", "table")
    assert ran.code == 0
    assert f"\nNOT RECEIVING  ✗ {why}\n" in ran.out
    assert (ran.out + ran.err).count(why) == 1
    assert "error:" not in ran.err


def test_a_modem_that_is_locked_is_not_called_no_phone(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.LINES, ok({**bare("x"), "ready": True, "phones": []}))
    trouble = {"id": "modem.pin", "level": "fail", "text": "the SIM asks for its PIN"}
    locked = {"name": "x", "state": "pin_needed", "troubles": [{**trouble, "fix": "momo lines pin x:0"}]}
    api.on("GET", Path.LOCAL_MODEMS, ok([locked]))
    err = momo("lines", "-o", "table").err
    assert "A modem is connected, but no SIM can be read yet." in err
    assert "x: the SIM asks for its PIN" in err
    assert "next:  momo lines pin x:0" in err


SIM = samples.LINES["phones"][0]["sims"][0]
TOLD = {**samples.LINES, "phones": [{**samples.LINES["phones"][0], "sims": [{**SIM, "unaccounted": None}]}]}


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


FROM, TO = "2026-11-20T08:00:00.000Z", "2026-11-20T09:00:00.000Z"
ENDPOINT = samples.ENDPOINT["id"]
CLAIM = ("claim", samples.METHOD, "--yes", "--replay-to", ENDPOINT)


@pytest.fixture
def claimed(api: FakeApi) -> FakeApi:
    body = {"success": True, "claimed": 3, "dry_run": False, "from": FROM, "to": TO}
    api.on("POST", f"/v1/payment-methods/{samples.METHOD}/claim-unplaced", Says(body))
    api.on("POST", wire.Path.REPLAY, Says({"success": True, "enqueued": 3}))
    return api


def test_what_was_claimed_is_sent_on_over_its_own_window(claimed: FakeApi, momo: Momo) -> None:
    ran = momo(*CLAIM, "--json")
    assert (ran.code, ran.json["claimed"], ran.json["replay"]["enqueued"]) == (0, 3, 3)
    assert claimed.asked[-1].body == {"endpoint_id": ENDPOINT, "from": FROM, "to": TO}


def test_claim_stays_done_when_the_replay_is_refused(claimed: FakeApi, momo: Momo) -> None:
    claimed.on("POST", wire.Path.REPLAY, refusal(404, "ENDPOINT_NOT_FOUND"))
    ran = momo(*CLAIM)
    assert ran.code == 3
    assert "Claimed 3 payments" in ran.err
    assert f"momo replay --endpoint {ENDPOINT} --from {FROM} --to {TO}" in ran.err


def test_nothing_claimed_is_nothing_sent(claimed: FakeApi, momo: Momo) -> None:
    body = {"success": True, "claimed": 0, "dry_run": False, "from": None, "to": None}
    claimed.on("POST", f"/v1/payment-methods/{samples.METHOD}/claim-unplaced", Says(body))
    assert momo(*CLAIM).code == 0
    assert wire.Path.REPLAY not in [asked.path for asked in claimed.asked]


SEEN = {
    "success": True, "claimed": 3, "dry_run": True, "from": FROM, "to": TO,
    "amounts": [{"currency": "GHS", "amount": "96.00"}],
    "payments": [
        {
            "telco_transaction_id": "0012345678",
            "amount": "40.00",
            "currency": "GHS",
            "payer": {"phone_number": "+233244124567", "name": "Kofi"},
            "received_at": FROM,
        }
    ],
}  # fmt: skip
PATH = f"/v1/payment-methods/{samples.METHOD}/claim-unplaced"


def test_a_dry_run_lists_what_would_be_claimed(api: FakeApi, momo: Momo) -> None:
    api.on("POST", PATH, Says(SEEN))
    ran = momo("claim", samples.METHOD, "--dry-run", "-o", "table")
    assert ran.out == (
        "  today 08:00      GHS 40.00  Kofi 024…4567  0012345678\n"
        "  and 2 more\n"
        "3 payments (GHS 96.00) would be claimed.\n"
    )
    assert ran.err == f"next:  momo claim {samples.METHOD} --yes\n"
    assert [asked.body for asked in api.asked] == [{"dry_run": True}]


def test_what_is_claimed_is_shown_before_it_is_asked_about(
    api: FakeApi, momo: Momo, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.on("POST", PATH, Says(SEEN))
    api.on("GET", f"/v1/payment-methods/{samples.METHOD}", ok(samples.METHOD_ROW))
    typed = io.StringIO("n\n")
    monkeypatch.setattr(typed, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdin", typed)
    ran = momo("claim", samples.METHOD, "-o", "table")
    assert ran.code == 10
    assert "Kofi 024…4567  0012345678" in ran.err
    assert "Claim 3 payments (GHS 96.00) for 024 412 4567? [y/N]" in ran.err
    assert [asked.method for asked in api.asked] == ["POST", "GET"]


def test_done_it_says_that_nothing_was_sent_and_how_to_send_it(claimed: FakeApi, momo: Momo) -> None:
    sandbox = {**samples.ENDPOINT, "id": samples.MESSAGE, "is_sandbox": True}
    claimed.on("GET", wire.Path.ENDPOINTS, ok([samples.ENDPOINT, sandbox]))
    ran = momo("claim", samples.METHOD, "--yes", "-o", "table")
    assert ran.out == "✓ Claimed 3 payments. They were NOT sent to any webhook yet.\n"
    assert ran.err == f"next:  momo replay --endpoint {ENDPOINT} --from {FROM} --to {TO}\n"


def test_an_endpoint_that_there_is_not_is_refused_before_anything_is_claimed(claimed: FakeApi, momo: Momo) -> None:
    claimed.on("GET", wire.Path.ENDPOINTS, ok([samples.ENDPOINT]))
    assert momo("claim", samples.METHOD, "--yes", "--replay-to", "nobody").code == 3
    assert [asked.method for asked in claimed.asked] == ["GET"]


SIM_ignore = Path.SIM.format(device_id=samples.DEVICE, slot_index=0)
METHOD = Path.PAYMENT_METHOD.format(id=samples.METHOD)


@pytest.fixture
def plugged(api: FakeApi) -> FakeApi:
    api.on("GET", Path.SIMS, ok(samples.SIMS))
    api.on("PATCH", SIM_ignore, ok(samples.IGNORED_SIM))
    api.on("PATCH", METHOD, ok(samples.METHOD_ROW))
    return api


@pytest.mark.parametrize(
    ("flags", "ignored", "said"),
    [((), True, "✓ zte-front:0 is set aside."), (("--undo",), False, "✓ zte-front:0 is for payments again.")],
)
def test_a_sim_is_set_aside_and_taken_back(
    flags: tuple[str, ...], ignored: bool, said: str, plugged: FakeApi, momo: Momo
) -> None:
    ran = momo("lines", "ignore", "zte-front:0", *flags, "-o", "table")
    assert (ran.code, ran.out.splitlines()[0]) == (0, said)
    assert plugged.asked[-1].body == {"ignored": ignored}


def test_an_ignored_sim_is_shown_as_such_and_no_number_is_offered_for_it(plugged: FakeApi, momo: Momo) -> None:
    ignored = {**samples.SIMS[0]["sims"][0], "ignored": True}
    plugged.on("GET", Path.SIMS, ok([{**samples.SIMS[0], "sims": [ignored]}]))
    plugged.on("GET", Path.LOCAL_MODEMS, ok([]))
    ran = momo("phones", "list", "-o", "table")
    assert "ignored" in ran.out
    assert "lines update" not in ran.err


def test_the_name_on_a_number_is_changed_and_its_sim_is_not(plugged: FakeApi, momo: Momo) -> None:
    ran = momo("lines", "update", samples.METHOD, "--name", "Ama Ventures", "-o", "table")
    assert (ran.code, ran.out.startswith("✓ Changed 024 412 4567")) == (0, True)
    assert plugged.asked[-1].body == {"account_name": "Ama Ventures"}
    both = momo("lines", "update", samples.METHOD, "--name", "Ama", "--sim", "none")
    assert both.code == 0
    assert plugged.asked[-1].body == {"account_name": "Ama", "sim": None}


def test_an_update_of_nothing_is_a_usage_error(plugged: FakeApi, momo: Momo) -> None:
    ran = momo("lines", "update", samples.METHOD)
    assert (ran.code, "give --sim, --name or --phone" in ran.err) == (2, True)


OTHER = "7a1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11"
METHOD_moves = f"/v1/payment-methods/{samples.METHOD}"
HOLDER = f"/v1/payment-methods/{OTHER}"
TAKEN = refusal(409, "SIM_ALREADY_ASSIGNED", payment_method_id=OTHER, phone_number="+233204100011")
ASSIGN = ("lines", "update", samples.METHOD, "--sim", "zte-front:0")


@pytest.fixture
def taken(api: FakeApi) -> FakeApi:
    api.on("GET", wire.Path.SIMS, ok(samples.SIMS))
    api.on("PATCH", METHOD_moves, TAKEN, ok(samples.METHOD_ROW))
    api.on("PATCH", HOLDER, ok({**samples.METHOD_ROW, "id": OTHER, "sim": None}))
    return api


def test_sim_with_another_number_is_refused_and_the_hint_moves_it(taken: FakeApi, momo: Momo) -> None:
    ran = momo(*ASSIGN, "--json")
    assert ran.code == 5
    assert ran.json["error"]["next"][0] == f"momo lines update {samples.METHOD} --sim zte-front:0 --move"
    assert [asked.path for asked in taken.asked][1:] == [METHOD_moves]


def test_move_takes_the_other_number_off_first_and_says_so(taken: FakeApi, momo: Momo) -> None:
    ran = momo(*ASSIGN, "--move")
    assert (ran.code, ran.err) == (0, "Removed 020 410 0011 from that SIM.\n")
    place = {"device_id": samples.DEVICE, "slot_index": 0}
    assert [(asked.path, asked.body) for asked in taken.asked][1:] == [
        (METHOD_moves, {"sim": place}),
        (HOLDER, {"sim": None}),
        (METHOD_moves, {"sim": place}),
    ]


def test_move_does_not_hide_any_other_refusal(taken: FakeApi, momo: Momo) -> None:
    taken.on("PATCH", METHOD_moves, refusal(422, "NETWORK_MISMATCH"))
    assert momo(*ASSIGN, "--move").code == 5
    assert HOLDER not in [asked.path for asked in taken.asked]


def test_sim_none_takes_the_number_off_its_sim(api: FakeApi, momo: Momo) -> None:
    api.on("PATCH", METHOD_moves, ok({**samples.METHOD_ROW, "sim": None}))
    ran = momo("lines", "update", samples.METHOD, "--sim", "none", "-o", "table")
    assert ran.code == 0
    assert "on no SIM" in ran.out
    assert api.asked[-1].body == {"sim": None}


@pytest.mark.parametrize("flags", [(), ("--sim", "none"), ("--name", "Ama")])
def test_move_needs_the_sim_to_move_to(flags: tuple[str, ...], momo: Momo) -> None:
    ran = momo("lines", "update", samples.METHOD, "--move", *flags)
    assert ran.code == 2
    assert "--move goes with --sim DEVICE:SLOT" in ran.err


METHOD_methods = f"{Path.PAYMENT_METHODS}/{samples.METHOD}"
ADD = ("lines", "add", "--name", "Ama", "-o", "table", "--provider", "mtn")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[BinaryIO]:
    """Typed answers at the terminal."""
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        yield hand


def test_update_corrects_a_number_and_a_name(api: FakeApi, momo: Momo) -> None:
    api.on("PATCH", METHOD_methods, ok({**samples.METHOD_ROW, "account_name": "Ama B."}))
    ran = momo("lines", "update", samples.METHOD, "--phone", "0244124567", "--name", "Ama B.", "-o", "table")
    assert api.asked[-1].body == {"account_name": "Ama B.", "phone_number": "0244124567"}
    assert ran.out == "✓ Changed 024 412 4567 (Ama B.), on SIM zte-front:0\n"


def test_a_number_of_another_network_is_asked_about(api: FakeApi, momo: Momo, typed: BinaryIO) -> None:
    api.on("POST", Path.PAYMENT_METHODS, ok(samples.METHOD_ROW))
    typed.write(b"what\nn\n")
    refused = momo(*ADD, "0204100011")
    assert "020 410 0011 is in the number range of Telecel, not of MTN. Is it right? [y/N]" in (refused.err)
    assert (refused.code, api.asked) == (10, [])
    typed.write(b"y\n")
    assert momo(*ADD, "0204100011").code == 0  # it was ported
    assert [one.body["phone_number"] for one in api.asked] == ["0204100011"]
    fits = momo(*ADD, "0244124567")
    assert (fits.code, "number range" in fits.err) == (0, False)
    assert momo(*ADD, "0204100011", "--yes").code == 0


def test_a_corrected_number_is_compared_with_the_network_of_the_record(
    api: FakeApi, momo: Momo, typed: BinaryIO
) -> None:
    api.on("GET", METHOD_methods, ok(samples.METHOD_ROW))
    typed.write(b"n\n")
    ran = momo("lines", "update", samples.METHOD, "--phone", "0274100011", "-o", "table")
    assert (ran.code, [one.method for one in api.asked]) == (10, ["GET"])


def test_a_script_is_not_asked(api: FakeApi, momo: Momo) -> None:
    api.on("POST", Path.PAYMENT_METHODS, ok(samples.METHOD_ROW))
    assert momo(*ADD, "0204100011", "--no-input").code == 0


FREE = samples.SIMS[0]["sims"][0]
TWO = [{**samples.SIMS[0], "sims": [FREE, {**FREE, "slot_index": 1, "network": "Telecel"}]}]
PLAIN = ("lines", "add", "0204100011", "--name", "Ama", "-y")


def at_slot(slot: int) -> dict[str, object]:
    return {"device_id": samples.DEVICE, "slot_index": slot}


@pytest.mark.parametrize(
    ("sims", "flags", "place", "provider"),
    [
        (samples.SIMS, (), at_slot(0), "momo_mtn"),
        ([{**samples.SIMS[0], "sims": [{**FREE, "ignored": True}]}], (), None, "momo_telecel"),
        ([], (), None, "momo_telecel"),
        (TWO, ("--sim", "zte-front:1"), at_slot(1), "momo_telecel"),
        (TWO, ("--provider", "at"), None, "momo_at"),
    ],
)
def test_a_new_number_finds_the_only_sim_and_its_network(
    sims: object, flags: tuple[str, ...], place: object, provider: str, api: FakeApi, momo: Momo
) -> None:
    api.on("GET", Path.SIMS, ok(sims))
    api.on("POST", Path.PAYMENT_METHODS, ok(samples.METHOD_ROW))
    assert momo(*PLAIN, *flags).code == 0
    body = api.asked[-1].body
    assert isinstance(body, dict)
    assert (body.get("sim"), body["provider"]) == (place, provider)


def test_two_free_sims_are_asked_about_and_a_script_is_told_the_flag(api: FakeApi, momo: Momo, typed: BinaryIO) -> None:
    api.on("GET", Path.SIMS, ok(TWO))
    api.on("POST", Path.PAYMENT_METHODS, ok(samples.METHOD_ROW))
    typed.write(b"zte-front:1\n")
    assert momo(*PLAIN).code == 0
    assert api.asked[-1].body["sim"] == at_slot(1)
    typed.write(b"2\n")
    assert momo(*PLAIN).code == 2
    ran = momo(*PLAIN, "--no-input")
    assert (ran.code, "--sim DEVICE:SLOT" in ran.err) == (2, True)


def test_a_number_of_no_known_network_needs_the_provider(api: FakeApi, momo: Momo) -> None:
    api.on("GET", Path.SIMS, ok([]))
    ran = momo("lines", "add", "+2348031234567", "--name", "Ama")
    assert (ran.code, "--provider is missing" in ran.err) == (2, True)
