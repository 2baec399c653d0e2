"""The line status object, and the reasons why lines are not ready."""

import pytest
from msgspec import to_builtins

from daemon.core.lines.line_json import LineStatusAnswer, Unaccounted
from daemon.core.lines.readiness import sims_without_number
from daemon.core.messages import line_history
from daemon.core.model import Device, PaymentMethod, Sim
from tests.fakes import rows
from tests.fakes.rows import AT, DAY

NOW = AT + DAY


def line_status(
    device: Device,
    sims: list[Sim],
    methods: list[PaymentMethod],
    *,
    unplaced: dict[str, int] | None = None,
    gaps: dict[str, line_history.Unaccounted] | None = None,
) -> LineStatusAnswer:
    return LineStatusAnswer.of(
        [device], sims, methods, unplaced=unplaced or {}, gaps=gaps or {}, phones=None, now_us=NOW
    )


def test_a_phone_with_a_number_on_its_sim_is_ready() -> None:
    unplaced = {rows.sim().sim_key: 2, "gone": 1}
    status = line_status(rows.device(), [rows.sim()], [rows.method()], unplaced=unplaced)
    assert to_builtins(status) == {
        "ready": True,
        "receiving": True,
        "receiving_reason": None,
        "unplaced_payments": 3,
        "phones": [
            {
                "device_id": rows.DEVICE_ID,
                "name": "zte-front",
                "reads_payments": True,
                "sims": [
                    {
                        "slot_index": 0,
                        "network": "MTN",
                        "receiving": True,
                        "receiving_reason": None,
                        "unplaced_payments": 2,
                        "line": {
                            "payment_method_id": rows.METHOD_ID,
                            "phone_number": "+233244124567",
                            "provider": "MTN MoMo",
                            "account_name": "Ama Mensah",
                            "merchant_code": "",
                        },
                        "unaccounted": None,
                    }
                ],
            }
        ],
    }


def test_a_sim_without_a_number_is_named_and_its_line_is_null() -> None:
    status = line_status(rows.device(), [rows.sim(network=None)], [])
    [sim] = status.phones[0].sims
    assert (status.ready, sim.network, sim.line) == (False, "", None)
    assert sims_without_number([rows.device()], [rows.sim()], []) == [
        {"device_id": rows.DEVICE_ID, "name": "zte-front", "slot_index": 0, "network": "MTN"}
    ]


def test_what_no_message_told_of_is_said_with_the_moment_it_showed() -> None:
    gaps = {rows.sim().sim_key: line_history.Unaccounted(3000, 500, AT)}
    status = line_status(rows.device(), [rows.sim()], [rows.method()], gaps=gaps)
    told = Unaccounted("30.00", "5.00", "GHS", "2026-11-21T08:01:00.123Z")
    assert status.phones[0].sims[0].unaccounted == told


def test_no_phone_at_all_is_ready() -> None:
    none = LineStatusAnswer.of([], [], [], unplaced={}, gaps={}, phones=None, now_us=NOW)
    assert none == LineStatusAnswer(True, True, None, 0, [])


@pytest.mark.parametrize(
    ("device", "sim", "held_up"),
    [
        (rows.device(), rows.sim(), True),
        (rows.device(), rows.sim(read_payment_at=None), False),
        (rows.device(present=False, last_seen_at=NOW - 7 * DAY + 1), rows.sim(), True),
        (rows.device(present=False, last_seen_at=NOW - 7 * DAY), rows.sim(), False),
        (rows.device(present=True, last_seen_at=NOW - 8 * DAY), rows.sim(), True),
        (rows.device(forgotten_at=AT), rows.sim(), False),
        (rows.device(), rows.sim(present=False), False),
    ],
    ids=["plain", "never read", "6 days away", "7 days away", "here all along", "forgotten", "no SIM"],
)
def test_what_holds_the_lines_up(device: Device, sim: Sim, *, held_up: bool) -> None:
    assert line_status(device, [sim], []).ready is not held_up


@pytest.mark.parametrize(
    ("device", "sim", "needed"),
    [
        (rows.device(), rows.sim(), True),
        (rows.device(), rows.sim(read_payment_at=None), True),
        (rows.device(present=False), rows.sim(), False),
        (rows.device(forgotten_at=AT), rows.sim(), False),
        (rows.device(), rows.sim(present=False), False),
        (rows.device(), rows.sim(ignored_at=AT), False),
    ],
    ids=["plain", "never read", "away", "forgotten", "no SIM", "ignored"],
)
def test_an_endpoint_needs_the_numbers_of_the_sims_in_connected_phones(
    device: Device, sim: Sim, *, needed: bool
) -> None:
    assert bool(sims_without_number([device], [sim], [])) is needed


def test_an_ignored_sim_is_not_in_the_line_status() -> None:
    ignored = rows.sim(ignored_at=AT)
    status = line_status(rows.device(), [ignored], [])
    assert (status.ready, status.phones[0].sims) == (True, [])


def test_a_second_sim_of_a_phone_that_reads_payments_needs_a_number_too() -> None:
    other = rows.sim(seq=2, sim_key="b", slot_index=1, read_payment_at=None)
    assert not line_status(rows.device(), [rows.sim(), other], [rows.method()]).ready
    missing = sims_without_number([rows.device()], [rows.sim(), other], [rows.method()])
    assert [entry["slot_index"] for entry in missing] == [1]


def test_a_deleted_number_is_on_no_sim() -> None:
    assert sims_without_number([rows.device()], [rows.sim()], [rows.method(deleted_at=AT)])
