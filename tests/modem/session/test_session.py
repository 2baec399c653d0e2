"""A modem session: its transition table, and a device with two SIMs."""

import pytest
from msgspec.structs import replace

from daemon.modem.session.events import Hung, Identified, SessionSettings, SimAbsent
from daemon.modem.session.session import TRANSITIONS, Cause, Session, State
from tests.fakes.each import each
from tests.fakes.session_with_phone import Shop, pdu, ready
from tests.phones.phone import Phone
from tests.phones.quirks import FAMILIES
from tests.phones.sim import Identity, Sim


def test_every_state_has_a_row() -> None:
    assert set(TRANSITIONS) == set(State)


@each("state", State)
@each("cause", Cause)
def test_a_move_that_is_not_in_the_table_raises_and_changes_nothing(state: State, cause: Cause) -> None:
    session = Session(SessionSettings(), 0.0)
    session.state = state
    if cause in TRANSITIONS[state]:
        session._move(cause)
        assert session.state is TRANSITIONS[state][cause]
    else:
        with pytest.raises(KeyError):
            session._move(cause)
        assert session.state is state


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
    """Change the SIM without a notice from the phone; the new one may contain a message."""
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
def test_what_lies_on_a_sim_that_was_changed_without_a_word_is_never_read_as_the_old_ones(make: str) -> None:
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
    shop.phone.faults.change({"error_count": 10_000, "error_line": "+CME ERROR: 100", "error_on": "+CCID"})
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
