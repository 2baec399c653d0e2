"""The SMS to payers, decoded by two independent libraries."""

import warnings
from io import StringIO

import pytest

from daemon.core.payments.payer_texts import Texting, TextLine, code_text
from daemon.flows.payments.texts import VALIDITY
from daemon.modem.codec.pdu_encode import encode_submit

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # theirs: "is" with a literal
    from gsmmodem.pdu import decodeSmsPdu  # type: ignore[import-untyped]  # no stubs
    from smspdudecoder.fields import SMSSubmit  # type: ignore[import-untyped]  # no stubs

NUMBER = "+233241234567"
LINE = TextLine(1, "mtn", "+233244124567", "Ama Provisions")
USUAL = code_text(Texting(), LINE, number=NUMBER, minor=1250, currency="GHS", code="7KQ2MX")
LONG = f"{USUAL} \N{SMILING FACE WITH SMILING EYES} Medaase, Ɛna! " * 2


@pytest.mark.parametrize(("text", "parts"), [(USUAL, 1), (USUAL * 2, 2), (LONG, 4)])
def test_two_other_libraries_read_the_number_and_the_text(text: str, parts: int) -> None:
    pdus = encode_submit(NUMBER, text, 77, validity=VALIDITY)
    assert len(pdus) == parts
    read = [SMSSubmit.decode(StringIO(pdu.hex)) for pdu in pdus]
    assert {one["recipient"]["number"] for one in read} == {NUMBER.removeprefix("+")}
    assert "".join(one["user_data"]["data"] for one in read) == text
    others = [decodeSmsPdu(pdu.hex) for pdu in pdus]
    assert {one["number"] for one in others} == {NUMBER}
    if parts == 1:
        assert others[0]["text"] == text
    for position, one in enumerate(others, start=1):
        assert [(e.number, e.parts, e.reference) for e in one.get("udh", [])] == (
            [(position, parts, 77)] if parts > 1 else []
        )
