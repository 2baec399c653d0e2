"""No octets from a phone raise an exception: neither at the start, nor between and within answers."""

from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.modem.codec import pdu as codec
from daemon.modem.session import at
from daemon.modem.session.events import SessionSettings
from daemon.modem.session.session import Session
from tests.fakes.session_with_phone import ready

LINES = st.sampled_from(
    [
        b"OK", b"ERROR", b"0", b"4", b">", b"> ", b"+CMS ERROR: 321", b"+CME ERROR: SIM busy", b"RING", b"AT",
        b'+CMTI: "SM",3', b"+CMTI: ,-1", b"+CMT: ,20", b'+CMT: "+233","","x"', b"+CMGL: 1,0,,20", b"+CMGR: 0,,20",
        b"+CPMS: 1,20,1,20", b'+CPMS: "SM",', b"+CSCA: ", b"+CREG: 1", b"+CUSD:", b"00", b"07911332", b"^SYSSTART",
    ]
)  # fmt: skip
OCTETS = st.lists(st.binary(max_size=40) | LINES.map(lambda line: b"\r\n" + line + b"\r\n")).map(
    b"".join
)


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
