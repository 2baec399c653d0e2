"""The emulated phone as common makes of modems: each quirk as its source describes it."""

import contextlib
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.bare_phone import LENGTH, OK, PDU_A, drain, said
from tests.fakes.each import each
from tests.phones.faults import EVENTS, PRESETS
from tests.phones.network import advertisement
from tests.phones.phone import Phone
from tests.phones.quirks import FAMILIES
from tests.phones.sim import Sim

ICCID = "8923301000000000019"
SECOND_NS = 1_000_000_000


def make(name: str, storages: Mapping[str, int] | None = None, spare: Sim | None = None) -> Phone:
    """Return a phone that is past its start: awake, its SIM ready, echo off."""
    phone = Phone(storages=storages, family=FAMILIES[name], spare=spare)
    for _ in range(8):
        said(phone, "ATE0;+CIMI")
    phone._answers = 0
    return phone


def calm(name: str, storages: Mapping[str, int] | None = None) -> Phone:
    """Return a phone that sends no unsolicited lines between a command and its answer."""
    phone = make(name, storages)
    phone._handset.noisy = False
    return phone


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_says_who_it_is_and_holds_messages(name: str) -> None:
    phone = calm(name)
    family = FAMILIES[name]
    assert said(phone, "AT+CGMI") == f"\r\n{family.manufacturer}\r\n{OK}"
    assert said(phone, "AT+CGMM") == f"\r\n{family.model}\r\n{OK}"
    assert said(phone, "AT+CGMR") == f"\r\n{family.revision}\r\n{OK}"
    assert said(phone, "AT+CIMI") == f"\r\n620010000000001\r\n{OK}"
    assert phone.preload([PDU_A]) == [family.first_index]
    said(phone, 'AT+CPMS="SM"')
    listed = f"\r\n+CMGL: {family.first_index},0,,{LENGTH}\r\n{PDU_A}\r\n"
    assert said(phone, "AT+CMGL=4") == listed + OK


@each(
    ("name", "command", "line"),
    [
        ("huawei", "AT^ICCID?", "^ICCID: 983203010000000010F9"),
        ("zte", "AT+ZGETICCID", f"+ZGETICCID: {ICCID}"),
        ("sim800", "AT+CCID", f"{ICCID}f"),
        ("quectel", "AT+QCCID", f"+QCCID: {ICCID}"),
        ("wavecom", "AT+CCID", f'+CCID: "{ICCID}"'),
        ("zte", "AT+CFUN?", "+CFUN: (0-1,4-7),(0-1)"),
        ("zte", "AT+CVHU=0", "+CVHU: (0-1),(0-1)"),
        ("zte", "AT+CNMI=?", "+CNMI: (0,1,2),(0,1,2,3),(0,2,3),(0,1,2),(0,1)"),
        ("wavecom", "AT+CPMS=?", '+CPMS: (("SM","BM","SR"),("SM"))'),
        ("wavecom", "AT+CPMS?", '+CPMS: "SM",0,20,"SM",0,20'),
        ("hilink", "AT+CPMS?", '+CPMS: "SM",0,20,"SM",0,20,"SM",0,20'),
        ("hilink", "AT^VERSION?", "^VERSION:EXTS:HUAWEI_MOBILE HiLink"),
        ("huawei", "AT^CPIN?", "^CPIN: READY,3,10,3,10,3"),
        ("quectel", "AT+QPINC?", '+QPINC: "SC",3,10\r\n+QPINC: "P2",3,10'),
        ("sim800", "AT+SPIC", "+SPIC: 3,10,3,10"),
        ("sim800", "AT+CPMS=?", '+CPMS: ("SM"),("SM"),("SM")'),
        ("huawei", "AT^PORTSEL?", "^PORTSEL: 1"),
        ("huawei", "AT^CURC?", "^CURC: 0"),
    ],
)
def test_family_answers_in_its_own_way(name: str, command: str, line: str) -> None:
    assert said(calm(name), command) == f"\r\n{line}\r\n{OK}"


@each(
    ("name", "command", "result"),
    [
        ("huawei", "AT+CCID", "ERROR"),
        ("huawei", "AT+CMGR=5", "OK"),
        ("huawei", 'AT+CPMS="MT"', "+CMS ERROR: 302"),
        ("zte", "AT+CNMI=2,1,0,1,0", "+CMS ERROR: 302"),
        ("zte", "AT+CNMI=2,1,0,2,0", "OK"),
        ("sim800", 'AT+CPMS="ME"', "+CMS ERROR: 302"),
        ("sim800", "AT+CNMI=2,1,0,2", "+CMS ERROR: 302"),
        ("wavecom", 'AT+CPMS="SM","SM","SR"', "+CMS ERROR: 302"),
        ("wavecom", "AT+CMGR=2", "+CMS ERROR: 321"),
        ("hilink", 'AT+CPMS="ME"', "+CMS ERROR: 302"),
        ("hilink", 'AT+CPMS="MT"', "+CMS ERROR: 302"),
        ("hilink", "AT+CMGL=4", "OK"),
        ("generic", "AT+CMGF=1", "ERROR"),
        ("quectel", "AT+CMGF=1;+CMGL=4", "+CMS ERROR: 302"),
        ("quectel", "AT+CMGF=1;+CMGS=20", "+CMS ERROR: 302"),
        ("quectel", "AT+QDSIM=1", "ERROR"),
    ],
)
def test_family_refuses_in_its_own_way(name: str, command: str, result: str) -> None:
    assert said(calm(name), command) == f"\r\n{result}\r\n"


TYPED = st.sampled_from(
    ["AT", "ATE0", "AT+CMEE=2", "AT+CPIN?", 'AT+CPIN="1234"', 'AT+CPIN="0000"', "AT+CFUN=1,1",
     'AT+CPIN="12345678","1234"', "AT+CFUN=4", "AT+CFUN=1", "AT+CSMS=1", "AT+CNMI=2,2,0,1,0",
     "AT+CNMI=2,1,0,2,0", "AT+CNMI=2,1", "AT+CNMA", "AT+CNMA=2", "AT+CMGL=4", "AT+CMGF=1",
     "AT+CMGF=0", "AT+CMGR=0", "AT+CMGR=1", "AT+CMGD=0", "AT+CMGD=1", "AT+CMGD=1,4", "AT+CMGS=20",
     PDU_A + "\x1a", "\x1b", 'AT+CPMS="ME","ME","ME"', 'AT+CPMS="SM"', "AT+CPMS=?", "AT+CSMP=1",
     "AT+QDSIM=1", "AT+QDSIM=0", "AT^PORTSEL=0", "AT^CURC=0", "AT+CCID", "AT+CSCA?"]
)  # fmt: skip
HAPPENS = st.sampled_from([*EVENTS, *PRESETS, "none"]).map(lambda name: f"play {name}")
PASSES = st.sampled_from(["tick", "power", "deliver", "deliver", "deliver", "sim-in"])
STARTS = st.sampled_from(["AT", "AT+CNMI=2,1,0,1,0", "AT+CSMS=1;+CNMI=2,2,0,0,0"])


@given(st.sampled_from(sorted(FAMILIES)), STARTS, st.lists(TYPED | HAPPENS | PASSES, max_size=40))
def test_whatever_happens_to_any_family_no_message_is_lost_or_doubled(name: str, start: str, story: list[str]) -> None:
    spare = Sim.from_data({"iccid": "89233020000000000016"}) if name == "quectel" else None
    phone = Phone(storages={"SM": 2, "ME": 2, "SR": 1}, family=FAMILIES[name], spare=spare)
    phone.play("calm")
    said(phone, start)
    drawer: list[Sim] = []
    delivered = []
    for at, what in enumerate(story):
        now_ns = at * 8 * SECOND_NS
        if what == "tick":
            phone.tick(now_ns)
        elif what == "power":
            phone.power_off()
            phone.power_on()
        elif what == "deliver" and phone.sim is not None:
            delivered.append(advertisement(1000 + at))
            phone.deliver(delivered[-1])
        elif what == "sim-in" and drawer and phone.sim is None:
            phone.insert_sim(drawer.pop())
        elif what == "play sim-out" and phone.sim is not None:
            drawer.append(phone.take_sim())
        elif what.startswith("play ") and (phone.sim is not None or what == "play none"):
            # Some have one port, and say so.
            with contextlib.suppress(ValueError):
                phone.play(what.removeprefix("play "))
        elif not what.startswith("play "):
            phone.receive_data(what.encode() + b"\r", now_ns)
        drain(phone)
    sims = [sim for sim in (phone.sim, phone._handset.card.spare, *drawer) if sim is not None]
    passing = phone._handset.messages.unacknowledged
    known = [
        *phone.stored().values(),
        *(gone.pdu for gone in phone.deleted),
        *phone.passed_on,
        *([] if passing is None else [passing]),
        *phone._handset.messages.refused,
        *(pdu for sim in sims for pdu, _ in sim.waiting),
        *(slot.pdu for sim in sims for slot in sim.records.values()),
        *(pdu for _, _, pdu in phone.displaced),
    ]
    assert sorted(set(known) & set(delivered)) == sorted(delivered)
    assert sum(pdu in set(delivered) for pdu in known) == len(delivered)
