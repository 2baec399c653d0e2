"""Assign numbers to SIMs, move them and remove them."""

import pytest

from daemon import wire
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok, refusal

OTHER = "7a1c0f2e-3a55-4a83-9d0c-0b6f8f0f3f11"
METHOD = f"/v1/payment-methods/{samples.METHOD}"
HOLDER = f"/v1/payment-methods/{OTHER}"
TAKEN = refusal(409, "SIM_ALREADY_ASSIGNED", payment_method_id=OTHER, phone_number="+233204100011")
ASSIGN = ("lines", "update", samples.METHOD, "--sim", "zte-front:0")


@pytest.fixture
def taken(api: FakeApi) -> FakeApi:
    api.on("GET", wire.Path.SIMS, ok(samples.SIMS))
    api.on("PATCH", METHOD, TAKEN, ok(samples.METHOD_ROW))
    api.on("PATCH", HOLDER, ok({**samples.METHOD_ROW, "id": OTHER, "sim": None}))
    return api


def test_sim_with_another_number_is_refused_and_the_hint_moves_it(
    taken: FakeApi, momo: Momo
) -> None:
    ran = momo(*ASSIGN, "--json")
    assert ran.code == 5
    assert (
        ran.json["error"]["next"][0]
        == f"momo lines update {samples.METHOD} --sim zte-front:0 --move"
    )
    assert [asked.path for asked in taken.asked][1:] == [METHOD]


def test_move_takes_the_other_number_off_first_and_says_so(taken: FakeApi, momo: Momo) -> None:
    ran = momo(*ASSIGN, "--move")
    assert (ran.code, ran.err) == (0, "Removed 020 410 0011 from that SIM.\n")
    place = {"device_id": samples.DEVICE, "slot_index": 0}
    assert [(asked.path, asked.body) for asked in taken.asked][1:] == [
        (METHOD, {"sim": place}),
        (HOLDER, {"sim": None}),
        (METHOD, {"sim": place}),
    ]


def test_move_does_not_hide_any_other_refusal(taken: FakeApi, momo: Momo) -> None:
    taken.on("PATCH", METHOD, refusal(422, "NETWORK_MISMATCH"))
    assert momo(*ASSIGN, "--move").code == 5
    assert HOLDER not in [asked.path for asked in taken.asked]


def test_sim_none_takes_the_number_off_its_sim(api: FakeApi, momo: Momo) -> None:
    api.on("PATCH", METHOD, ok({**samples.METHOD_ROW, "sim": None}))
    ran = momo("lines", "update", samples.METHOD, "--sim", "none", "-o", "table")
    assert ran.code == 0
    assert "on no SIM" in ran.out
    assert api.asked[-1].body == {"sim": None}


@pytest.mark.parametrize("flags", [(), ("--sim", "none"), ("--name", "Ama")])
def test_move_needs_the_sim_to_move_to(flags: tuple[str, ...], momo: Momo) -> None:
    ran = momo("lines", "update", samples.METHOD, "--move", *flags)
    assert ran.code == 2
    assert "--move goes with --sim DEVICE:SLOT" in ran.err
