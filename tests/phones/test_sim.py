"""SIMs of the emulated phone: PINs, and moves between phones with the stored messages."""

import json

import pytest

from tests.fakes.bare_phone import OK, PDU_A, PDU_B, PDU_C, drain, said
from tests.fakes.each import each
from tests.phones.phone import Phone
from tests.phones.quirks import FAMILIES
from tests.phones.sim import Identity, Sim


def quiet_phone(family: str = "generic") -> Phone:
    phone = Phone(family=FAMILIES[family])
    said(phone, "ATE0;+CMEE=1")
    return phone


def result(phone: Phone, command: str) -> str:
    return said(phone, command).strip()


def test_locked_sim_wants_its_pin_and_lets_nothing_pass() -> None:
    phone = quiet_phone()
    phone.play("pin")
    assert said(phone, "AT+CPIN?") == f"\r\n+CPIN: SIM PIN\r\n{OK}"
    assert result(phone, "AT+CIMI") == "+CME ERROR: 11"
    assert result(phone, "AT+CMGL=4") == "+CMS ERROR: 311"
    assert result(phone, "AT+CMGS=20") == "+CMS ERROR: 311"
    assert said(phone, "AT+CCID") == f"\r\n+CCID: 8923301000000000019\r\n{OK}"
    assert said(phone, "AT+CREG?") == f"\r\n+CREG: 0,0\r\n{OK}"
    assert not phone.deliver(PDU_A)
    assert said(phone, 'AT+CPIN="1234"') == OK
    assert phone.stored() == {("SM", 1): PDU_A}
    assert result(phone, "AT+CPIN?") == f"+CPIN: READY\r\n{OK}".strip()
    assert result(phone, 'AT+CPIN="1234"') == "+CME ERROR: 3"


def test_third_wrong_pin_blocks_the_sim_and_the_puk_opens_it() -> None:
    phone = quiet_phone()
    phone.play("pin")
    wrong = [result(phone, 'AT+CPIN="0000"') for _ in range(3)]
    assert wrong == ["+CME ERROR: 16", "+CME ERROR: 16", "+CME ERROR: 12"]
    assert result(phone, "AT+CPIN?").startswith("+CPIN: SIM PUK")
    assert "+CPINR: SIM PIN,0,3\r\n+CPINR: SIM PUK,10,10" in said(phone, "AT+CPINR")
    assert result(phone, 'AT+CPIN="1234"') == "+CME ERROR: 12"
    assert result(phone, 'AT+CPIN="00000000","1111"') == "+CME ERROR: 16"
    assert said(phone, 'AT+CPIN="12345678","1111"') == OK
    phone.play("reboot")
    said(phone, "ATE0;+CMEE=1")
    assert said(phone, "AT+CPIN=1111") == OK
    assert "+CPINR: SIM PIN,3,3\r\n+CPINR: SIM PUK,10,10" in said(phone, "AT+CPINR")


def test_tenth_wrong_puk_ends_the_sim() -> None:
    phone = quiet_phone()
    phone.play("puk")
    for _ in range(10):
        said(phone, 'AT+CPIN="00000000","1111"')
    assert result(phone, "AT+CPIN?") == "+CME ERROR: 13"
    assert result(phone, "AT+CMGL=4") == "+CMS ERROR: 313"


@pytest.mark.parametrize("given", ["", "12", "abcd", "1234,1234,1234", "123456789"])
def test_what_is_no_pin_costs_no_try(given: str) -> None:
    phone = quiet_phone()
    phone.play("pin")
    assert result(phone, f"AT+CPIN={given}") == "+CME ERROR: 50"
    assert phone.sim is not None
    assert phone.sim.pin_tries == 3


def test_phone_without_sim_says_so_and_receives_nothing() -> None:
    phone = quiet_phone("quectel")
    said(phone, "AT^NOISE")
    phone.take_sim()
    assert drain(phone) == "\r\n+CPIN: NOT READY\r\n\r\n+QUSIM: 0\r\n"
    assert result(phone, "AT+CPIN?") == "+CME ERROR: 10"
    assert result(phone, "AT+QCCID").endswith("+CME ERROR: 10")
    assert result(phone, "AT+CMGL=4").endswith("+CMS ERROR: 310")
    assert result(phone, "AT+COPS?").endswith("+COPS: 0\r\n\r\nOK")
    with pytest.raises(ValueError, match="no SIM"):
        phone.deliver(PDU_A)
    with pytest.raises(ValueError, match="there is no SIM"):
        phone.take_sim()
    with pytest.raises(ValueError, match="there is no SIM"):
        phone.play("puk")
    assert phone.held() == []


def test_sim_takes_its_messages_and_what_waits_for_it_to_another_phone() -> None:
    first, second = Phone(storages={"SM": 2, "ME": 5}), Phone(family=FAMILIES["huawei"])
    first.preload([PDU_A, PDU_B])
    first.preload([PDU_C], "ME")
    assert said(first, "AT+CMGD=1") == f"AT+CMGD=1\r{OK}"
    first.resize("SM", 0)
    assert not first.deliver(PDU_C)
    second.take_sim()
    with pytest.raises(ValueError, match="there is a SIM in this phone already"):
        first.insert_sim(Sim.of(Identity()))
    sim = first.take_sim()
    assert first.stored() == {("ME", 1): PDU_C}
    data = sim.as_data()
    assert json.loads(json.dumps(data)) == data
    second.insert_sim(Sim.from_data(data))
    assert second.stored() == {("SM", 1): PDU_B}
    assert second.held() == [PDU_C]
    second.resize("SM", 2)
    assert second.stored() == {("SM", 0): PDU_C, ("SM", 1): PDU_B}
    assert "^SIMST:1" in drain(second)


@each(
    "data",
    [
        {"iccid": 1},
        {"nonsense": "x"},
        {"capacity": -1},
        {"capacity": True},
        {"records": [[0, "zz", 0]]},
        {"records": [[0, "00", 9]]},
        {"records": 5},
        {"waiting": [["zz", None]]},
    ],
)
def test_what_is_no_sim_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no SIM: "):
        Sim.from_data(data)


def test_sim_of_nothing_is_a_new_one() -> None:
    assert Sim.from_data({}) == Sim.of(Identity())
