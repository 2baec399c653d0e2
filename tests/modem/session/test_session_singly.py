"""A list that fails, or does not show what the storage counts: the slots are read one by one, and the rest is told."""

import re
from collections.abc import Callable, Iterable

import pytest

from daemon.modem.session.events import KeptOnPhone
from tests.fakes.session_with_phone import Shop, pdu
from tests.phones.phone import Phone

ENTRY = re.compile(rb"\+CMGL: (\d+),.*?\r\n[0-9A-F]+\r\n")
ERROR = b"\r\n+CMS ERROR: 320\r\n"


def told(shop: Shop) -> list[str]:
    return [one.why for one in shop.happened if isinstance(one, KeptOnPhone) and one.tell]


def begun(phone: Phone, change: Callable[[bytes], bytes]) -> Shop:
    """Start a session; `change` is made to each answer of the phone."""

    def cut(data: bytes) -> Iterable[bytes]:
        return (change(data),)

    shop = Shop(phone, cut=cut)
    shop.wait(200.0)
    return shop


def refuse(_data: bytes) -> bytes:
    return ERROR


def refuse_behind_the_damaged(data: bytes) -> bytes:
    entries = b"".join(one[0] for one in ENTRY.finditer(data) if int(one[1]) < 3)
    return b"\r\n" + entries + ERROR


def show_nothing(_data: bytes) -> bytes:
    return b"\r\nOK\r\n"


@pytest.mark.parametrize("listing", [refuse, refuse_behind_the_damaged, show_nothing])
def test_messages_that_the_list_does_not_show_are_read_stored_and_deleted(
    listing: Callable[[bytes], bytes],
) -> None:
    phone = Phone(storages={"SM": 20})
    phone.preload([pdu(number) for number in range(5)])

    def change(data: bytes) -> bytes:
        return listing(data) if [*phone.commands][-1:] == ["AT+CMGL=4"] else data

    shop = begun(phone, change)
    assert sorted(part.pdu for part in shop.read) == sorted(pdu(number) for number in range(5))
    assert phone.stored() == {}
    assert told(shop) == []


@pytest.mark.parametrize("listing", [refuse, refuse_behind_the_damaged, show_nothing])
def test_slot_that_cannot_be_read_is_told_and_the_others_are_read(
    listing: Callable[[bytes], bytes],
) -> None:
    phone = Phone(storages={"SM": 20})
    phone.preload([pdu(number) for number in range(5)])

    def change(data: bytes) -> bytes:
        last = [*phone.commands][-1:]
        if last == ["AT+CMGL=4"]:
            return listing(data)
        return ERROR if last == ["AT+CMGR=3"] else data

    shop = begun(phone, change)
    assert len(shop.read) == 4
    assert [key[1] for key in phone.stored()] == [3]
    assert told(shop) == ["slot 3 cannot be read: +CMS ERROR: 320"]
    # It is not asked for without end.
    count = phone.command_count
    shop.wait(60.0)
    assert shop.commands_since(count).count("AT+CMGR=3") <= 1


def test_phone_that_never_deletes_is_told_with_its_answer_and_later_messages_are_read() -> None:
    phone = Phone(storages={"SM": 20})
    phone.preload([pdu(number) for number in range(4)])

    phone.faults.error_on, phone.faults.error_count = "+CMGD", 10**9
    phone.faults.error_line = "+CMS ERROR: 302"
    shop = begun(phone, lambda data: data)
    assert len(shop.read) == 4
    assert told(shop) == ["the phone refused to delete it: +CMS ERROR: 302"] * 2
