"""The fill level of storages, and messages without a slot."""

import pytest
from msgspec.structs import replace

from daemon.modem.session.events import Ready, Watermark
from tests.fakes.session_with_phone import Shop, part, pdu, ready
from tests.phones.phone import Phone
from tests.phones.quirks import FAMILIES


def test_a_storage_that_is_nearly_full_is_told_once_and_again_when_it_is_not() -> None:
    phone = Phone(storages={"SM": 10, "ME": 100})
    shop = ready(phone, delete=False)
    phone.preload([pdu(n) for n in range(7)])
    shop.wait(31.0)
    assert shop.of(Watermark) == []
    phone.preload([pdu(7)])
    shop.wait(300.0)
    assert shop.of(Watermark) == [Watermark("SM", 8, 10, high=True)]
    for index in range(1, 9):
        phone._handset.messages.storages["SM"].remove(index)
    shop.wait(31.0)
    assert shop.of(Watermark)[1:] == [Watermark("SM", 0, 10, high=False)]


def test_the_alarm_ends_within_seconds_of_the_storage_being_emptied() -> None:
    phone = Phone(storages={"SM": 10, "ME": 100})
    phone.preload([pdu(n) for n in range(10)])
    shop = ready(phone)
    shop.wait(6.0)
    assert shop.of(Watermark) == [Watermark("SM", 10, 10, high=True), Watermark("SM", 0, 10, high=False)]


def test_the_fullest_storage_is_swept_and_emptied_first() -> None:
    phone = Phone(storages={"SM": 30, "ME": 10})
    shop = ready(phone, store=False)
    shop.wait(31.0)
    phone.preload([pdu(n) for n in range(3)])
    phone.preload([pdu(10 + n) for n in range(9)], "ME")
    shop.wait(31.0)
    assert [entry.storage for entry in shop.read] == ["ME"] * 9 + ["SM"] * 3
    shop.session.stored(shop.read)
    shop.wait(5.0)
    assert [gone.storage for gone in phone.deleted] == ["ME"] * 9 + ["SM"] * 3


@pytest.mark.parametrize("line", ['^SMMEMFULL: "SM"', "+SMS FULL", '+QIND: "smsfull","SM"'])
def test_a_full_sim_is_emptied_at_once_so_that_the_network_drops_nothing(line: str) -> None:
    make = replace(FAMILIES["generic"], full_line=line.replace('SM"', '{storage}"'), mute_when_full=True)
    phone = Phone(storages={"SM": 5, "ME": 5}, family=make)
    shop = ready(phone)
    phone.faults.lose_notices = True
    for n in range(5):
        phone.deliver(pdu(n))
    phone.faults.lose_notices = False
    assert not phone.deliver(pdu(5))
    shop.talk()
    shop.wait(1.0)
    assert phone.held() == []
    assert {entry.pdu for entry in shop.read} == {pdu(n) for n in range(6)}
    shop.happened.clear()
    phone.deliver(pdu(6))
    shop.talk()
    assert [entry.pdu for entry in shop.read] == [pdu(6)], "it announces again"


def test_a_message_stored_but_of_a_slot_never_read_is_not_deleted() -> None:
    phone = Phone()
    phone.preload([pdu(1)])
    shop = ready(phone, store=False)
    shop.session.stored([part(2, 1), part(1, 5), part(1, 1, "ME")])
    shop.wait(0.0)
    assert phone.deleted == []


def test_a_make_that_deletes_siblings_deletes_nothing_before_all_is_stored() -> None:
    make = FAMILIES["sim800"]
    phone = Phone(make.identity(), family=make)
    phone.preload([pdu(1), pdu(2)])
    shop = Shop(phone, store=False)
    shop.wait(30.0)
    first, second = shop.read
    shop.session.stored([first])
    shop.wait(5.0)
    assert phone.deleted == []
    shop.session.stored([second])
    shop.wait(5.0)
    assert {gone.pdu for gone in phone.deleted} == {pdu(1), pdu(2)}


ROUTER = replace(FAMILIES["generic"], notices=((0, 1, 2), (0, 2), (0,), (0, 1), (0, 1)), services=(0, 1))
"""A phone that can only pass messages on without storing them."""


def test_a_phone_that_only_passes_on_is_acknowledged_after_the_message_is_stored() -> None:
    phone = Phone(family=ROUTER)
    shop = ready(phone, store=False)
    assert "AT+CNMI=2,2,0,1,0" in phone.commands
    phone.deliver(pdu(1))
    phone.deliver(pdu(2))
    shop.wait(5.0)
    assert [entry.pdu for entry in shop.read] == [pdu(1)]
    assert phone.passed_on == []
    shop.session.stored(shop.read)
    shop.wait(1.0)
    assert phone.passed_on == [pdu(1)]
    assert [entry.pdu for entry in shop.read] == [pdu(1), pdu(2)]


def test_a_message_that_could_not_be_stored_in_time_comes_again() -> None:
    phone = Phone(family=ROUTER)
    shop = ready(phone, store=False)
    phone.deliver(pdu(1))
    shop.wait(5.0)
    phone.tick(0)
    phone.tick(16_000_000_000)
    # It stores messages instead of passing them on until it gets the setting again: `AT+CNMI?` shows it within a minute.
    assert phone.stored() == {("SM", 1): pdu(1)}
    shop.store = True
    shop.wait(70.0)
    assert [entry.pdu for entry in shop.read] == [pdu(1), pdu(1)]
    assert phone.stored() == {}
    phone.deliver(pdu(2))
    shop.wait(1.0)
    assert phone.passed_on == [pdu(2)]


@pytest.mark.parametrize("make", [*FAMILIES])
def test_no_make_that_stores_messages_is_asked_to_pass_them_on(make: str) -> None:
    family = FAMILIES[make]
    phone = Phone(family.identity(), family=family)
    Shop(phone).wait(30.0)
    assert not [said for said in phone.commands if said.startswith(("AT+CNMI=2,2", "AT+CSMS=1"))]


def test_without_acknowledgement_a_phone_that_passes_on_is_polled_instead() -> None:
    phone = Phone(family=replace(ROUTER, services=(0,)))
    shop = ready(phone)
    assert [e.notices for e in shop.happened if isinstance(e, Ready)] == [False]
    phone.deliver(pdu(1))
    shop.wait(31.0)
    assert [entry.pdu for entry in shop.read] == [pdu(1)]


@pytest.mark.parametrize("said", [b'+CDSI: "SM",1', b'+CDSI: "SR",8'])
def test_a_stored_report_is_found_where_it_lies_whatever_is_said(said: bytes) -> None:
    phone = Phone(storages={"SM": 10, "ME": 10, "SR": 10})
    shop = ready(phone)
    phone.preload([pdu(7)], "SR")
    shop.say(b"\r\n" + said + b"\r\n")
    shop.wait(2.0)
    assert [(entry.storage, entry.pdu) for entry in shop.read] == [("SR", pdu(7))]
    assert phone.stored() == {}
