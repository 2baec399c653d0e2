"""PDUs that the emulated network writes by itself: status reports and advertisements."""

from datetime import UTC, datetime, timedelta
from typing import Final

from daemon.modem.pdu_encode import encode_deliver
from daemon.modem.pdu_fields import write_time

_STATUS_REPORT: Final = 0x06
"""TP-MTI of a report and no more messages (3GPP TS 23.040 clause 9.2.2.3)."""
_REPORT_WANTED: Final = 0x20  # TP-SRR of an SMS-SUBMIT, clause 9.2.3.5
_NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)


def report(submit: str, reference: int, status: int = 0) -> str | None:
    """Return the SMS-STATUS-REPORT for a sent PDU, None when it asked for none.

    Args:
        submit: hex with SMSC, as it was given to `AT+CMGS`.
        reference: what `+CMGS:` said.
        status: TP-ST (clause 9.2.3.15); 0 is received by the other phone.
    """
    octets = bytes.fromhex(submit)
    smsc, tpdu = octets[: 1 + octets[0]], octets[1 + octets[0] :]
    if len(tpdu) < 4 or not tpdu[0] & _REPORT_WANTED:
        return None
    address = tpdu[2 : 4 + (tpdu[2] + 1) // 2]
    time = write_time(_NOON + timedelta(seconds=reference))
    head = bytes((_STATUS_REPORT, reference))
    return (smsc + head + address + time + time + bytes((status,))).hex().upper()


def advertisement(number: int) -> str:
    """Return an SMS such as fills a SIM, unlike that of any other number."""
    text = f"Y'ello! Dial *138*{number}# for a data bundle."
    [pdu] = encode_deliver("MTN", text, _NOON + timedelta(minutes=number), smsc="+233240000099")
    return pdu
