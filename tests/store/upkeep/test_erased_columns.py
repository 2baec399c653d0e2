"""A column with text of people is masked for operators and erased for a payer because of its mark in the schema."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from daemon.store import migrate
from daemon.store.engine import Params, Tx
from daemon.store.migrate import Migration
from daemon.store.upkeep import operator_sql, payer_data
from tests.fakes import new_database

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
"""Why a column is marked `kept` -> the columns."""
OWN = {
    "its row is deleted": (
        "approved_payers.name approved_payers.name_key approved_payers.phone_number request_names.pair"
    ),
    "`deliveries.rewrite_bodies`": "delivery_bodies.deflated",
    "`idempotency.remove`": ("idempotency_keys.body idempotency_keys.fingerprint idempotency_keys.key"),
    "emptied if it is the payer's number": "messages.sender",
}
"""How a column that is marked `own` is erased -> the columns."""


def marked(*words: str | None) -> set[str]:
    return {
        f"{table}.{name}"
        for table, columns in migrate.marks().items()
        for name, mark in columns.items()
        if mark.forget in words and mark.shown != "public"
    }


def test_every_column_with_text_of_people_is_erased_or_kept_for_a_reason() -> None:
    assert sorted(marked(None)) == [], "say in the comment of its line what forgetting does to it"
    assert sorted(marked("kept")) == sorted(n for names in KEPT.values() for n in names.split())
    assert sorted(marked("own")) == sorted(n for names in OWN.values() for n in names.split())


def test_the_rows_of_a_payer_are_known_in_every_table_with_such_a_column() -> None:
    found = {name.partition(".")[0] for name in marked("erased", "forgotten", "cleaned")}
    assert found == {table for table, _kind, _where in payer_data.PLACES}


def test_a_value_takes_the_place_of_what_is_erased() -> None:
    wrong = [
        (table, name)
        for table, columns in migrate.marks().items()
        for name, mark in columns.items()
        if (mark.forget in ("erased", "forgotten")) != (mark.empty is not None)
    ]
    assert wrong == []


class LaterTx(Tx):
    """A transaction whose statements are not tried on PostgreSQL too, where the schema is today's."""

    def all(self, sql: str, params: Params | None = None) -> list[tuple[Any, ...]]:
        return list(self._connection.execute(sql, params or {}))

    def one(self, sql: str, params: Params | None = None) -> tuple[Any, ...] | None:
        return next(iter(self.all(sql, params)), None)

    def run(self, sql: str, params: Params | None = None) -> int:
        return len(self.all(sql, params))


@pytest.fixture
def later_shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A shop's file, and a version of the program with three columns more, whose marks are all that it says about them."""
    file = tmp_path / "momo.db"
    new_database.lay(file)
    step = (
        "ALTER TABLE payments ADD COLUMN nickname TEXT;  -- masked, forgotten NULL\n"
        "ALTER TABLE payments ADD COLUMN gossip TEXT;  -- masked, cleaned\n"
        "ALTER TABLE payments ADD COLUMN face TEXT;  -- hidden, erased NULL\n"
    )
    known = [*migrate.migrations(), Migration(len(migrate.migrations()) + 1, "nickname", step)]
    monkeypatch.setattr(migrate, "migrations", lambda: known)
    migrate.marks.cache_clear()
    yield file
    migrate.marks.cache_clear()


def test_a_new_column_is_masked_and_erased_because_of_its_mark(later_shop: Path) -> None:
    with closing(sqlite3.connect(later_shop, isolation_level=None)) as base:
        migrate.migrate(base, 1)
        base.execute(
            "INSERT INTO payments (id, mode, provider, telco_transaction_id, telco_id_as_read, message_seq, sim_key, device_id, "
            "slot_index, kind, amount_minor, currency, payer_phone, telco_at, stored_at, historical, standing, nickname, "
            "gossip, face) VALUES ('p', 'live', 'mtn', '1', '1', 1, 's', 'd', 0, 'k', 5, 'GHS', '+233241234567', 1, 1, 0, "
            "'used', 'call 0241234567', 'her number is 0241234567', 'round')"
        )
        with operator_sql.open_for_operator(str(later_shop), lambda: 0.0, "0f", show_phones=False) as sql:
            shown = sql.query("SELECT * FROM payments", {}, 1).rows[0]
        assert (shown["nickname"], "face" in shown) == ("call 024 *** 4567", False)
        tx = LaterTx(base, [])
        base.execute("BEGIN")
        payer_data.erase(tx, payer_data.find(tx, "+233241234567"))
        left = base.execute("SELECT payer_phone, nickname, gossip, face FROM payments").fetchall()
        assert left == [(None, None, "her number is ***", None)]
