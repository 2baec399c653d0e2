"""The emulated phone without a port: what is typed, and what it says to it."""

from typing import Final

from daemon.modem.emulated import Phone

PDU_A: Final = "00040B910000000000F00000621112800000000141"
PDU_B: Final = "00040B910000000000F00000621112800000000142"
PDU_C: Final = "00040B910000000000F00000621112800000000143"
LENGTH: Final = len(PDU_A) // 2 - 1
"""Of each of them, without the SMSC."""
OK: Final = "\r\nOK\r\n"


def heard(phone: Phone) -> bytes:
    """Return all that the phone has to say."""
    answer = b""
    while data := phone.data_to_send():
        answer += data
    return answer


def drain(phone: Phone) -> str:
    """Return the same as text."""
    return heard(phone).decode("latin-1")


def said(phone: Phone, command: str) -> str:
    """Type a command and return all that is said then."""
    phone.receive_data(command.encode() + b"\r")
    return drain(phone)
