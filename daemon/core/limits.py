"""Limits that several floors name, and units of time. Any other number stands beside the code that decides with it.

Times are microseconds unless the name says otherwise.
"""

from typing import Final

MILLISECOND_US: Final = 1_000
SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
HOUR_US: Final = 60 * MINUTE_US
DAY_US: Final = 24 * HOUR_US

LATE_WINDOW_US: Final = 72 * HOUR_US
"""A payment with the code of an expired transaction still counts this long after expiry."""
CODE_REST_US: Final = 30 * DAY_US
"""A code is not reused for this long after verification, cancellation, or expiry + the late window."""

DEAD_LETTERS_AT_ONCE: Final = 100
IDEMPOTENCY_KEY_CHARACTERS_MAX: Final = 255
"""Limits that the API promises."""
DESCRIPTION_CHARACTERS_MAX: Final = 500
"""A customer reads it on a phone."""
NOTES_CHARACTERS_MAX: Final = 2_000
"""Notes of a reconciliation, a decision or a cancellation: about one page."""
TRANSACTION_ID_CHARACTERS_MAX: Final = 64
"""More than twice the longest ID of any network."""
TEXT_CHARACTERS_MAX: Final = 200
"""Limit for names and labels; a payload holds several of them within its 20 kB."""
URL_CHARACTERS_MAX: Final = 2048
"""Common limit of receivers and proxies for a request line."""
BODY_BYTES_MAX: Final = 64 * 1024

EXPIRE_BATCH: Final = 500
PRUNE_BATCH: Final = 500
"""Rows per database transaction of a sweep, so that a payment never waits behind a long one."""
