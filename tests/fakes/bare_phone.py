"""The emulated phone without a port: commands in, answers out."""

from typing import Final

from tests.phones.phone import Phone

PDU_A: Final = "00040B910000000000F00000621112800000000141"
PDU_B: Final = "00040B910000000000F00000621112800000000142"
PDU_C: Final = "00040B910000000000F00000621112800000000143"
LENGTH: Final = len(PDU_A) // 2 - 1
"""The length of each PDU without its SMSC."""
OK: Final = "\r\nOK\r\n"


def heard(phone: Phone) -> bytes:
    """Return all bytes that the phone sends."""
    answer = b""
    while data := phone.data_to_send():
        answer += data
    return answer


def drain(phone: Phone) -> str:
    """Return all bytes that the phone sends, as text."""
    return heard(phone).decode("latin-1")


def said(phone: Phone, command: str) -> str:
    """Send a command and return the answer."""
    phone.receive_data(command.encode() + b"\r")
    return drain(phone)
