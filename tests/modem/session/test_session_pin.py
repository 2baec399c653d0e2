"""A SIM that asks for its PIN: entered once, and only into the SIM that it was stored for."""

import pytest

from daemon.modem.session.events import PinNeeded, PinRefused
from daemon.modem.session.session import State
from tests.fakes.session_with_phone import Shop
from tests.phones.phone import Phone
from tests.phones.quirks import FAMILIES

LOCKED = ["generic", "huawei", "zte", "sim800", "quectel"]


def locked(make: str = "generic", pin: str = "4321") -> Phone:
    family = FAMILIES[make]
    phone = Phone(family.identity(), family=family)
    sim = phone.sim
    assert sim is not None
    sim.pin = pin
    return phone


def typed(phone: Phone) -> list[str]:
    """Return every PIN that was typed into the phone."""
    return [said for said in phone.commands if said.startswith("AT+CPIN=")]


@pytest.mark.parametrize("make", LOCKED)
def test_each_make_tells_which_sim_is_locked_and_how_many_tries_are_left(make: str) -> None:
    phone = locked(make)
    shop = Shop(phone)
    shop.wait(30.0)
    assert shop.of(PinNeeded) == [PinNeeded("SIM PIN", phone.identity.iccid, phone.identity.imei, 3)]
    assert typed(phone) == []


@pytest.mark.parametrize("make", LOCKED)
def test_a_pin_that_is_handed_over_opens_the_sim(make: str) -> None:
    phone = locked(make)
    shop = Shop(phone)
    shop.wait(30.0)
    shop.session.offer_pin(phone.identity.iccid, "4321", shop.now)
    shop.wait(60.0)
    assert shop.state() is State.READY
    assert typed(phone) == ['AT+CPIN="4321"']


def test_a_wrong_pin_is_typed_once_and_never_again() -> None:
    phone = locked()
    shop = Shop(phone)
    shop.wait(20.0)
    shop.session.offer_pin(phone.identity.iccid, "1111", shop.now)
    shop.wait(3_600.0)
    assert typed(phone) == ['AT+CPIN="1111"']
    assert shop.of(PinRefused) == [PinRefused("+CME ERROR: 16")]
    assert [e.tries for e in shop.of(PinNeeded) if isinstance(e, PinNeeded)] == [3, 2]


@pytest.mark.parametrize("pin", ["4321", "1111"])
def test_a_pin_whose_answer_never_comes_is_not_typed_again(pin: str) -> None:
    phone = locked()
    table = phone._handset.table
    works = table["+CPIN"]

    def swallows(operator: str, argument: str) -> list[str]:
        if operator != "=":
            return works(operator, argument)
        phone.faults.silent = True
        return works(operator, argument)

    table["+CPIN"] = swallows
    shop = Shop(phone)
    shop.wait(20.0)
    shop.session.offer_pin(phone.identity.iccid, pin, shop.now)
    shop.wait(2.0)
    phone.faults.silent = False
    shop.wait(600.0)
    assert len(typed(phone)) == 1
    assert (shop.state() is State.READY) == (pin == "4321")


@pytest.mark.parametrize("make", LOCKED)
def test_no_pin_is_typed_when_the_phone_says_that_one_try_is_left(make: str) -> None:
    phone = locked(make)
    sim = phone.sim
    assert sim is not None
    sim.pin_tries = 1
    shop = Shop(phone)
    shop.session.offer_pin(phone.identity.iccid, "4321", shop.now)
    shop.wait(600.0)
    assert typed(phone) == []
    assert sim.pin_tries == 1
    assert [e.tries for e in shop.of(PinNeeded) if isinstance(e, PinNeeded)] == [1]


def test_the_pin_of_one_sim_is_not_typed_into_another() -> None:
    phone = locked()
    shop = Shop(phone)
    shop.session.offer_pin("8923301000000000999", "4321", shop.now)
    shop.wait(60.0)
    assert typed(phone) == []


def test_a_phone_that_names_no_sim_before_it_is_open_takes_the_pin_kept_for_it() -> None:
    phone = locked()
    for name in FAMILIES["generic"].iccid_commands:
        del phone._handset.table[name]
    shop = Shop(phone)
    shop.wait(30.0)
    assert shop.of(PinNeeded) == [PinNeeded("SIM PIN", None, phone.identity.imei, 3)]
    shop.session.offer_pin(phone.identity.imei, "4321", shop.now)
    shop.wait(30.0)
    assert shop.state() is State.READY


def test_a_blocked_sim_is_told_and_nothing_is_typed() -> None:
    phone = locked()
    phone.play("puk")
    shop = Shop(phone)
    shop.session.offer_pin(phone.identity.iccid, "4321", shop.now)
    shop.wait(60.0)
    assert shop.of(PinNeeded) == [PinNeeded("SIM PUK", phone.identity.iccid, phone.identity.imei)]
    assert typed(phone) == []
