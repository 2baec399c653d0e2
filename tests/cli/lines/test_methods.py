"""Correct a mistyped number, and confirm a number of another network."""

import os
import pty
import sys
from collections.abc import Iterator
from typing import BinaryIO

import pytest

from daemon.wire import Path
from tests.cli import samples
from tests.cli.conftest import Momo
from tests.fakes.fake_api import FakeApi, ok

METHOD = f"{Path.PAYMENT_METHODS}/{samples.METHOD}"
ADD = ("lines", "add", "--name", "Ama", "-o", "table", "--provider", "mtn")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[BinaryIO]:
    """Typed answers at the terminal."""
    master, slave = pty.openpty()
    with os.fdopen(slave) as person, os.fdopen(master, "wb", buffering=0) as hand:
        monkeypatch.setattr(sys, "stdin", person)
        yield hand


def test_update_corrects_a_number_and_a_name(api: FakeApi, momo: Momo) -> None:
    api.on("PATCH", METHOD, ok({**samples.METHOD_ROW, "account_name": "Ama B."}))
    ran = momo(
        "lines", "update", samples.METHOD, "--phone", "0244124567", "--name", "Ama B.",
        "-o", "table",
    )  # fmt: skip
    assert api.asked[-1].body == {"account_name": "Ama B.", "phone_number": "0244124567"}
    assert ran.out == "✓ Changed 024 412 4567 (Ama B.), on SIM zte-front:0\n"


def test_a_number_of_another_network_is_asked_about(
    api: FakeApi, momo: Momo, typed: BinaryIO
) -> None:
    api.on("POST", Path.PAYMENT_METHODS, ok(samples.METHOD_ROW))
    typed.write(b"what\nn\n")
    refused = momo(*ADD, "0204100011")
    assert "020 410 0011 is in the number range of Telecel, not of MTN. Is it right? [y/N]" in (
        refused.err
    )
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
    api.on("GET", METHOD, ok(samples.METHOD_ROW))
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
    sims: object,
    flags: tuple[str, ...],
    place: object,
    provider: str,
    api: FakeApi,
    momo: Momo,
) -> None:
    api.on("GET", Path.SIMS, ok(sims))
    api.on("POST", Path.PAYMENT_METHODS, ok(samples.METHOD_ROW))
    assert momo(*PLAIN, *flags).code == 0
    body = api.asked[-1].body
    assert isinstance(body, dict)
    assert (body.get("sim"), body["provider"]) == (place, provider)


def test_two_free_sims_are_asked_about_and_a_script_is_told_the_flag(
    api: FakeApi, momo: Momo, typed: BinaryIO
) -> None:
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
