"""When is a message money? Rules 1 to 4 of decisions.md section 4, decided before a payment row is made.

The rules return reasons, not booleans, so that a person can be shown which one failed.
"""

from collections.abc import Collection
from dataclasses import dataclass

from daemon.core.limits import HISTORY_US


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about one message.

    Attributes:
        sender: The originating address as decoded, None when the PDU could not be read.
        sender_is_alphanumeric: Its type of number is alphanumeric (3GPP TS 23.040 clause 9.1.2.5).
        network: The network of the SIM that got it, None when its IMSI is of no network we know.
        network_senders: The senders that this network's payment messages come from.
    """

    sender: str | None
    sender_is_alphanumeric: bool
    network: str | None
    network_senders: Collection[str]


def doubts(evidence: Evidence) -> list[str]:
    """Return why the message cannot be trusted, empty when it can (rule 1).

    The comparison is exact to the byte: `Mobile-Money`, `MobiIeMoney` and a phone number are not `MobileMoney`.
    """
    found = []
    if evidence.network is None:
        found.append("sim_network_unknown")
    if not evidence.sender_is_alphanumeric:
        found.append("sender_is_a_number")
    elif evidence.sender not in evidence.network_senders:
        found.append("sender_not_of_network")
    return found


def is_history(sent_at: int | None, line_created_at: int) -> bool:
    """Say whether a message is older than its line by more than 10 minutes (rule 4)."""
    return sent_at is not None and sent_at < line_created_at - HISTORY_US
