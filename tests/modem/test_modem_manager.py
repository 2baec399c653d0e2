"""What ModemManager's properties become: modems, messages, and how far they are trusted. No bus is needed."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.loops.sources.modem_manager import parts_of
from daemon.modem.codec import pdu
from daemon.modem.codec.pdu_fields import Deliver
from daemon.modem.modem_manager import MESSAGING, MODEM, MessageSeen, is_own, message_of, modem_of
from daemon.modem.session.events import Registration
from daemon.wire import TrustLevel
from parsers.times import to_us

PATH = "/org/freedesktop/ModemManager1/SMS/7"
AT = datetime(2026, 9, 19, 18, 20, 7, tzinfo=UTC)


def sms(**changes: tuple[str, Any] | None) -> dict[str, tuple[str, Any]]:
    usual: dict[str, tuple[str, Any] | None] = {
        "State": ("u", 3), "PduType": ("u", 1), "Number": ("s", "MobileMoney"), "Text": ("s", "hello"), "Data": ("ay", b""),
        "SMSC": ("s", "+233240000000"), "Timestamp": ("s", "2026-09-19T18:20:07Z"),
    }  # fmt: skip
    return {name: value for name, value in (usual | changes).items() if value is not None}


def test_a_received_message_is_read_whole() -> None:
    assert message_of(PATH, sms()) == MessageSeen(PATH, "MobileMoney", "hello", "+233240000000", to_us(AT))


@pytest.mark.parametrize(
    ("stamp", "at"),
    [
        ("2026-09-19T18:20:07Z", AT), ("2026-09-19T20:20:07+02", AT), ("2026-09-19T23:50:07+05:30", AT),
        ("2026-09-19T18:20:07", None), ("", None), ("26/09/19", None),
    ],
)  # fmt: skip
def test_a_time_without_a_zone_or_out_of_reach_is_unknown(stamp: str, at: datetime | None) -> None:
    found = message_of(PATH, sms(Timestamp=("s", stamp)))
    assert found is not None
    assert found.sent_at == (None if at is None else to_us(at))


@pytest.mark.parametrize(
    "changes",
    [
        {"State": ("u", 2)}, {"State": ("u", 5)}, {"State": ("s", "3")}, {"State": None}, {"PduType": ("u", 2)},
        {"PduType": ("u", 3)}, {"Text": ("u", 7), "Data": None}, {"Number": ("u", 7)},
    ],
)  # fmt: skip
def test_what_is_not_whole_or_was_not_received_or_cannot_be_read_is_no_message(changes: dict[str, Any]) -> None:
    assert message_of(PATH, sms(**changes)) is None


def test_drafts_and_reports_are_this_sims_own() -> None:
    assert [is_own(sms(PduType=("u", kind))) for kind in range(4)] == [False, False, True, True]


@pytest.mark.parametrize("smsc", ["", "MTN", "+", "1" * 21, "+" + "1" * 21])
def test_an_answer_that_has_not_the_form_of_a_number_is_no_service_centre(smsc: str) -> None:
    found = message_of(PATH, sms(SMSC=("s", smsc)))
    assert found is not None
    assert found.smsc is None


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("x" * 152, TrustLevel.FULL), ("x" * 153, TrustLevel.PARTIAL), ("x" * 160, TrustLevel.PARTIAL),
        ("ж" * 62, TrustLevel.FULL), ("ж" * 70, TrustLevel.PARTIAL), ("€" * 76, TrustLevel.FULL),
        ("€" * 77, TrustLevel.PARTIAL), ("x" * 400, TrustLevel.PARTIAL),
    ],
)  # fmt: skip
def test_only_a_text_that_is_surely_one_part_is_trusted_in_full(text: str, level: TrustLevel) -> None:
    found, parts = parts_of(MessageSeen(PATH, "MobileMoney", text, "+233240000000", to_us(AT)))
    read = [pdu.decode(part.pdu, tpdu_length=part.tpdu_length) for part in parts]
    assert found is level
    assert {one.smsc for one in read if isinstance(one, Deliver)} == {
        "+233240000000" if level is TrustLevel.FULL else None
    }
    assert (parts[0].slot, parts[0].synthesised) == (7, True)


def test_a_message_without_service_centre_is_never_trusted_in_full() -> None:
    assert parts_of(MessageSeen(PATH, "MobileMoney", "hello", None, None))[0] is TrustLevel.PARTIAL


def test_a_modem_is_read_with_its_state_signal_and_messages() -> None:
    seen = modem_of(
        "/m/3",
        {
            MODEM: {
                "Device": ("s", "/sys/usb/1-2"), "Sim": ("o", "/s/3"), "State": ("i", 8), "StateFailedReason": ("u", 0),
                "UnlockRequired": ("u", 1), "UnlockRetries": ("a{uu}", {2: 3}), "EquipmentIdentifier": ("s", "004999010640042"),
                "Manufacturer": ("s", "QUALCOMM"), "Model": ("s", "0"), "SignalQuality": ("(ub)", (100, True)),
            },
            f"{MODEM}.Modem3gpp": {"RegistrationState": ("u", 6), "OperatorName": ("s", "MTN")},
            MESSAGING: {"Messages": ("ao", [PATH])},
        },
    )  # fmt: skip
    assert (seen.place, seen.sim, seen.state, seen.signal, seen.messages) == ("/sys/usb/1-2", "/s/3", 8, 31, (PATH,))
    assert (seen.registration, seen.network, seen.imei) == (Registration.HOME, "MTN", "004999010640042")


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(st.text(), inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)
NAMES = (
    "State", "PduType", "Number", "Text", "Data", "SMSC", "Timestamp", "Device", "Sim", "UnlockRequired", "UnlockRetries",
    "SignalQuality", "RegistrationState", "OperatorName", "Messages", "EquipmentIdentifier", "Model",
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(NAMES), ODD | st.tuples(st.text(), ODD)), ODD)
def test_no_value_of_a_property_raises(properties: dict[str, Any], other: Any) -> None:
    modem_of(PATH, {MODEM: properties, f"{MODEM}.Modem3gpp": other, MESSAGING: properties})
    message_of(PATH, other)
    if (found := message_of(PATH, properties | {"State": ("u", 3)})) is not None:
        parts_of(found)


@given(st.text(), st.text(), st.text(), st.integers(-(10**18), 10**18))
def test_the_same_message_always_gives_the_same_parts(sender: str, text: str, smsc: str, at: int) -> None:
    told = {"Number": ("s", sender), "Text": ("s", text), "SMSC": ("s", smsc)}
    found = message_of(PATH, sms(**told))
    assert found is not None
    assert parts_of(found) == parts_of(found)
    assert parts_of(MessageSeen(PATH, sender, text, found.smsc, at))[1]
