"""Erasing a payer thinks of every column with text of people: it erases it, or it is said here why not."""

import re
from pathlib import Path

from daemon.store.upkeep import payer_data
from daemon.store.upkeep.operator_sql import HIDDEN, MASKED

KEPT = {
    "of the shop, its users and its programs": (
        "api_keys.name api_keys.last_used_from api_keys.sha256 browser_sessions.address browser_sessions.browser "
        "browser_sessions.id browser_sessions.sha256 branches.invite_sha256 devices.name ended_sessions.id "
        "hub_link.key_sealed password_attempts.who payment_methods.phone_number payment_methods.account_name "
        "payment_methods.merchant_code recovery_codes.sha256 sealed_secrets.sealed session_keys.sealed "
        "shop.account_key shop.name shop.owner_email sim_pins.sealed users.name users.password_hash users.totp_sealed "
        "webhook_secrets.sealed"
    ),
    "of a receiver or of a network": (
        "attempts.error_message confirmed_wordings.sender dead_letters.error_message deliveries.error_message "
        "endpoints.description endpoints.headers endpoints.url endpoints.url_normalised rules.filter rules.name sms_outbox.why "
        "transactions.redirect_url transactions.webhook_url"
    ),
    "a key of another system, or of our own books": "transactions.client_reference",
    "a message to the owner, which names no payer": (
        "notice_sends.body notice_sends.error notice_sends.subject notices.cause notices.next notices.text notices.words"
    ),
    "of a line, not of a payer": "gaps_known.notes",
    "the journal, which keeps marks instead of what was typed": "events.data",
    "at a hub: cleared when the branch has carried out the command, or the feed of the branch overwrites it": (
        "branch_commands.body branch_commands.outcome branch_facts.body branch_facts.message branches.turn_answer facts_refused.body "
        "facts_refused.why hub_commands.body hub_commands.outcome"
    ),
}
"""Why a column is not erased -> the columns."""
ELSEWHERE = {
    "delivery_bodies.deflated",
    "idempotency_keys.body",
    "idempotency_keys.key",
    "idempotency_keys.fingerprint",
}
"""Erased by the functions of their own tables: `deliveries.rewrite_bodies`, `idempotency.remove`."""


def texts() -> set[str]:
    """Return the columns whose text is of people, or hidden."""
    return {
        f"{table}.{name}" for each in (MASKED, HIDDEN) for table in each for name in each[table]
    }


def erased() -> set[str]:
    """Return the columns that the statements of `payer_data` change or delete."""
    code = re.sub(r'"\s*\n\s*f?"', "", Path(payer_data.__file__).read_text())
    found = set(ELSEWHERE)
    for table, changes in re.findall(r"UPDATE (\w+) SET (.+?) WHERE", code):
        found |= {f"{table}.{name}" for name in re.findall(r"(\w+) = ", changes)}
    for table, name in re.findall(r'_rewrite\(\s*tx,\s*"(\w+)",\s*"(\w+)"', code):
        found.add(f"{table}.{name}")
    deleted = set(re.findall(r"DELETE FROM (\w+)", code))
    return found | {each for each in texts() if each.partition(".")[0] in deleted}


def test_every_column_with_text_of_people_is_erased_or_kept_for_a_reason() -> None:
    kept = {name for names in KEPT.values() for name in names.split()}
    assert sorted(texts() - erased() - kept) == [], (
        "erase it in payer_data.py, or say here why it stays"
    )
    assert sorted(kept & erased()) == []
    assert sorted(kept - texts()) == []
