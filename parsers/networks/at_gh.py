"""AT (formerly AirtelTigo) Ghana: known as a network, but no wording and no sender of its present receipts is.

No verbatim receipt of AT Money could be found, so none is trusted: its messages are kept for a person until a real one
has been captured.
"""

from typing import Final

from parsers.template import Wording

NETWORK: Final = "at"
PROVIDER: Final = "momo_at"
SENDERS: Final[tuple[str, ...]] = ()
PLMNS: Final = ("62003", "62006")
"""Formerly Tigo and formerly Airtel."""
WORDINGS: Final[tuple[Wording, ...]] = ()
