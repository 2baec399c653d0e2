"""The calls to a HiLink stick, with the real library over real HTTP."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from xml.parsers.expat import ExpatError

import pytest
from huawei_lte_api.Session import Session
from hypothesis import given
from hypothesis import strategies as st
from requests import Response

from daemon.modem.hilink import HiLinkError, Stick, StickFault, _fault_of, _listed, _message, readable
from daemon.runtime.system import SystemClock
from tests.fakes.hilink_stick import (
    B_WITH_PASSWORD,
    E3372,
    FIRMWARES,
    SIM,
    WRONG_TOKEN,
    FakeStick,
    Faults,
    Firmware,
    hanging,
)

AT = datetime(2026, 11, 23, 6, 0, tzinfo=UTC)


def client(fake: FakeStick, timeout_s: float = 3.0) -> Stick:
    return Stick(fake.url, user="admin", timeout_s=timeout_s, monotonic=SystemClock().monotonic)


def password(firmware: Firmware) -> str | None:
    return firmware.password or None


@pytest.mark.parametrize("firmware", FIRMWARES, ids=lambda one: one.name)
async def test_every_firmware_tells_who_it_is_lists_and_deletes(firmware: Firmware) -> None:
    with FakeStick(firmware) as fake:
        for number in range(45 if firmware.paged else 15):
            fake.receive("MobileMoney", f"text {number} <&> \u00e9", AT.replace(minute=number))
        if firmware.sim_box:
            fake.receive("MobileMoney", "on the SIM", AT, SIM)
        stick = client(fake)
        identity, health = await stick.connect(password(firmware))
        assert (identity.imei, identity.imsi) == (fake.imei, fake.imsi)
        assert (identity.iccid, identity.model) == (fake.iccid, firmware.name)
        assert (health.sim, health.in_service) == ("ready", True)
        listed = await stick.messages()
        assert len(listed) == len(fake.messages)
        assert [one.date for one in listed] == sorted(one.date for one in listed)
        for one in listed:
            assert one.index is not None
            await stick.delete(one.index)
        assert fake.messages == []
        assert await stick.messages() == []


class Growing(FakeStick):
    """A stick that gets a delayed message, with the oldest time, while its second page is read."""

    grown = False

    def _list(self, asked: Mapping[str, str]) -> bytes:
        if asked["PageIndex"] == "2" and not self.grown:
            self.grown = True
            self.receive("MobileMoney", "late", AT.replace(hour=1))
        return FakeStick._list(self, asked)


@pytest.mark.parametrize("refused", [False, True], ids=["counts", "does not count"])
async def test_delayed_message_that_arrives_during_the_listing_is_in_it(refused: bool) -> None:
    calls = E3372.refused | ({"sms/sms-count"} if refused else set())
    with Growing(replace(E3372, refused=frozenset(calls))) as fake:
        for number in range(45):
            fake.receive("MobileMoney", f"text {number}", AT.replace(minute=number))
        stick = client(fake)
        await stick.connect(None)
        listed = await stick.messages()
        assert [one.text for one in listed] == ["late", *(f"text {n}" for n in range(45))]


async def test_long_list_is_read_once_if_the_count_agrees() -> None:
    with FakeStick() as fake:
        for number in range(45):
            fake.receive("MobileMoney", f"text {number}", AT.replace(minute=number))
        stick = client(fake)
        await stick.connect(None)
        before = fake.requests
        assert len(await stick.messages()) == 45
        # Three pages, the count, and the box of the SIM.
        assert fake.requests - before == 5


async def test_list_in_an_order_of_its_own_is_returned_by_time() -> None:
    with FakeStick(faults=Faults(shuffle=True, repeat=True)) as fake:
        for number in range(59, -1, -1):
            fake.receive("MobileMoney", f"text {number}", AT.replace(minute=number))
        stick = client(fake)
        await stick.connect(None)
        assert [one.text for one in await stick.messages()] == [f"text {n}" for n in range(60)]


async def test_one_message_and_none_are_lists_too() -> None:
    with FakeStick() as fake:
        stick = client(fake)
        await stick.connect(None)
        assert await stick.messages() == []
        fake.receive("AMA", "", AT)
        [only] = await stick.messages()
        assert (only.sender, only.text, only.box) == ("AMA", "", "local")


@pytest.mark.parametrize("code", [125002, WRONG_TOKEN])
async def test_dropped_session_is_told_and_a_new_one_helps(code: int) -> None:
    with FakeStick(faults=Faults(code_when_expired=code)) as fake:
        fake.receive("MobileMoney", "text", AT)
        stick = client(fake)
        await stick.connect(None)
        fake.cut()
        fake.plug()
        if code == WRONG_TOKEN:  # the library handles the other one by itself
            with pytest.raises(HiLinkError) as caught:
                await stick.messages()
            assert caught.value.fault is StickFault.SESSION
            await stick.connect(None)
        assert len(await stick.messages()) == 1


async def test_wrong_password_is_told_and_tried_once() -> None:
    with FakeStick(B_WITH_PASSWORD) as fake:
        for wrong in (None, "not it"):
            with pytest.raises(HiLinkError) as caught:
                await client(fake).connect(wrong)
            assert caught.value.fault is StickFault.LOGIN
        assert fake.wrong_logins == 1


async def test_nobody_there_is_told_at_once() -> None:
    with FakeStick() as fake:
        stick = client(fake)
        fake.cut()
        with pytest.raises(HiLinkError) as caught:
            await stick.connect(None)
        assert caught.value.fault is StickFault.AWAY


async def test_hanging_stick_delays_nothing_and_gets_no_second_thread() -> None:
    with FakeStick() as fake:
        stick = client(fake, timeout_s=0.5)
        await stick.connect(None)
        with hanging(fake):
            ticks = 0

            async def count() -> None:
                nonlocal ticks
                while True:
                    ticks += 1
                    await asyncio.sleep(0.01)

            counting = asyncio.create_task(count())
            with pytest.raises(HiLinkError) as caught:
                await stick.messages()
            counting.cancel()
            assert caught.value.fault is StickFault.AWAY
            assert ticks > 20


async def test_answer_that_drips_ends_with_the_time_limit() -> None:
    with FakeStick(faults=Faults(drip=True)) as fake:
        stick = client(fake, timeout_s=0.5)
        begun = SystemClock().monotonic()
        with pytest.raises(HiLinkError):
            await stick.connect(None)
        assert SystemClock().monotonic() - begun < 10


async def test_another_device_at_that_address_is_told() -> None:
    with FakeStick(Firmware("router", token="none", refused=frozenset({"device/information"}))) as fake:
        with pytest.raises(HiLinkError) as caught:
            await client(fake).connect(None)
        assert caught.value.fault is StickFault.REFUSED


async def test_missing_sim_and_pin_are_told() -> None:
    for state, said in ((255, "no_sim"), (260, "pin_needed"), (261, "puk_needed")):
        with FakeStick(E3372, sim_state=state) as fake:
            _, health = await client(fake).connect(None)
            assert health.sim == said


def parsed(answer: bytes) -> Any:
    """Return what the library reads in an answer."""
    response = Response()
    response._content = answer
    return Session._process_response_data(response)


@given(st.lists(st.binary(max_size=60), max_size=4))
def test_whatever_stands_in_messages_the_list_is_read(contents: list[bytes]) -> None:
    rows = b"".join(
        b"<Message><Index>%d</Index><Phone>AMA</Phone><Content>%b</Content></Message>" % (at, text)
        for at, text in enumerate(contents)
        if b"<" not in text
    )
    answer = parsed(readable(b"<response><Messages>%b</Messages></response>" % rows))
    listed = _listed(answer["response"])
    assert len(listed) == sum(b"<" not in text for text in contents)
    for one in listed:
        _message("local", one)


@given(st.binary(max_size=500))
def test_any_answer_is_made_readable(body: bytes) -> None:
    readable(body)


def test_long_answers_of_open_tags_take_no_quadratic_time() -> None:
    for piece in (b"<Content>", b"</Phone>", b"<Content><Phone>", b"&"):
        readable(piece * (400_000 // len(piece)))


def test_error_number_of_a_parser_is_not_one_of_the_stick() -> None:
    with pytest.raises(ExpatError) as broken:
        parsed(b"<response>&#15;</response>")
    assert _fault_of(broken.value).fault is StickFault.AWAY
