"""A list that fails, or does not show what the storage counts: the slots are read one by one, and the rest is told."""

import re
from collections.abc import Callable, Iterable

import pytest

from daemon.modem.session.events import KeptOnPhone, PartsRead
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


def test_phone_that_deletes_no_single_slot_is_emptied_of_what_was_read_straight_after_a_list() -> (
    None
):
    phone = Phone(storages={"SM": 20})
    phone.preload([pdu(number) for number in range(4)])
    phone.faults.refuse_single_deletes = True
    shop = begun(phone, lambda data: data)
    assert (len(shop.read), phone.stored()) == (4, {})
    commands = [*phone.commands]
    at = commands.index("AT+CMGD=1,1")
    assert commands[at - 1] == "AT+CMGL=4"
    assert {one for one in commands if one.startswith("AT+CMGD=1,")} == {"AT+CMGD=1,1"}


def test_nothing_is_deleted_at_once_while_one_message_is_not_stored_or_not_shown() -> None:
    phone = Phone(storages={"SM": 20})
    phone.preload([pdu(number) for number in range(5)])
    phone.faults.refuse_single_deletes = True

    def hide_the_second(data: bytes) -> bytes:
        last = [*phone.commands][-1:]
        if last == ["AT+CMGL=4"]:
            return re.sub(rb"\+CMGL: 2,.*?\r\n[0-9A-F]+\r\n", b"", data)
        return ERROR if last == ["AT+CMGR=2"] else data

    shop = begun(phone, hide_the_second)
    shop.wait(1_000.0)
    assert len(shop.read) == 4
    assert "AT+CMGD=1,1" not in phone.commands
    assert len(phone.stored()) == 5


def test_nothing_is_deleted_at_once_while_one_message_that_was_read_is_not_stored() -> None:
    class Slow(Shop):
        """It never stores the message in slot 2."""

        def take(self) -> bool:
            events = self.session.events()
            self.happened += events
            for event in events:
                if isinstance(event, PartsRead):
                    self.session.stored([part for part in event.parts if part.index != 2])
                    self.session.tick(self.now)
            return bool(events)

    phone = Phone(storages={"SM": 20})
    phone.preload([pdu(number) for number in range(5)])
    phone.faults.refuse_single_deletes = True
    shop = Slow(phone)
    shop.wait(1_000.0)
    assert len({part.index for part in shop.read}) == 5
    assert "AT+CMGD=1,1" not in phone.commands
    assert len(phone.stored()) == 5


def test_message_that_comes_between_the_list_and_the_deletion_stays() -> None:
    phone = Phone(storages={"SM": 20})
    phone.preload([pdu(number) for number in range(4)])
    phone.faults.refuse_single_deletes = True
    came: list[str] = []

    def deliver_behind_the_list(data: bytes) -> bytes:
        if [*phone.commands][-1:] == ["AT+CMGL=4"] and b"OK" in data and len(came) < 9:
            came.append(pdu(50 + len(came)))
            phone.deliver(came[-1])
        return data

    shop = begun(phone, deliver_behind_the_list)
    shop.wait(4_000.0)
    assert "AT+CMGD=1,1" in phone.commands
    assert {part.pdu for part in shop.read} == {*came, *(pdu(number) for number in range(4))}
