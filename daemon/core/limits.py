"""Every limit and interval of the service, with its source or reason. Times are microseconds unless the name says otherwise."""

from typing import Final

MILLISECOND_US: Final = 1_000
SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
HOUR_US: Final = 60 * MINUTE_US
DAY_US: Final = 24 * HOUR_US

# Transactions
LATE_WINDOW_US: Final = 72 * HOUR_US
"""A payment with the code of an expired transaction still counts this long after expiry."""
DECISION_TAKEN_BACK_US: Final = 72 * HOUR_US
"""A person's decision on a review can be taken back for so long."""
CODE_REST_US: Final = 30 * DAY_US
"""A code is not reused for this long after verification, cancellation, or expiry + the late window."""
CODE_DRAWS_MAX: Final = 64
"""Tries to find a free code. With 26 million codes even 13 million in use fail once in 2**64 times."""
PAYMENT_BEFORE_TRANSACTION_US: Final = 10 * MINUTE_US
"""A payment older than its transaction by more than this was meant for another one."""
TELCO_CLOCK_AHEAD_US: Final = 10 * MINUTE_US
"""A network time further ahead of ours than this is ignored."""
HISTORY_US: Final = 10 * MINUTE_US
"""A message older than its line by more than this is history."""
EXPECTED_ID_LOOKBACK_US: Final = 24 * HOUR_US
"""An unused payment stored within this time still satisfies `expected_telco_transaction_id`."""
SMS_PER_SIM_HOUR: Final = 30
SMS_PER_SIM_DAY: Final = 200
"""Limit of one SIM, so that its network does not take the shop for a spammer."""
IDEMPOTENCY_US: Final = 24 * HOUR_US
IDEMPOTENCY_WAIT_S: Final = 2.0
MISS_WINDOW_US: Final = 15 * MINUTE_US
"""Window in which distinct unknown IDs of a reconcile are counted, to stop guessing."""
CLAIMABLE_SHOWN_MAX: Final = 100
"""Payments that a dry run of claim-unplaced lists; all of them are counted and added up."""
CLAIMS_PER_HOUR: Final = 3
"""Different transaction IDs that a customer may name for one transaction."""
RECEIPT_SHOWN_US: Final = 30 * DAY_US
"""A checkout page is shown as a receipt for this long after its transaction ended."""
LINES_AWAY_US: Final = 2 * MINUTE_US
"""After this long without any phone the checkout page says that payments are not seen now."""

# Access
PASSWORD_ATTEMPTS_MAX: Final = 5
USER_ATTEMPTS_MAX: Final = 50
"""Wrong passwords for one user name in that time from all addresses: from ten addresses or more, so that nobody locks a user
out by mistake, and 4,800 a day, too few to guess a password of ten characters."""
PASSWORD_WINDOW_US: Final = 15 * MINUTE_US
SESSION_US: Final = HOUR_US
"""Lifetime of a login of the API."""
BROWSER_IDLE_US: Final = 12 * HOUR_US
"""Idle limit of a browser session: one login in the morning lasts for a shop's day."""
BROWSER_LIFE_US: Final = 7 * DAY_US
BROWSER_SEEN_EVERY_US: Final = 5 * MINUTE_US
"""The last use of a browser session is written at most this often."""
CONFIRMED_US: Final = 10 * MINUTE_US
"""After the own password was typed again, dangerous actions are allowed for this long in that browser."""
ONE_TIME_LINK_S: Final = 60.0
"""Lifetime of the link of `momo open`."""
RECOVERY_CODES: Final = 10
USER_NAME_CHARACTERS_MAX: Final = 32
USERS_MAX: Final = 50

PARTS_MISSING_US: Final = 24 * HOUR_US
"""The owner gets a notice about a message that has lacked parts for this long."""

# Deliveries
LEASE_US: Final = 60 * SECOND_US

# Limits of a shop, and of the values in a call
ENDPOINTS_MAX: Final = 50
RULES_MAX: Final = 20
"""Per endpoint."""
FILTER_BYTES_MAX: Final = 4 * 1024
FILTER_DEPTH_MAX: Final = 4
"""Nesting depth, counting the outermost filter: each `$and`, `$or` and `$not` adds one."""
SECRET_OVERLAP_US: Final = 24 * HOUR_US
"""After a rotation the old secret also signs for this long."""
SECRET_OVERLAPS_MAX: Final = 3
"""A fourth rotation within that time is refused."""
EXPIRES_HOURS_MAX: Final = 24
CLIENT_REFERENCE_CHARACTERS_MAX: Final = 100
DEAD_LETTERS_AT_ONCE: Final = 100
"""The three above are limits that the API promises."""
DESCRIPTION_CHARACTERS_MAX: Final = 500
"""A customer reads it on a phone."""
IDEMPOTENCY_KEY_CHARACTERS_MAX: Final = 255
"""A limit that the API promises."""
NOTES_CHARACTERS_MAX: Final = 2_000
"""Notes of a reconciliation, a decision or a cancellation: about one page."""
TRANSACTION_ID_CHARACTERS_MAX: Final = 64
"""More than twice the longest ID of any network."""
ACCOUNT_NAME_CHARACTERS_MAX: Final = 100
MERCHANT_CODE_CHARACTERS_MAX: Final = 50
SHOP_NAME_CHARACTERS_MAX: Final = 100
PASSWORD_CHARACTERS_MIN: Final = 10
PASSWORD_CHARACTERS_MAX: Final = 1024
"""argon2id takes any length; this is far above any real pass phrase."""
CURSOR_CHARACTERS_MAX: Final = 300
"""Our cursors have fewer than 100; a longer one was not made by us."""

# The response of a receiver
ANSWER_BYTES_MAX: Final = 64 * 1024
"""Bytes read of a response; the rest is left unread."""
ANSWER_KEPT_BYTES_MAX: Final = 8 * 1024

EXPIRE_EVERY_S: Final = 60.0
EXPIRE_BATCH: Final = 500
"""Rows per database transaction of a sweep, so that a payment never waits behind a long one."""
PRUNE_BATCH: Final = 500

BODY_BYTES_MAX: Final = 64 * 1024
META_BYTES_MAX: Final = 4 * 1024
"""A limit that the API promises."""
PAYLOAD_BYTES_MAX: Final = 20_000
"""Size of one envelope."""
MESSAGE_CHARACTERS_MAX: Final = 1_600
"""Ten parts; a longer text is stored but not read as a payment."""

TEXT_CHARACTERS_MAX: Final = 200
"""Limit for names and labels; a payload holds several of them within its 20 kB."""
URL_CHARACTERS_MAX: Final = 2048
"""Common limit of receivers and proxies for a request line."""
