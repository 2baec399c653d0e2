"""A bad serial line: stray lines, echoes and bytes lose no message and raise no exception."""

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.modem.codec import pdu as codec
from daemon.modem.session import at
from daemon.modem.session.events import KeptOnPhone, PartsRead, SessionSettings, StoredPart
from daemon.modem.session.session import Session, State
from tests.fakes.session_with_phone import Shop, part, pdu, ready
from tests.fakes.tiers import share
from tests.phones.phone import Phone


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
    assert shop.of(KeptOnPhone) == [KeptOnPhone(StoredPart("SM", -1, 0, 0, ""), why, tell=True)]
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


LINES = (b"^RSSI:14", b"+CMTI: ,-1", b"AT+CMGR=1", b"+CREG: 1", b"RING", b"+CMGL:", b"+CMGR: 1", b">")
LINES_TO_ADD = (*(b"\r\n" + line + b"\r\n" for line in LINES), *(line[:5] for line in LINES))


class BadLine:
    """Cuts the data at random places, inserts garbage and loses bytes, one time in `rare`."""

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
@settings(max_examples=share(3_000), deadline=None)
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


LINES_bytes = st.sampled_from(
    [
        b"OK", b"ERROR", b"0", b"4", b">", b"> ", b"+CMS ERROR: 321", b"+CME ERROR: SIM busy", b"RING", b"AT",
        b'+CMTI: "SM",3', b"+CMTI: ,-1", b"+CMT: ,20", b'+CMT: "+233","","x"', b"+CMGL: 1,0,,20", b"+CMGR: 0,,20",
        b"+CPMS: 1,20,1,20", b'+CPMS: "SM",', b"+CSCA: ", b"+CREG: 1", b"+CUSD:", b"00", b"07911332", b"^SYSSTART",
    ]
)  # fmt: skip
OCTETS = st.lists(st.binary(max_size=40) | LINES_bytes.map(lambda line: b"\r\n" + line + b"\r\n")).map(b"".join)


@given(OCTETS, st.integers(1, 50))
def test_any_octets_are_taken_while_a_phone_is_woken_and_set_up(data: bytes, size: int) -> None:
    session = Session(SessionSettings(), 0.0)
    now = 0.0
    for start in range(0, len(data), size):
        session.receive_data(data[start : start + size], now)
        session.data_to_send()
        session.events()
        now += 0.3
        session.tick(now)


@given(OCTETS)
@settings(max_examples=60)
def test_any_octets_are_taken_between_the_answers_of_a_good_phone(data: bytes) -> None:
    shop = ready()
    shop.say(data)
    shop.wait(5.0)


def test_ten_million_octets_without_a_line_end_are_bounded() -> None:
    lines = at.Codec()
    found = 0
    for _ in range(2_500):
        found += len(lines.receive_data(b"A" * 4_000))
    assert found == 1


@given(st.text(st.characters(), max_size=400), st.none() | st.integers(-5, 400))
def test_any_text_is_a_pdu_or_garbled(text: str, length: int | None) -> None:
    codec.decode(text, tpdu_length=length)


@given(st.binary(max_size=200), st.none() | st.integers(0, 200))
def test_any_octets_are_a_pdu_or_garbled(octets: bytes, length: int | None) -> None:
    codec.decode(octets.hex(), tpdu_length=length)
