"""Whether each line can receive messages now, with the reason if it cannot."""

from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.limits import DAY_US
from daemon.core.lines import receiving
from daemon.core.lines.modem_health import TRANSIENT, ModemHealth
from daemon.core.lines.receiving import ReceivingSim
from tests.fakes import rows
from tests.fakes.each import each
from tests.fakes.rows import AT, DEVICE_ID

PORT = "/dev/ttyUSB0"
WELL = ModemHealth(PORT, "ready", device_id=DEVICE_ID, health_at=AT, registration="home", receives=True)
OTHER = "0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f"


def judged(*phones: ModemHealth, **changes: Any) -> ReceivingSim:
    given: dict[str, Any] = {"devices": [rows.device()], "sims": [rows.sim()], "methods": [rows.method()]}
    [line] = receiving.judge(**(given | changes), phones=phones, now_us=AT)
    return line


def reason(line: ReceivingSim) -> str | None:
    return None if line.problem is None else str(line.problem.text)


def test_a_line_receives_when_its_phone_is_ready_and_registered() -> None:
    assert judged(WELL).problem is None


@pytest.mark.parametrize("state", sorted(TRANSIENT))
def test_a_phone_that_starts_does_not_receive_yet(state: str) -> None:
    assert reason(judged(replace(WELL, state=state))) == "its modem is starting"


@each(
    "state",
    ["unreachable", "gone", "recovering", "hung", "hilink", "pin_needed", "pin_wrong", "puk_needed", "no_sim",
     "not_storing", "unusable"],
)  # fmt: skip
def test_in_every_other_state_no_message_comes_and_the_reason_is_that_of_the_state(state: str) -> None:
    line = judged(replace(WELL, state=state, detail="as the loop says", next_step="do this"))
    assert line.problem is not None
    assert (line.problem.text, line.problem.fix) == ("as the loop says", "do this")


@pytest.mark.parametrize("registration", ["searching", "denied", "none", "emergency_only"])
def test_a_sim_that_no_network_serves_does_not_receive(registration: str) -> None:
    line = judged(replace(WELL, registration=registration, receives=False))
    assert registration.replace("_", " ") in (reason(line) or "")


def test_a_registration_that_the_phone_does_not_tell_is_no_alarm() -> None:
    assert judged(replace(WELL, registration="unknown", receives=False)).problem is None
    assert judged(replace(WELL, registration=None, receives=False, health_at=None)).problem is None


def test_a_full_sim_gets_no_more_messages() -> None:
    assert judged(replace(WELL, used=30, total=30)).problem is not None
    assert judged(replace(WELL, used=29, total=30)).problem is None


def test_a_phone_on_no_port_is_away_unless_nothing_is_known_about_ports() -> None:
    assert reason(judged(devices=[rows.device(present=False)])) == "its modem is not connected"
    assert judged().problem is None
    elsewhere = replace(WELL, port="/dev/ttyUSB9", device_id=OTHER)
    assert reason(judged(elsewhere)) == "its modem is not connected"


def test_a_locked_phone_that_did_not_tell_its_imei_is_known_by_its_port() -> None:
    locked = replace(WELL, device_id=None, state="pin_needed", detail="the SIM asks for its PIN")
    assert reason(judged(locked)) == "the SIM asks for its PIN"


def test_the_one_modem_that_did_not_say_who_it_is_is_taken_for_the_missing_one() -> None:
    gone = ModemHealth("/dev/x", "unreachable", "/dev/x is not there", "plug it in")
    away = [rows.device(present=False, port=None)]
    assert reason(judged(gone, devices=away)) == "/dev/x is not there"
    two = replace(gone, port="/dev/y")
    assert reason(judged(gone, two, devices=away)) == "its modem is not connected"


def test_an_ignored_sim_and_a_forgotten_phone_are_no_lines() -> None:
    assert receiving.judge([rows.device()], [rows.sim(ignored_at=AT)], [], [], AT) == []
    assert receiving.judge([rows.device(forgotten_at=AT)], [rows.sim()], [], [], AT) == []


def test_in_all_the_lines_in_use_decide() -> None:
    deaf = judged(replace(WELL, state="no_sim", detail="no SIM"))
    spare = replace(deaf, used=False)
    assert receiving.overall([judged(WELL)], [WELL], AT) is None
    assert receiving.overall([judged(WELL), spare], [WELL], AT) is None
    some = receiving.overall([judged(WELL), deaf], [WELL], AT)
    assert some is not None
    assert str(some.text) == "1 of 2 lines cannot receive (zte-front:0: no SIM)"
    both = receiving.overall([deaf, deaf], [WELL], AT)
    assert both is not None
    assert str(both.text) == "no line can receive (zte-front:0: no SIM)"


def test_without_any_line_the_ports_decide() -> None:
    nothing = receiving.overall([], [], AT)
    assert nothing is not None
    assert str(nothing.text) == "no modem is connected"
    assert receiving.overall([], [WELL], AT) is None
    locked = receiving.overall([], [replace(WELL, state="pin_needed", detail="locked")], AT)
    assert locked is not None
    assert locked.text == "locked"
    simulated = receiving.overall([], [replace(WELL, simulated=True)], AT)
    assert simulated is not None
    assert str(simulated.text) == "no modem is connected"


def test_a_line_unseen_for_a_week_no_longer_holds_the_others_up() -> None:
    old = rows.device(present=False, last_seen_at=AT - 8 * DAY_US)
    line = judged(devices=[old])
    assert (line.recent, line.used) == (False, True)
    new = judged(WELL)
    assert receiving.overall([line, new], [WELL], AT) is None
    assert receiving.overall([line], [], AT) is not None, "alone it is still the shop's line"


def test_a_new_transaction_is_warned_of_what_does_not_end_by_itself() -> None:
    assert receiving.warning([judged(WELL)], [WELL], AT) is None
    starting = replace(WELL, state="starting")
    assert receiving.warning([judged(starting)], [starting], AT) is None
    locked = replace(WELL, state="pin_needed", detail="the SIM asks for its PIN", next_step="momo lines pin x:0")
    deaf = judged(locked)
    assert receiving.warning([deaf], [locked], AT) == (
        "Payments are not seen now: the SIM asks for its PIN. They are confirmed when it works again. "
        "What to do: momo lines pin x:0."
    )
    some = receiving.warning([deaf, judged(WELL)], [locked, WELL], AT) or ""
    assert some.startswith("Some payments are not seen now: 1 of 2 lines cannot receive")


@pytest.mark.parametrize(
    ("registration", "operator", "by"),
    [
        ("home", "MTN Ghana", None),
        ("home", "", None),
        ("home", "Telecel GH", "Telecel GH"),
        ("roaming", "Orange CI", "Orange CI"),
        ("roaming", "", "roaming"),
        ("roaming", "MTN CI", "roaming"),
        ("denied", "Telecel", None),
    ],
)
def test_another_network_than_the_sims_own_is_recognised(registration: str, operator: str, by: str | None) -> None:
    receives = registration in {"home", "roaming"}
    phone = replace(WELL, registration=registration, receives=receives, network=operator)
    assert receiving.elsewhere(rows.sim(), phone) == by


def test_a_number_whose_sim_was_replaced_by_another_one_does_not_receive() -> None:
    gone = rows.sim(present=False)
    new = rows.sim(seq=gone.seq + 1, sim_key="8923301000000000999", read_payment_at=None)
    given: dict[str, Any] = {"devices": [rows.device()], "methods": [rows.method()]}
    lines = receiving.judge(sims=[gone, new], phones=[WELL], now_us=AT, **given)
    why = receiving.overall(lines, [WELL], AT)
    assert why is not None
    assert why.id == "modem.other_sim"
    assert "the SIM of a number is in no modem" in str(why.text)
    assert (receiving.warning(lines, [WELL], AT) or "").startswith("Payments are not seen now")


@pytest.mark.parametrize(
    ("sim", "method"), [({}, {"deleted_at": AT}), ({"ignored_at": AT}, {}), ({}, {"is_active": False})]
)
def test_a_number_that_was_removed_or_whose_sim_is_set_aside_does_not_count(
    sim: dict[str, Any], method: dict[str, Any]
) -> None:
    given: dict[str, Any] = {"devices": [rows.device()], "methods": [rows.method(**method)]}
    gone = rows.sim(present=False, **sim)
    assert receiving.judge(sims=[gone], phones=[WELL], now_us=AT, **given) == []
