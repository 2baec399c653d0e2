"""Messages in slots: read when the phone announces them or a list shows them, and deleted after they are stored."""

import re
from collections.abc import Callable, Iterable

import pytest

from daemon.modem.session.events import Freed, KeptOnPhone, PartsRead
from daemon.modem.session.session import State
from tests.fakes.session_with_phone import Shop, part, pdu, ready
from tests.phones.phone import Phone
from tests.phones.quirks import Family


def test_a_notice_is_answered_by_reading_that_slot_and_nothing_else() -> None:
    shop = ready()
    before = shop.phone.command_count
    shop.phone.deliver(pdu(7))
    shop.talk()
    assert shop.commands_since(before) == ["AT+CMGR=1", "AT+CMGR=1", "AT+CMGD=1"]
    assert shop.read == [part(7, 1)]
    assert shop.happened[-1] == Freed(part(7, 1))


def test_a_notice_of_another_storage_selects_it_and_goes_back() -> None:
    shop = ready()
    before = shop.phone.command_count
    shop.phone.deliver(pdu(7), "ME")
    shop.talk()
    assert shop.commands_since(before) == ['AT+CPMS="ME"', "AT+CMGR=1", "AT+CMGR=1", "AT+CMGD=1", 'AT+CPMS="SM"']
    assert shop.read == [part(7, 1, "ME")]


def test_a_lost_notice_is_made_up_for_by_the_next_poll() -> None:
    shop = ready()
    shop.phone.faults.lose_notices = True
    shop.phone.deliver(pdu(7))
    shop.phone.deliver(pdu(8), "ME")
    shop.wait(29.0)
    assert shop.read == []
    shop.wait(2.0)
    assert shop.read == [part(7, 1), part(8, 1, "ME")]
    assert shop.phone.stored() == {}


def test_a_full_storage_is_listed_at_once() -> None:
    shop = ready()
    shop.phone.faults.lose_notices = True
    shop.phone.deliver(pdu(7))
    shop.say(b'\r\n^SMMEMFULL:"SM"\r\n')
    assert shop.read == [part(7, 1)]


def test_a_notice_without_a_slot_lists_everything() -> None:
    shop = ready()
    shop.phone.faults.lose_notices = True
    shop.phone.deliver(pdu(7))
    shop.say(b"\r\n+CMTI: ,-1\r\n")
    assert shop.read == [part(7, 1)]


def test_an_index_of_zero_is_a_slot() -> None:
    shop = ready(Phone(family=Family(first_index=0)))
    shop.phone.deliver(pdu(7))
    shop.talk()
    assert shop.read == [part(7, 0)]
    assert shop.phone.stored() == {}


@pytest.mark.parametrize("error", [True, False])
def test_a_notice_of_an_empty_slot_is_nothing(error: bool) -> None:
    shop = ready(Phone(family=Family(empty_slot_error=error)))
    before = len(shop.happened)
    shop.say(b'\r\n+CMTI: "SM",5\r\n')
    assert shop.happened[before:] == []
    assert shop.state() is State.READY


def test_messages_that_were_written_here_are_left_alone() -> None:
    phone = Phone()
    shop = ready(phone)
    before = phone.command_count
    shop.session.receive_data(b'\r\n+CMTI: "SM",5\r\n', shop.now)
    assert shop.session.data_to_send() == b"AT+CMGR=5\r"
    own = pdu(3).encode()
    shop.say(b"\r\n+CMGR: 2,,%d\r\n%s\r\nOK\r\n" % (len(own) // 2 - 8, own))
    assert shop.read == []
    assert phone.command_count == before


def test_a_flash_message_is_handed_out_though_it_lies_nowhere() -> None:
    shop = ready()
    text = pdu(9)
    shop.say(f"\r\n+CMT: ,{len(text) // 2 - 8}\r\n{text}\r\n".encode())
    assert shop.read == [part(9, -1, "")]


def test_a_long_list_is_handed_out_while_it_comes() -> None:
    phone = Phone(storages={"SM": 300})
    phone.preload([pdu(n) for n in range(150)])
    shop = ready(phone)
    assert [len(e.parts) for e in shop.happened if isinstance(e, PartsRead)] == [64, 64, 22]
    assert phone.stored() == {}


def test_a_backlog_costs_one_list_and_two_commands_a_message() -> None:
    phone = Phone(storages={"SM": 300})
    phone.preload([pdu(n) for n in range(200)])
    shop = Shop(phone)
    shop.wait(0.5)
    work = [c for c in phone.commands if c.startswith(("AT+CMG", "AT+CPMS")) and "CMGF" not in c]
    assert work[2:] == [
        "AT+CMGL=4",
        'AT+CPMS="ME"',  # not offered by this phone, but the offer may have come garbled
        *(f"AT+CMG{verb}={n}" for n in range(1, 201) for verb in "RD"),
    ]
    before = phone.command_count
    shop.wait(29.0)
    assert shop.commands_since(before) == []
    shop.wait(2.0)
    assert "AT+CMGL=4" not in shop.commands_since(before)


def test_a_message_that_comes_during_a_backlog_is_read_next() -> None:
    phone = Phone(storages={"SM": 300})
    phone.preload([pdu(n) for n in range(100)])
    shop = Shop(phone, store=False)
    shop.wait(0.5)
    shop.session.stored(shop.read)
    shop.session.tick(shop.now)
    assert shop.session.data_to_send() == b"AT+CMGR=1\r"
    phone.deliver(pdu(500))
    shop.session.receive_data(phone.data_to_send(), shop.now)
    phone.receive_data(b"AT+CMGR=1\r")
    shop.session.receive_data(phone.data_to_send(), shop.now)
    assert shop.session.data_to_send() == b"AT+CMGR=101\r"


def test_a_storage_that_the_phone_does_not_have_holds_up_nothing() -> None:
    shop = ready()
    shop.say(b'\r\n+CMTI: "BM",1\r\n')
    shop.phone.deliver(pdu(7))
    shop.talk()
    assert shop.read == [part(7, 1)]


def test_a_slot_of_a_storage_that_is_refused_by_now_is_kept() -> None:
    phone = Phone()
    phone.preload([pdu(1)], "ME")
    shop = ready(phone, store=False)
    phone.deliver(pdu(2))
    shop.talk()
    storage = phone._handset.messages.storages.pop("ME")
    shop.store = True
    shop.session.stored(shop.read)
    shop.wait(0.0)
    assert shop.of(KeptOnPhone, Freed) == [
        Freed(part(2, 1)),
        KeptOnPhone(part(1, 1, "ME"), "the phone refuses to select its storage ME"),
    ]
    phone._handset.messages.storages["ME"] = storage
    shop.wait(301.0)
    assert shop.of(Freed) == [Freed(part(2, 1)), Freed(part(1, 1, "ME"))]


def test_nothing_is_deleted_before_it_is_stored() -> None:
    phone = Phone()
    phone.preload([pdu(1), pdu(2)])
    shop = ready(phone, store=False)
    shop.wait(400.0)
    assert phone.deleted == []
    assert shop.read == [part(1, 1), part(2, 2)]
    shop.session.stored([part(2, 2)])
    shop.wait(0.0)
    assert [(d.index, d.flag) for d in phone.deleted] == [(2, 0)]


def test_nothing_is_deleted_when_the_owner_says_so() -> None:
    phone = Phone()
    phone.preload([pdu(1)])
    shop = ready(phone, delete=False)
    shop.wait(400.0)
    assert shop.read == [part(1, 1)]
    assert phone.deleted == []


def test_a_slot_that_holds_another_message_by_now_is_not_deleted() -> None:
    phone = Phone()
    phone.preload([pdu(1)])
    shop = ready(phone, store=False)
    phone.faults.swap_pdu = ""
    phone._handset.messages.storages["SM"].slots[1].pdu = pdu(2)
    shop.store = True
    shop.session.stored([part(1, 1)])
    shop.wait(0.0)
    assert phone.deleted == []
    assert shop.happened[-1] == KeptOnPhone(part(1, 1), "the slot holds another message now")
    shop.wait(10.0)
    assert shop.read == [part(1, 1), part(2, 1, status=1)]
    assert [d.pdu for d in phone.deleted] == [pdu(2)]


def test_a_slot_that_someone_emptied_is_free() -> None:
    phone = Phone()
    phone.preload([pdu(1)])
    shop = ready(phone, store=False)
    phone._handset.messages.storages["SM"].remove(1)
    shop.session.stored([part(1, 1)])
    shop.wait(0.0)
    assert shop.happened[-1] == Freed(part(1, 1))


def test_a_delete_that_fails_for_a_moment_is_tried_again_within_seconds() -> None:
    phone = Phone()
    phone.preload([pdu(1)])
    phone.faults.fail_delete_in = 1
    shop = ready(phone)
    assert shop.of(KeptOnPhone, Freed) == []
    shop.wait(6.0)
    assert shop.of(KeptOnPhone, Freed) == [Freed(part(1, 1))]
    assert shop.read == [part(1, 1)]


@pytest.mark.parametrize("error", ["+CMS ERROR: 500", "+CMS ERROR: 9999", "+CMS ERROR: 320"])
def test_a_delete_that_goes_on_failing_is_told_once_and_done_in_the_end(error: str) -> None:
    phone = Phone()
    phone.preload([pdu(1)])
    phone.faults.change({"error_on": "+CMGD", "error_count": 9, "error_line": error})
    shop = ready(phone)
    shop.wait(1_500.0)
    kept = KeptOnPhone(part(1, 1), f"the phone refused to delete it: {error}")
    assert shop.of(KeptOnPhone) == [kept]
    shop.wait(4_000.0)
    assert shop.of(KeptOnPhone, Freed) == [kept, Freed(part(1, 1))]
    assert [entry for entry in shop.read if entry.pdu == pdu(1)] == [part(1, 1)]
    assert [gone.pdu for gone in phone.deleted] == [pdu(1)]


def test_a_delete_that_does_nothing_makes_the_message_come_again() -> None:
    phone = Phone()
    phone.preload([pdu(1)])
    phone.faults.ignore_deletes = True
    shop = ready(phone)
    phone.faults.ignore_deletes = False
    shop.wait(31.0)
    assert shop.read == [part(1, 1), part(1, 1, status=1)]
    assert phone.stored() == {}


def test_a_phone_that_says_it_deletes_and_never_does_is_told_of_once() -> None:
    phone = Phone()
    phone.preload([pdu(1)])
    phone.faults.ignore_deletes = True
    shop = ready(phone)
    shop.wait(900.0)
    (kept,) = shop.of(KeptOnPhone)
    assert isinstance(kept, KeptOnPhone)
    assert kept.why == "the phone reports the message as deleted, but keeps it"


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
def test_messages_that_the_list_does_not_show_are_read_stored_and_deleted(listing: Callable[[bytes], bytes]) -> None:
    phone = Phone(storages={"SM": 20})
    phone.preload([pdu(number) for number in range(5)])

    def change(data: bytes) -> bytes:
        return listing(data) if [*phone.commands][-1:] == ["AT+CMGL=4"] else data

    shop = begun(phone, change)
    assert sorted(part.pdu for part in shop.read) == sorted(pdu(number) for number in range(5))
    assert phone.stored() == {}
    assert told(shop) == []


@pytest.mark.parametrize("listing", [refuse, refuse_behind_the_damaged, show_nothing])
def test_slot_that_cannot_be_read_is_told_and_the_others_are_read(listing: Callable[[bytes], bytes]) -> None:
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


def test_phone_that_deletes_no_single_slot_is_emptied_of_what_was_read_straight_after_a_list() -> None:
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
