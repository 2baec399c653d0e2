"""Health: phones that hang, reboot, are replaced, or have no network."""

import pytest
from msgspec.structs import replace

from daemon.modem.session.at import clock_us
from daemon.modem.session.events import Health, Hung, NetworkClock, Noted, Ready, Registration
from daemon.modem.session.session import State
from tests.fakes.session_with_phone import Shop, part, pdu, ready
from tests.phones.phone import Phone
from tests.phones.quirks import FAMILIES
from tests.phones.sim import Identity


def test_health_is_asked_for_every_heartbeat() -> None:
    shop = ready()
    shop.wait(121.0)
    assert len(shop.of(Health)) == 5


def test_three_missed_answers_are_a_hung_phone() -> None:
    shop = ready()
    shop.phone.faults.silent = True
    shop.wait(89.0)
    assert [type(e) for e in shop.happened][-1] is Hung
    assert shop.happened[-1] == Hung("no answer to AT 3 times")


def test_one_missed_answer_is_made_up_for() -> None:
    shop = ready()
    shop.phone.faults.silent = True
    shop.wait(32.0)
    assert shop.state() is State.RECOVERING or shop.state() is State.READY
    shop.phone.faults.silent = False
    shop.wait(12.0)
    assert shop.state() is State.READY
    assert shop.of(Hung) == []
    shop.phone.deliver(pdu(3))
    shop.wait(1.0)
    assert shop.read == [part(3, 1)]


def test_an_answer_that_comes_late_is_not_taken_for_another() -> None:
    phone = Phone()
    shop = ready(phone, store=True)
    phone.deliver(pdu(1))
    shop.session.receive_data(phone.data_to_send(), shop.now)
    assert shop.session.data_to_send() == b"AT+CMGR=1\r"
    phone.receive_data(b"AT+CMGR=1\r")
    late = phone.data_to_send()
    phone.deliver(pdu(2))
    shop.now += 60.0
    shop.session.tick(shop.now)
    shop.session.receive_data(late, shop.now)
    shop.wait(2.0)
    assert shop.read == [part(1, 1, status=1), part(2, 2)]
    assert [d.pdu for d in phone.deleted] == [pdu(1), pdu(2)]


def test_a_phone_that_rebooted_without_a_word_is_set_up_again() -> None:
    shop = ready()
    shop.phone.power_off()
    shop.phone.power_on()
    shop.wait(62.0)
    assert len(shop.of(Ready)) == 2
    shop.phone.deliver(pdu(3))
    shop.wait(0.0)
    assert shop.read == [part(3, 1)]


def test_a_phone_that_says_that_it_rebooted_is_set_up_again_at_once() -> None:
    shop = ready()
    shop.phone.power_off()
    shop.phone.power_on()
    shop.say(b"\r\nRDY\r\n")
    shop.wait(1.0)
    assert len(shop.of(Ready)) == 2


def test_another_sim_in_the_phone_ends_the_session() -> None:
    phone = Phone()
    phone.preload([pdu(1)])
    shop = ready(phone, store=False)
    other = Phone(Identity(iccid="8923301000000000027"))
    other.preload([pdu(1)])
    shop.phone = other
    shop.wait(62.0)
    assert shop.happened[-1] == Hung("there is another SIM in the phone now", silent=False)
    assert shop.read == [part(1, 1)]


def test_an_open_prompt_is_left_by_escape() -> None:
    shop = ready()
    shop.phone.receive_data(b"AT+CMGS=20\r")
    shop.talk()
    shop.wait(2.0)
    assert shop.state() is State.READY
    assert shop.phone.sent == []
    shop.phone.deliver(pdu(3))
    shop.talk()
    assert shop.read == [part(3, 1)]


def test_an_unknown_line_is_noted_once() -> None:
    shop = ready()
    for number in range(5):
        shop.say(f"\r\n+XYZZY: {number}\r\n^RSSI:14\r\n".encode())
    assert shop.of(Noted)[1:] == [Noted("+XYZZY: 0")]


@pytest.mark.parametrize("register", ["+CREG", "+CGREG", "+CEREG"])
def test_a_phone_is_served_when_any_register_says_so(register: str) -> None:
    phone = Phone(family=replace(FAMILIES["generic"], registers=(register,)))
    shop = ready(phone)
    (health,) = [e for e in shop.happened if isinstance(e, Health)][:1]
    assert health.registration is Registration.HOME


def test_a_phone_that_no_network_serves_says_what_the_voice_register_says() -> None:
    phone = Phone()
    phone.faults.no_network = True
    shop = ready(phone)
    assert {e.registration for e in shop.happened if isinstance(e, Health)} == {Registration.NONE}


def test_a_phone_without_those_registers_is_served_and_not_stopped() -> None:
    phone = Phone()
    for name in ("+CGREG", "+CEREG"):
        del phone._handset.table[name]
    phone.faults.no_network = True
    shop = ready(phone)
    assert shop.of(Health)
    phone.faults.no_network = False
    phone.deliver(pdu(1))
    shop.wait(31.0)
    assert [e.registration for e in shop.happened if isinstance(e, Health)][-1] is Registration.HOME
    assert [entry.pdu for entry in shop.read] == [pdu(1)]


@pytest.mark.parametrize("make", ["sim800", "quectel"])
def test_a_make_whose_clock_the_network_sets_is_asked_for_the_time(make: str) -> None:
    phone = Phone(family=FAMILIES[make])
    phone.faults.network_time_s = 1_795_391_581
    shop = Shop(phone)
    shop.wait(90.0)
    found = shop.of(NetworkClock)
    assert len(found) >= 2
    assert set(found) == {NetworkClock(1_795_391_581_000_000)}


def test_a_phone_that_the_network_never_set_gives_the_year_of_its_make() -> None:
    shop = Shop(Phone(family=FAMILIES["sim800"]))
    shop.wait(30.0)
    assert set(shop.of(NetworkClock)) == {NetworkClock(0)}


def test_a_make_whose_clock_is_not_known_to_be_the_networks_is_not_asked() -> None:
    shop = ready()
    shop.wait(61.0)
    assert not [command for command in shop.phone.commands if "CCLK" in command]


@pytest.mark.parametrize(
    ("line", "at_us"),
    [
        ('+CCLK: "26/11/22,23:51:16+00"', 1_795_391_476_000_000),
        ('+CCLK: "26/11/23,02:51:16+12"', 1_795_391_476_000_000),
        ('+CCLK: "26/11/22,18:51:16-20"', 1_795_391_476_000_000),
        ('+CCLK: "26/11/22,23:51:16"', None),
        ('+CCLK: "26/13/22,23:51:16+00"', None),
        ('+CCLK: "00/00/00,00:00:00+00"', None),
        ("+CCLK:", None),
    ],
)
def test_the_phones_time_is_read_with_its_zone(line: str, at_us: int | None) -> None:
    assert clock_us(line) == at_us
