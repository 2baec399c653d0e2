"""Health of a modem: its description, and its troubles with the next step."""

import json

import pytest
from msgspec.structs import replace

from daemon.core.json_values import dump
from daemon.core.limits import MINUTE_US
from daemon.core.lines import modem_health
from daemon.core.lines.modem_health import Level, ModemHealth, ModemProblem
from tests.fakes.each import each
from tests.fakes.rows import AT, DEVICE_ID

WELL = ModemHealth(
    "/dev/ttyUSB0", "ready", device_id=DEVICE_ID, last_sms_at=AT - MINUTE_US, health_at=AT,
    signal=17, registration="home", receives=True, network="MTN GH", used=2, total=30,
)  # fmt: skip


def ids(phone: ModemHealth, now: int = AT) -> list[tuple[str, str]]:
    return [(trouble.id, trouble.level.value) for trouble in modem_health.find_problems(phone, now)]


@each(
    ("signal", "bars", "dbm"),
    [(None, None, None), (0, 0, -113), (1, 0, -111), (2, 1, -109), (9, 1, -95), (10, 2, -93),
     (14, 2, -85), (15, 3, -83), (19, 3, -75), (20, 4, -73), (31, 4, -51)],
)  # fmt: skip
def test_signal_is_bars_and_dbm(signal: int | None, bars: int | None, dbm: int | None) -> None:
    assert (modem_health.bars(signal), modem_health.dbm(signal)) == (bars, dbm)


def test_a_phone_that_is_well_has_no_trouble() -> None:
    assert ids(WELL) == []


@pytest.mark.parametrize("state", sorted(modem_health.TRANSIENT))
def test_what_passes_by_itself_is_no_trouble(state: str) -> None:
    assert ids(ModemHealth("/dev/ttyUSB0", state)) == []


@each(
    ("state", "found"),
    [
        ("unreachable", ("modem.port", "fail")),
        ("gone", ("modem.gone", "fail")),
        ("recovering", ("modem.hung", "warn")),
        ("hung", ("modem.hung", "fail")),
        ("hilink", ("modem.hilink", "fail")),
        ("pin_needed", ("modem.pin", "fail")),
        ("pin_wrong", ("modem.pin", "fail")),
        ("puk_needed", ("modem.puk", "fail")),
        ("no_sim", ("modem.sim", "fail")),
        ("not_storing", ("modem.disk", "fail")),
        ("set_aside", ("modem.set_aside", "warn")),
        ("a_newer_one", ("modem.state", "warn")),
    ],
)
def test_each_state_has_its_trouble(state: str, found: tuple[str, str]) -> None:
    phone = ModemHealth("/dev/ttyUSB0", state, "because", "do this")
    assert modem_health.find_problems(phone, AT) == [ModemProblem(found[0], Level(found[1]), "because", "do this")]


def test_a_state_without_a_word_of_its_own_still_says_what_to_do() -> None:
    (trouble,) = modem_health.find_problems(ModemHealth("/dev/ttyUSB0", "not_storing"), AT)
    assert str(trouble.text) == "the phone is not storing"
    assert "free space" in str(trouble.fix)
    (trouble,) = modem_health.find_problems(ModemHealth("/dev/ttyUSB0", "gone"), AT)
    assert "pull the modem out" in str(trouble.fix)


@pytest.mark.parametrize(
    ("used", "total", "found"),
    [
        (23, 30, []),
        (24, 30, [("modem.nearly_full", "warn")]),
        (29, 30, [("modem.nearly_full", "warn")]),
        (30, 30, [("modem.full", "fail")]),
        (31, 30, [("modem.full", "fail")]),
        (0, 0, []),
        (None, None, []),
    ],
)
def test_a_full_sim_is_told(used: int, total: int, found: list[tuple[str, str]]) -> None:
    assert ids(replace(WELL, used=used, total=total)) == found


@pytest.mark.parametrize("word", ["searching", "denied", "none", "emergency_only"])
def test_without_a_network_nothing_can_come(word: str) -> None:
    phone = replace(WELL, registration=word, receives=False, signal=0)
    assert ids(phone) == [("modem.network", "fail")]
    assert word.replace("_", " ") in str(modem_health.find_problems(phone, AT)[0].text)


def test_an_unknown_registration_is_not_held_against_it() -> None:
    assert ids(replace(WELL, registration="unknown", receives=False)) == []


def test_a_weak_signal_is_a_warning() -> None:
    assert ids(replace(WELL, signal=1)) == [("modem.signal", "warn")]
    assert ids(replace(WELL, signal=2)) == []


def test_the_worst_comes_first() -> None:
    phone = replace(WELL, state="recovering", used=30)
    assert ids(phone) == [("modem.full", "fail"), ("modem.hung", "warn")]


def test_a_storage_that_does_not_receive_is_told_of_too_and_is_no_failure() -> None:
    kept = replace(WELL, storages=(("SM", 2, 30), ("ME", 80, 100)))
    assert ids(kept) == [("modem.nearly_full", "warn")]
    assert str(modem_health.find_problems(kept, AT)[0].text) == "the storage ME is nearly full (80 of 100 messages)"
    full = replace(WELL, storages=(("SM", 2, 30), ("ME", 100, 100)))
    assert ids(full) == [("modem.nearly_full", "warn")]
    assert modem_health.health_json(full, [])["storages"] == [
        {"name": "SM", "used": 2, "total": 30},
        {"name": "ME", "used": 100, "total": 100},
    ]


def test_what_was_heard_long_ago_is_not_how_it_fares() -> None:
    full = replace(WELL, used=30)
    assert ids(full, AT + 5 * MINUTE_US) == [("modem.full", "fail")]
    assert ids(full, AT + 6 * MINUTE_US) == []
    assert ids(replace(full, state="hung", detail="no answer")) == [("modem.hung", "fail")]


def test_silence_is_told_in_hours_and_minutes() -> None:
    assert "MTN SIM for 42 min," in str(modem_health.silent_sim_problem(AT, AT + 42 * MINUTE_US, "MTN").text)
    assert "the SIM for 26 h 0 min," in str(modem_health.silent_sim_problem(AT, AT + 26 * 60 * MINUTE_US, None).text)


def test_the_shape_says_all_of_it() -> None:
    silent = modem_health.silent_sim_problem(AT, AT + 42 * MINUTE_US, "MTN")
    assert json.loads(dump(modem_health.health_json(WELL, [silent]))) == {
        "port": "/dev/ttyUSB0",
        "source": {"name": "modem", "kind": "modem", "trust_level": "full"},
        "state": "ready",
        "detail": "",
        "next": "",
        "device_id": DEVICE_ID,
        "last_sms_at": "2026-11-21T08:00:00.123Z",
        "signal": {"csq": 17, "dbm": -79, "bars": 3},
        "registration": "home",
        "network_name": "MTN GH",
        "storage": {"used": 2, "total": 30},
        "storages": [],
        "heard_at": "2026-11-21T08:01:00.123Z",
        "troubles": [
            {
                "id": "modem.silent",
                "level": "warn",
                "text": "no message came to the MTN SIM for 42 min, which is unusual at this hour",
                "fix": "send the SIM a message from another phone; if it does not come: momo doctor modem",
            }
        ],
    }


def test_what_is_not_known_is_null() -> None:
    shaped = modem_health.health_json(ModemHealth("/dev/ttyUSB0", "opening"), [])
    assert [name for name, value in shaped.items() if value is None] == [
        "device_id", "last_sms_at", "signal", "registration", "network_name", "storage", "heard_at",
    ]  # fmt: skip
