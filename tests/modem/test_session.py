"""A session against the emulated phone: both ends as bytes, time as a number."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.modem.emulated import Family, Identity, Phone, Sim
from daemon.modem.emulated_answers import Refusal
from daemon.modem.emulated_families import FAMILIES
from daemon.modem.session import (
    TRANSITIONS,
    Cause,
    Event,
    Freed,
    Health,
    HiLink,
    Hung,
    Identified,
    KeptOnPhone,
    Note,
    Noted,
    PartsRead,
    PinNeeded,
    PinRefused,
    Ready,
    Registration,
    Session,
    SessionSettings,
    SimAbsent,
    State,
    StoredPart,
    Watermark,
)

TURNS_MAX = 20_000


def pdu(number: int) -> str:
    """Return a PDU that is unlike all others; what it says does not matter here."""
    tail = f"{number:04X}" * 20
    return f"0791332304000090040B913332445566F7000062101010101000{len(tail) // 2:02X}{tail}"


def part(number: int, index: int, storage: str = "SM", status: int = 0) -> StoredPart:
    text = pdu(number)
    return StoredPart(storage, index, status, len(text) // 2 - 8, text)


class Shop:
    """A phone, a session and what a daemon would do with the events, on a clock of its own."""

    def __init__(
        self,
        phone: Phone | None = None,
        *,
        store: bool = True,
        cut: Callable[[bytes], Iterable[bytes]] = lambda data: (data,),
        **settings: float,
    ) -> None:
        self.phone = phone or Phone()
        self.now = 1000.0
        self.cut = cut
        self.store = store
        self.happened: list[Event] = []
        self.session = Session(SessionSettings(**settings), self.now)  # type: ignore[arg-type]
        self.talk()

    def talk(self) -> None:
        """Let both ends speak until neither has anything more to say."""
        for _ in range(TURNS_MAX):
            out = self.session.data_to_send()
            self.phone.receive_data(out)
            data = b"".join(iter(self.phone.data_to_send, b""))
            for piece in self.cut(data):
                self.session.receive_data(piece, self.now)
            if not (self.take() or out or data):
                return
        raise AssertionError("they never stop talking")

    def take(self) -> bool:
        events = self.session.events()
        self.happened += events
        for event in events:
            if isinstance(event, PartsRead) and self.store:
                self.session.stored(event.parts)
                self.session.tick(self.now)
        return bool(events)

    def wait(self, seconds: float) -> None:
        """Let time pass, stopping wherever the session wants to be told."""
        end = self.now + seconds
        for _ in range(TURNS_MAX):
            self.talk()
            due = self.session.next_deadline()
            if due is None or due > end:
                self.now = end
                self.session.tick(end)
                self.talk()
                return
            self.now = max(self.now, due)
            self.session.tick(self.now)
        raise AssertionError("time does not pass")

    def say(self, data: bytes) -> None:
        """Put bytes on the line that no phone of ours would send."""
        self.session.receive_data(data, self.now)
        self.talk()

    def of(self, *kinds: type) -> list[Event]:
        return [event for event in self.happened if isinstance(event, kinds)]

    def state(self) -> State:
        return self.session.state

    @property
    def read(self) -> list[StoredPart]:
        return [part for e in self.happened if isinstance(e, PartsRead) for part in e.parts]

    def commands_since(self, count: int) -> list[str]:
        new = self.phone.command_count - count
        return [*self.phone.commands][-new:] if new else []


def ready(phone: Phone | None = None, **options: object) -> Shop:
    shop = Shop(phone, **options)  # type: ignore[arg-type]
    shop.wait(1.0)
    assert shop.state() is State.READY
    return shop


# --- starting ----------------------------------------------------------------------------------


def test_a_phone_is_identified_then_ready_then_read() -> None:
    phone = Phone(Identity(number="+233241234567"))
    phone.preload([pdu(1)])
    shop = ready(phone, store=False)
    assert shop.happened == [
        Noted("Generic GSM-1 1.00", Note.MODEM),
        Identified(
            "004401000000014",
            "8923301000000000019",
            "620010000000001",
            "Generic",
            "GSM-1",
            "1.00",
            "+233240000099",
            "+233241234567",
        ),
        Ready(notices=True, storages=("SM", "ME")),
        PartsRead((part(1, 1),)),
        Health(20, Registration.HOME, "MTN", 1, 30, (("SM", 1, 30), ("ME", 0, 100))),
    ]


def test_the_first_thing_said_gets_out_of_an_open_prompt() -> None:
    assert Session(SessionSettings(), 0.0).data_to_send() == b"\x1b\rAT\r"


def test_a_phone_left_at_a_prompt_sends_nothing() -> None:
    phone = Phone()
    phone.receive_data(b"AT+CMGS=20\r")
    shop = ready(phone)
    assert shop.of(Identified)
    assert phone.sent == []


def test_a_phone_that_says_nothing_is_hung() -> None:
    phone = Phone()
    phone.faults.silent = True
    shop = Shop(phone)
    shop.wait(60.0)
    assert shop.happened == [Hung("the phone does not answer AT", answered=False)]
    assert shop.session.next_deadline() is None
    assert shop.session.data_to_send() == b""


def test_a_phone_that_wakes_late_is_served() -> None:
    phone = Phone()
    phone.faults.silent = True
    shop = Shop(phone)
    shop.wait(3.5)
    phone.faults.silent = False
    shop.wait(3.0)
    assert shop.state() is State.READY


def test_a_phone_with_one_storage_is_read() -> None:
    shop = ready(Phone(storages={"ME": 10}))
    assert shop.of(Ready) == [Ready(notices=True, storages=("ME",))]


def test_both_storages_are_swept_at_the_start() -> None:
    phone = Phone()
    phone.preload([pdu(1)], "SM")
    phone.preload([pdu(2), pdu(3)], "ME")
    shop = ready(phone)
    assert shop.read == [part(1, 1), part(2, 1, "ME"), part(3, 2, "ME")]
    assert phone.stored() == {}


@pytest.mark.parametrize("command", ["+CCID", "^ICCID", "+QCCID"])
def test_the_iccid_is_found_by_whichever_command_the_phone_knows(command: str) -> None:
    shop = ready(Phone(family=Family(iccid_commands=(command,))))
    assert [e.iccid for e in shop.happened if isinstance(e, Identified)] == ["8923301000000000019"]


def test_a_locked_sim_is_told_once_and_served_once_it_is_open() -> None:
    phone = Phone()
    table = phone._handset.table
    was, table["+CPIN"] = table["+CPIN"], lambda _operator, _argument: ["+CPIN: SIM PIN"]
    shop = Shop(phone)
    shop.wait(20.0)
    who = phone.identity
    assert shop.happened == [PinNeeded("SIM PIN", who.iccid, who.imei, 3)]
    assert not any(command.startswith("AT+CPIN=") for command in phone.commands)
    table["+CPIN"] = was
    shop.wait(6.0)
    assert shop.state() is State.READY


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (10, [SimAbsent("+CME ERROR: 10")]),
        (11, [PinNeeded("SIM PIN", Identity().iccid, Identity().imei, 3)]),
        (14, []),
    ],
)
def test_a_sim_that_does_not_work_is_waited_for(code: int, told: list[Event]) -> None:
    def refuse(_operator: str, _argument: str) -> list[str]:
        raise Refusal("CME", code)

    phone = Phone()
    table = phone._handset.table
    was, table["+CPIN"] = table["+CPIN"], refuse
    shop = Shop(phone)
    shop.wait(20.0)
    assert shop.happened == told
    assert shop.state() is State.WAITING
    table["+CPIN"] = was
    shop.wait(6.0)
    assert shop.state() is State.READY


def test_a_phone_that_needs_a_minute_for_pdu_mode_gets_it() -> None:
    phone = Phone()
    table = phone._handset.table
    was = table.pop("+CMGF")
    shop = Shop(phone)
    shop.wait(50.0)
    assert shop.state() is State.WAITING
    table["+CMGF"] = was
    shop.wait(3.0)
    assert shop.state() is State.READY


def test_a_phone_without_pdu_mode_is_given_up() -> None:
    phone = Phone()
    del phone._handset.table["+CMGF"]
    shop = Shop(phone)
    shop.wait(70.0)
    assert shop.happened == [Hung("the phone refuses PDU mode: +CME ERROR: 100", silent=False)]


@pytest.mark.parametrize(
    ("takes", "chosen"), [("2,1,0,2,0", 1), ("1,1,0,0,0", 3), ("2,1", 5), ("none", None)]
)
def test_the_form_of_notices_is_what_the_phone_takes(takes: str, chosen: int | None) -> None:
    asked = []

    def notify(operator: str, argument: str) -> list[str]:
        if operator == "?":
            return ["+CNMI: 2,1,0,0,0"]
        asked.append(argument)
        if argument != takes:
            raise Refusal("CMS", 302)
        return []

    phone = Phone()
    phone._handset.table["+CNMI"] = notify
    shop = ready(phone)
    assert len(asked) == (6 if chosen is None else chosen + 1)
    assert shop.of(Ready) == [Ready(notices=chosen is not None, storages=("SM", "ME"))]


def test_a_phone_without_notices_is_polled() -> None:
    phone = Phone()
    del phone._handset.table["+CNMI"]
    shop = ready(phone)
    phone.deliver(pdu(1))
    shop.wait(31.0)
    assert shop.read == [part(1, 1)]


def test_a_flash_message_waits_until_it_is_known_whose_it_is() -> None:
    phone = Phone()
    shop = Shop(phone)
    text = pdu(9)
    shop.session.receive_data(f"\r\n+CMT: ,59\r\n{text}\r\n".encode(), shop.now)
    shop.wait(1.0)
    assert [type(e) for e in shop.happened[1:4]] == [Identified, Ready, PartsRead]
    assert shop.read == [part(9, -1, "")]


class Deaf(Phone):
    """Answers all but one command."""

    def __init__(self, deaf_to: bytes) -> None:
        super().__init__()
        self.deaf_to = deaf_to

    def feed(self, data: bytes) -> None:
        if not data.startswith(self.deaf_to):
            super().feed(data)


def test_a_phone_that_never_answers_a_list_is_hung() -> None:
    shop = Shop(Deaf(b"AT+CMGL"))
    shop.wait(120.0)
    assert shop.happened[-1] == Hung("no answer to AT+CMGL 3 times")


@pytest.mark.parametrize("command", [b"AT+CSCA?", b"AT+CNUM", b"AT+CPIN?", b"AT+CGSN"])
def test_a_question_that_is_never_answered_is_left_out(command: bytes) -> None:
    shop = Shop(Deaf(command))
    shop.wait(60.0)
    assert shop.state() is State.READY


def test_a_phone_that_answers_other_commands_is_hung_in_the_end() -> None:
    shop = ready()
    shop.phone._handset.table["+CSQ"] = lambda _o, _a: ["+CPMS: 1,2"]
    shop.wait(120.0)
    assert shop.happened[-1] == Hung("the phone answers other commands than it is asked")


@pytest.mark.parametrize("name", [*FAMILIES])
def test_every_make_is_read(name: str) -> None:
    make = FAMILIES[name]
    phone = Phone(make.identity(), family=make)
    shop = Shop(phone)
    shop.wait(60.0)
    assert shop.state() is State.READY
    if make.web_inbox:
        assert shop.of(HiLink) == [HiLink("its firmware says HiLink")]
        return
    assert shop.of(HiLink) == []
    assert shop.of(Noted) == (
        [Noted("Generic GSM-1 1.00", Note.MODEM)] if name == "generic" else []
    )
    for number in range(1, 4):
        phone.deliver(pdu(number))
        shop.wait(31.0)
    assert [part.pdu for part in shop.read] == [pdu(1), pdu(2), pdu(3)]
    assert phone.stored() == {}


def test_a_hilink_stick_that_does_not_say_so_is_known_by_its_storage() -> None:
    make = replace(FAMILIES["hilink"], fixed=())
    shop = Shop(Phone(make.identity(), family=make))
    shop.wait(5.0)
    assert shop.of(HiLink) == [HiLink("its storage of 20 is empty and the only one it has")]
    stick = replace(make, revision="21.157.37.01.1114")
    shop = Shop(Phone(stick.identity(), family=stick))
    shop.wait(5.0)
    assert shop.of(HiLink) == []


def test_an_unknown_error_is_noted_once_and_stalls_nothing() -> None:
    phone = Phone()
    shop = ready(phone)
    phone.faults.change({"error_on": "+CSQ", "error_count": 3, "error_line": "+CME ERROR: 777"})
    shop.wait(121.0)
    assert shop.of(Noted)[1:] == [Noted("+CME ERROR: 777", Note.ERROR)]
    assert shop.state() is State.READY


def test_a_restart_is_asked_for_and_waited_for() -> None:
    phone = Phone()
    phone.faults.change({"silent": True, "silent_until": "reset"})
    shop = Shop(phone, restart=True)
    shop.wait(20.0)
    assert shop.state() is State.READY


def test_a_phone_that_hangs_at_a_slow_setting_is_noticed_within_90_s() -> None:
    shop = ready(command_timeout_s=30.0)
    shop.wait(30.5)
    shop.phone.faults.silent = True
    shop.wait(90.0)
    assert [type(e) for e in shop.happened][-1] is Hung


# --- receiving ---------------------------------------------------------------------------------


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
    assert shop.commands_since(before) == [
        'AT+CPMS="ME"',
        "AT+CMGR=1",
        "AT+CMGR=1",
        "AT+CMGD=1",
        'AT+CPMS="SM"',
    ]
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


# --- deleting ----------------------------------------------------------------------------------


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
    assert kept.why == "the phone says that it deletes it, and keeps it"


# --- a SIM that asks for its PIN ---------------------------------------------------------------

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
    assert shop.of(PinNeeded) == [
        PinNeeded("SIM PIN", phone.identity.iccid, phone.identity.imei, 3)
    ]
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


# --- how full the storages are -----------------------------------------------------------------


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
    assert shop.of(Watermark) == [
        Watermark("SM", 10, 10, high=True),
        Watermark("SM", 0, 10, high=False),
    ]


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
    make = replace(
        FAMILIES["generic"], full_line=line.replace('SM"', '{storage}"'), mute_when_full=True
    )
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


# --- health, hanging, rebooting ----------------------------------------------------------------


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


# --- a bad line --------------------------------------------------------------------------------


def test_lines_between_a_header_and_its_message_do_no_harm() -> None:
    phone = Phone()
    phone.preload([pdu(1), pdu(2)])
    phone.faults.noise = "^RSSI:14"
    phone.faults.noise_inside = True
    shop = ready(phone)
    assert shop.read == [part(1, 1), part(2, 2)]
    assert phone.stored() == {}


def test_echo_that_never_stops_does_no_harm() -> None:
    phone = Phone()
    shop = ready(phone)
    phone._handset.echo = True
    phone.deliver(pdu(1))
    shop.talk()
    assert shop.read == [part(1, 1)]
    assert phone.stored() == {}
    assert [*phone.commands].count("AT+CNMI?") == 2


def test_a_header_without_its_message_is_read_by_a_later_sweep() -> None:
    shop = ready()
    shop.phone.faults.lose_notices = True
    shop.phone.deliver(pdu(1))
    shop.session.receive_data(b"\r\n+CMTI: ,-1\r\n", shop.now)
    assert shop.session.data_to_send() == b"AT+CMGL=4\r"
    shop.say(b"\r\n+CMGL: 1,0,,59\r\nnot hex\r\nOK\r\n")
    assert shop.read == []
    shop.wait(6.0)
    assert shop.read == [part(1, 1)]


class Blank:
    """A line on which the PDU in slot 1 never arrives."""

    def __call__(self, data: bytes) -> list[bytes]:
        return [data.replace(b"\r\n" + pdu(1).encode() + b"\r\n", b"\r\n")]


def test_a_message_that_can_never_be_read_is_told_and_not_listed_without_end() -> None:
    phone = Phone(storages={"SM": 10})
    phone.preload([pdu(1), pdu(2)])
    shop = ready(phone, cut=Blank())
    shop.wait(250.0)
    why = "1 of its messages cannot be read"
    assert shop.of(KeptOnPhone) == [KeptOnPhone(StoredPart("SM", -1, 0, 0, ""), why)]
    assert shop.read == [part(2, 2)]
    assert [*phone.commands].count("AT+CMGL=4") == 3
    assert phone.stored() == {("SM", 1): pdu(1)}


def test_a_message_shorter_than_its_header_says_is_read_again_before_it_counts() -> None:
    phone = Phone()
    shop = ready(phone)
    phone.faults.lose_notices = True
    phone.deliver(pdu(1))
    shop.session.receive_data(b'\r\n+CMTI: "SM",1\r\n', shop.now)
    assert shop.session.data_to_send() == b"AT+CMGR=1\r"
    half = pdu(1)[:40].encode()
    shop.say(b"\r\n+CMGR: 0,,%d\r\n%s\r\nOK\r\n" % (len(pdu(1)) // 2 - 8, half))
    assert shop.read == [part(1, 1)]
    assert phone.stored() == {}


def test_a_record_that_is_no_message_is_handed_out_as_it_is_and_freed() -> None:
    phone = Phone()
    shop = ready(phone)
    phone.deliver("FFFFFFFF")
    shop.talk()
    assert [p.pdu for p in shop.read] == ["FFFFFFFF"]
    assert phone.stored() == {}


def bytewise(data: bytes) -> Iterable[bytes]:
    return (data[at : at + 1] for at in range(len(data)))


def test_the_same_happens_byte_by_byte() -> None:
    events = []
    for cut in (lambda data: (data,), bytewise):
        phone = Phone()
        phone.preload([pdu(1), pdu(2)])
        phone.preload([pdu(3)], "ME")
        events.append(ready(phone, cut=cut).happened)
    assert events[0] == events[1]


LINES = (
    b"^RSSI:14",
    b"+CMTI: ,-1",
    b"AT+CMGR=1",
    b"+CREG: 1",
    b"RING",
    b"+CMGL:",
    b"+CMGR: 1",
    b">",
)
LINES_TO_ADD = (*(b"\r\n" + line + b"\r\n" for line in LINES), *(line[:5] for line in LINES))


class BadLine:
    """Cuts what comes anywhere, puts rubbish in between and loses bytes, one time in `rare`."""

    def __init__(self, seed: int, rare: int) -> None:
        self.random = Random(seed)
        self.rare = rare

    def __call__(self, data: bytes) -> list[bytes]:
        if not self.rare or not data:
            return [data]
        dice = self.random
        places = sorted(dice.randrange(len(data)) for _ in range(dice.randrange(4)))
        pieces = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
        if dice.randrange(self.rare) == 0:
            noise = dice.choice((dice.randbytes(dice.randrange(1, 12)), dice.choice(LINES_TO_ADD)))
            pieces.insert(dice.randrange(len(pieces) + 1), noise)
        if dice.randrange(2 * self.rare) == 0:
            pieces[0] = pieces[0][1:]
        return pieces


def through_a_bad_line(seed: int, rare: int) -> None:
    line = BadLine(seed, rare)
    phone = Phone()
    phone.preload([pdu(n) for n in range(4)])
    phone.preload([pdu(n) for n in range(4, 6)], "ME")
    shop = Shop(phone, cut=line, command_timeout_s=5.0)
    shop.wait(2.0)
    phone.deliver(pdu(6))
    shop.wait(40.0)
    line.rare = 0
    shop.wait(10.0)
    if shop.state() is State.HUNG:  # now, or by the last answer that the bad line spoiled
        before = shop.read
        shop = Shop(phone, command_timeout_s=5.0)
        shop.happened.insert(0, PartsRead(tuple(before)))
    shop.wait(700.0)
    assert phone.stored() == {}
    assert {d.pdu for d in phone.deleted} == {pdu(n) for n in range(7)}
    assert {d.pdu for d in phone.deleted} <= {p.pdu for p in shop.read}
    assert all(d.flag == 0 for d in phone.deleted)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), rare=st.sampled_from([3, 10, 30]))
def test_no_garbage_raises_and_no_message_is_lost(seed: int, rare: int) -> None:
    through_a_bad_line(seed, rare)


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(max_examples=3000, deadline=None)
@given(seed=st.integers(0, 2**32), rare=st.sampled_from([2, 3, 10, 30]))
def test_no_garbage_raises_and_no_message_is_lost_in_many_runs(seed: int, rare: int) -> None:
    through_a_bad_line(seed, rare)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.binary(max_size=60), st.floats(0, 20)), max_size=20))
def test_bytes_that_come_from_no_phone_never_raise(pieces: list[tuple[bytes, float]]) -> None:
    session = Session(SessionSettings(), 0.0)
    now = 0.0
    for data, passed in pieces:
        now += passed
        session.receive_data(data, now)
        session.tick(now)
        session.data_to_send()
        session.events()


# --- the table ---------------------------------------------------------------------------------


def test_every_state_has_a_row() -> None:
    assert set(TRANSITIONS) == set(State)


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("cause", Cause)
def test_a_move_that_is_not_in_the_table_raises_and_changes_nothing(
    state: State, cause: Cause
) -> None:
    session = Session(SessionSettings(), 0.0)
    session.state = state
    if cause in TRANSITIONS[state]:
        session._move(cause)
        assert session.state is TRANSITIONS[state][cause]
    else:
        with pytest.raises(KeyError):
            session._move(cause)
        assert session.state is state


# --- who says that a network serves the phone --------------------------------------------------


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


# --- messages that lie in no slot --------------------------------------------------------------

ROUTER = replace(
    FAMILIES["generic"], notices=((0, 1, 2), (0, 2), (0,), (0, 1), (0, 1)), services=(0, 1)
)
"""A phone that knows no way but to pass messages on."""


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
    # It passes on no more until it is told to, and stores instead: `AT+CNMI?` says so within a minute.
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


# --- a device with two SIMs --------------------------------------------------------------------


def test_of_two_sims_the_one_in_use_is_named_with_its_slot_and_read() -> None:
    make = FAMILIES["quectel"]
    second = Sim.of(make.identity(iccid="8923301000000000993", imsi="620020000000009"))
    phone = Phone(make.identity(), family=make, spare=second)
    named: list[tuple[str | None, int]] = []
    for slot in (0, 1):
        phone.receive_data(f"AT+QDSIM={slot}\r".encode())
        shop = Shop(phone)
        shop.wait(30.0)
        assert shop.state() is State.READY
        named += [(e.iccid, e.slot) for e in shop.happened if isinstance(e, Identified)]
        phone.deliver(pdu(slot))
        shop.wait(31.0)
        assert [entry.pdu for entry in shop.read] == [pdu(slot)]
    assert named == [(phone.identity.iccid, 0), ("8923301000000000993", 1)]


def test_a_sim_that_is_changed_for_that_of_the_other_slot_ends_the_session() -> None:
    make = FAMILIES["quectel"]
    second = Sim.of(make.identity(iccid="8923301000000000993", imsi="620020000000009"))
    phone = Phone(make.identity(), family=make, spare=second)
    shop = Shop(phone)
    shop.wait(30.0)
    phone.receive_data(b"AT+QDSIM=1\r")
    shop.talk()
    shop.wait(90.0)
    assert shop.state() is State.HUNG
    assert [e.slot for e in shop.happened if isinstance(e, Identified)] == [0]


def swap_silently(phone: Phone, iccid: str, imsi: str, lying: str = "") -> None:
    """Change the SIM of a phone that says nothing of it; a message may lie on the new one."""
    sim = Sim.of(Identity(iccid=iccid, imsi=imsi))
    phone.take_sim()
    for _ in iter(phone.data_to_send, b""):
        pass
    phone.insert_sim(sim)
    for _ in iter(phone.data_to_send, b""):
        pass
    if lying:
        phone.deliver(lying)


@pytest.mark.parametrize("make", sorted(FAMILIES))
def test_what_lies_on_a_sim_that_was_changed_without_a_word_is_never_read_as_the_old_ones(
    make: str,
) -> None:
    shop = Shop(Phone(FAMILIES[make].identity(), family=FAMILIES[make]))
    shop.wait(30.0)
    assert shop.state() is State.READY
    swap_silently(shop.phone, "8923301000000000993", "620020000000009", pdu(7))
    shop.wait(62.0)
    assert shop.happened[-1] == Hung("there is another SIM in the phone now", silent=False)
    assert not shop.read


def test_a_phone_that_tells_no_iccid_is_asked_for_its_imsi() -> None:
    silent = replace(FAMILIES["generic"], iccid_commands=())
    shop = Shop(Phone(silent.identity(), family=silent))
    shop.wait(30.0)
    assert [e.iccid for e in shop.happened if isinstance(e, Identified)] == [None]
    swap_silently(shop.phone, "8923301000000000993", "620020000000009", pdu(7))
    shop.wait(62.0)
    assert shop.happened[-1] == Hung("there is another SIM in the phone now", silent=False)
    assert not shop.read


def test_a_sim_that_is_only_taken_out_without_a_word_is_waited_for() -> None:
    shop = ready()
    sim = shop.phone.take_sim()
    for _ in iter(shop.phone.data_to_send, b""):
        pass
    shop.wait(70.0)
    assert shop.of(SimAbsent)
    shop.phone.insert_sim(sim)
    shop.phone.deliver(pdu(3))
    shop.wait(40.0)
    assert [entry.pdu for entry in shop.read] == [pdu(3)]


def test_a_phone_that_refuses_to_tell_its_sim_any_more_holds_no_message_up() -> None:
    shop = ready()
    shop.wait(30.0)
    shop.phone.faults.change(
        {"error_count": 10_000, "error_line": "+CME ERROR: 100", "error_on": "+CCID"}
    )
    shop.phone.deliver(pdu(3))
    shop.wait(1.0)
    assert [entry.pdu for entry in shop.read] == [pdu(3)]
    assert shop.state() is State.READY


@pytest.mark.parametrize("make", sorted(set(FAMILIES) - {"hilink"}))
def test_each_make_announces_a_message_at_the_port_that_is_read(make: str) -> None:
    shop = Shop(Phone(FAMILIES[make].identity(), family=FAMILIES[make]))
    shop.wait(20.0)
    shop.phone.deliver(pdu(7))
    shop.wait(2.0)
    assert [entry.pdu for entry in shop.read] == [pdu(7)]
