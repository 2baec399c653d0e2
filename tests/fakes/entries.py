"""Messages of one line as chain entries, as a test needs them."""

from typing import Any

from msgspec.structs import replace

from daemon.core.limits import MINUTE_US
from daemon.core.messages.balance_chain import ChainEntry
from tests.fakes.rows import AT


def entry(number: int, effect: int, after: int, **changes: Any) -> ChainEntry:
    """Return the receipt with this number, a minute after the one before; an effect below 0 makes it a debit."""
    at = AT + number * MINUTE_US
    pays = effect > 0
    made = ChainEntry(
        key=f"m{number}", seq=number, at=at, stored_at=at, telco_id=f"{93_000_000_000 + number}", pays=pays,
        amount=effect if pays else None, effect=effect, after=after,
    )  # fmt: skip
    return replace(made, **changes)
