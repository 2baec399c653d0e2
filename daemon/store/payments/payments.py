"""Payments, one row per transaction of the network; reversals; payer names that an operator approved for a number.

A reversal may come before its payment, so `add` looks for one.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from daemon.core.model import ApprovedPayer, Payment, Reversal, Transaction
from daemon.store import journal
from daemon.store.engine import Reader, Tx
from daemon.store.payments import search_index
from daemon.store.rows import Conditions, insertion, update
from daemon.wire import Mode
from parsers import person_name

_ADD = insertion(
    "payments",
    Payment,
    "decider",
    "double_of",
    "branch_id",
    reversed_at="COALESCE(:reversed_at, (SELECT at FROM reversals WHERE mode = :mode AND provider = :provider "
    "AND original_telco_id = :telco_transaction_id AND (amount_minor IS NULL OR amount_minor = :amount_minor)))",
)
_OVERWRITE = update(
    "payments", Payment, "id", "mode", "provider", "telco_transaction_id", "standing", "reversed_at",
    "decider", "double_of", "branch_id",
)  # fmt: skip


def add(tx: Tx, payment: dict[str, Any], *, again: bool = False) -> Payment | None:
    """Store a payment; return None if (mode, provider, telco ID) exists already.

    `payment` has every column but `seq`. If the network took back its amount before it was seen here, it is reversed at
    once. `again` is for a message that came earlier: a withdrawn payment of it counts again.
    """
    if again and tx.exists("SELECT 1 FROM payments WHERE id = :id", {"id": payment["id"]}):
        return tx.first(
            Payment,
            "UPDATE payments SET standing = :standing, double_of = NULL WHERE id = :id AND standing = 'withdrawn' "
            "AND NOT EXISTS (SELECT 1 FROM payments o WHERE o.telco_transaction_id = :telco_transaction_id AND o.mode = :mode "
            "AND o.provider = :provider AND o.double_of IS NULL) RETURNING *",
            payment,
        )
    return tx.first(
        Payment,
        f"{_ADD} ON CONFLICT (telco_transaction_id, mode, provider) WHERE double_of IS NULL DO NOTHING RETURNING *",
        payment,
    )


def withdraw(tx: Tx, payment_id: str) -> None:
    """Let a payment count nowhere, because the approval that made it was taken back; its network ID is free again."""
    tx.run("UPDATE payments SET standing = 'withdrawn', double_of = id WHERE id = :id", {"id": payment_id})


def get(reader: Reader, payment_id: str) -> Payment | None:
    """Return one payment by its id."""
    return reader.first(Payment, "SELECT * FROM payments WHERE id = :id", {"id": payment_id})


def with_telco_id(reader: Reader, mode: Mode, telco_id: str) -> list[Payment]:
    """Return all payments with this network ID, of any provider, oldest first."""
    return reader.every(
        Payment,
        "SELECT * FROM payments WHERE telco_transaction_id = :telco_id AND mode = :mode "
        "AND double_of IS NULL "
        "ORDER BY seq",
        {"telco_id": telco_id, "mode": mode},
    )


def with_standing(reader: Reader, standing: str) -> list[Payment]:
    """Return this shop's own payments with a standing, oldest first; few have `handed`."""
    return reader.every(
        Payment,
        "SELECT * FROM payments WHERE standing = :standing AND branch_id IS NULL ORDER BY seq",
        {"standing": standing},
    )


def overwrite_imported(tx: Tx, payment_id: str, payment: dict[str, Any]) -> Payment:
    """Overwrite an imported payment with the phone's reading, `payment` (every column but `seq`), and return it.

    Its id, mode, provider, transaction ID, standing and reversal stay.
    """
    search_index.remove(tx, "payments", [payment_id])
    changed = tx.only(Payment, f"{_OVERWRITE} WHERE id = :id RETURNING *", {**payment, "id": payment_id})
    search_index.add(tx, "payments", [payment_id])
    return changed


def has_sms(reader: Reader, payment_id: str) -> bool:
    """Return whether the SMS of a payment is here; none is of one that came back from the hub alone. The branch has that of a copy."""
    return reader.exists(
        "SELECT 1 FROM payments p WHERE p.id = :id AND (p.branch_id IS NOT NULL "
        "OR EXISTS (SELECT 1 FROM sms_parts s WHERE s.message_seq = p.message_seq))",
        {"id": payment_id},
    )


def set_message(tx: Tx, payment_id: str, message_id: str) -> None:
    """Set the message of a payment."""
    tx.run(
        "UPDATE payments SET message_seq = (SELECT seq FROM messages WHERE id = :message) WHERE id = :id",
        {"id": payment_id, "message": message_id},
    )


def set_historical(tx: Tx, payment: Payment, *, historical: bool) -> Payment:
    """Set whether a payment is history, and return it as it is then."""
    tx.run("UPDATE payments SET historical = :historical WHERE id = :id", {"id": payment.id, "historical": historical})
    return replace(payment, historical=historical)


def set_standing(tx: Tx, payment_id: str, standing: str) -> None:
    """Set the standing of a payment: used, open or review."""
    tx.run("UPDATE payments SET standing = :standing WHERE id = :id", {"id": payment_id, "standing": standing})


def set_decider(tx: Tx, payment_id: str, decider: str, standing: str) -> None:
    """Set the decider of a payment, `branch` (the shop that read it) or `hub`, and its standing."""
    tx.run(
        "UPDATE payments SET decider = :decider, standing = :standing WHERE id = :id",
        {"id": payment_id, "decider": decider, "standing": standing},
    )


def reverse(tx: Tx, payment_id: str, at: int) -> bool:
    """Record that the network took a payment back; return False if that is recorded already."""
    return tx.changed(
        "UPDATE payments SET reversed_at = :at WHERE id = :id AND reversed_at IS NULL", {"id": payment_id, "at": at}
    )


def record_line_activity(tx: Tx, payment_method_id: str | None, sim_key: str, now_us: int) -> None:
    """Record on the line and on the SIM that a payment was read."""
    tx.run("UPDATE sims SET read_payment_at = :now WHERE sim_key = :sim_key", {"now": now_us, "sim_key": sim_key})
    if payment_method_id is not None:
        tx.run(
            "UPDATE payment_methods SET last_payment_at = :now WHERE id = :id", {"now": now_us, "id": payment_method_id}
        )


def last_of_line(reader: Reader, payment_method_id: str) -> Payment | None:
    """Return this shop's newest payment to a number; None if there is none."""
    return reader.first(
        Payment,
        "SELECT * FROM payments WHERE branch_id IS NULL "
        "AND payment_method_seq = (SELECT seq FROM payment_methods WHERE id = :method) ORDER BY stored_at DESC, seq DESC LIMIT 1",
        {"method": payment_method_id},
    )


class UnplacedSum(Struct, frozen=True):
    """The payments of one SIM, network and currency without a number; `first` and `last` are storage times."""

    sim_key: str
    provider: str
    currency: str
    count: int
    minor: int
    first: int
    last: int


def unplaced_sums(reader: Reader, since: int) -> list[UnplacedSum]:
    """Return the sums of the live payments without a number, the largest first; SIMs that are ignored are left out."""
    rows = reader.all(
        "SELECT sim_key, provider, currency, COUNT(*), SUM(amount_minor), MIN(stored_at), MAX(stored_at) "
        "FROM payments WHERE payment_method_seq IS NULL AND stored_at >= :since AND mode = 'live' "
        "AND sim_key NOT IN (SELECT sim_key FROM sims WHERE ignored_at IS NOT NULL) "
        "GROUP BY sim_key, provider, currency",
        {"since": since},
    )
    found = [UnplacedSum(*row) for row in rows]
    return sorted(found, key=lambda one: (-one.minor, one.sim_key, one.provider))


def unplaced_by_currency(
    reader: Reader, sim_key: str, provider: str, since: int
) -> list[tuple[str, int, int, int, int]]:
    """Return the currency, count, sum, first and last storage time of a SIM and network's payments without a number."""
    return reader.all(
        "SELECT currency, COUNT(*), SUM(amount_minor), MIN(stored_at), MAX(stored_at) FROM payments "
        "WHERE sim_key = :sim_key AND provider = :provider AND payment_method_seq IS NULL AND stored_at >= :since "
        "AND mode = (SELECT d.mode FROM sims s JOIN devices d ON d.device_id = s.device_id WHERE s.sim_key = :sim_key) "
        "GROUP BY currency ORDER BY currency",
        {"sim_key": sim_key, "provider": provider, "since": since},
    )


def unplaced_first(reader: Reader, sim_key: str, provider: str, since: int, limit: int) -> list[Payment]:
    """Return the first of those payments, in order of storage."""
    return reader.every(
        Payment,
        "SELECT * FROM payments "
        "WHERE sim_key = :sim_key AND provider = :provider AND payment_method_seq IS NULL AND stored_at >= :since "
        "AND mode = (SELECT d.mode FROM sims s JOIN devices d ON d.device_id = s.device_id WHERE s.sim_key = :sim_key) "
        "ORDER BY seq LIMIT :limit",
        {"sim_key": sim_key, "provider": provider, "since": since, "limit": limit},
    )


def claim(tx: Tx, sim_key: str, provider: str, since: int, payment_method_id: str) -> list[tuple[Payment, Payment]]:
    """Assign a merchant number to those payments; return each as it was and as it is."""
    rows = tx.every(
        Payment,
        "UPDATE payments SET payment_method_seq = COALESCE((SELECT seq FROM payment_methods WHERE id = :method), 0) "
        "WHERE sim_key = :sim_key AND provider = :provider AND payment_method_seq IS NULL AND stored_at >= :since "
        "AND mode = (SELECT d.mode FROM sims s JOIN devices d ON d.device_id = s.device_id WHERE s.sim_key = :sim_key) "
        "RETURNING *",
        {"sim_key": sim_key, "provider": provider, "since": since, "method": payment_method_id},
    )
    now = sorted(rows, key=lambda payment: payment.seq)
    return [(replace(payment, payment_method_id=None), payment) for payment in now]


def add_reversal(tx: Tx, reversal: dict[str, Any]) -> Reversal | None:
    """Store a reversal; return None if it is stored already.

    `reversal` has every column but `seq`; `original_telco_id` is trimmed and upper case, `at` is when the network took
    the payment back.
    """
    return tx.first(
        Reversal,
        "INSERT INTO reversals (message_id, mode, provider, original_telco_id, amount_minor, at, created_at) "
        "VALUES (:message_id, :mode, :provider, :original_telco_id, :amount_minor, :at, :created_at) "
        "ON CONFLICT DO NOTHING RETURNING *",
        reversal,
    )


def reversal_of(reader: Reader, payment: Payment) -> Reversal | None:
    """Return the reversal that names a payment."""
    return reader.first(
        Reversal,
        "SELECT * FROM reversals WHERE mode = :mode AND provider = :provider AND original_telco_id = :id",
        {"mode": payment.mode, "provider": payment.provider, "id": payment.telco_transaction_id},
    )


def record_reversal(
    tx: Tx, payment: Payment, *, transaction_id: str | None, message_id: str, now: int, **more: int | str | None
) -> None:
    """Record a reversal in the journal and notify the owner, in the transaction that marks the payment reversed.

    `payment` is as it was. `message_id` is the reversal message, or the payment's message if it came after its
    reversal. `more` are amounts in minor units, or the code of the transaction that the payment settled.
    """
    data = {"amount_minor": payment.amount_minor, **more, "currency": payment.currency}
    journal.add(tx, "payment.reversed", now, payment, transaction_id=transaction_id, message_id=message_id, data=data)
    journal.add_notice(tx, journal.Notice.PAYMENT_REVERSED, now, payment, message_id=message_id, data=data)


def is_payer_approved(reader: Reader, mode: Mode, phone_number: str, name: str) -> bool:
    """Return whether an operator approved this name for this number."""
    return reader.exists(
        "SELECT 1 FROM approved_payers WHERE mode = :mode AND phone_number = :phone_number "
        "AND name_key = :name_key AND revoked_at IS NULL",
        {"mode": mode, "phone_number": phone_number, "name_key": person_name.comparison_key(name)},
    )


def approved_numbers(reader: Reader, payment: Payment, transactions: Iterable[Transaction | None]) -> frozenset[str]:
    """Return the expected payer numbers of these transactions for which the name on the payment is approved."""
    name = payment.payer_name
    if name is None:
        return frozenset()
    expected = {transaction.expected_payer_phone for transaction in transactions if transaction is not None}
    return frozenset(
        number for number in expected if number is not None and is_payer_approved(reader, payment.mode, number, name)
    )


def approved_payer(reader: Reader, payer_id: str, mode: Mode | None) -> ApprovedPayer | None:
    """Return one approval, even if revoked; with `mode`, only if it is of that mode."""
    return reader.first(
        ApprovedPayer,
        "SELECT * FROM approved_payers WHERE id = :id AND (CAST(:mode AS TEXT) IS NULL OR mode = :mode)",
        {"id": payer_id, "mode": mode},
    )


def approved_payers(
    reader: Reader, *, phone_number: str | None, revoked: bool, mode: Mode | None, limit: int, offset: int
) -> tuple[list[ApprovedPayer], int]:
    """Return one page of approvals, newest first, and their total number; `revoked` includes revoked ones."""
    conditions = Conditions()
    conditions.by("a.mode = :mode", mode=mode)
    conditions.by("a.phone_number = :phone_number", phone_number=phone_number)
    if not revoked:
        conditions.always("a.revoked_at IS NULL")
    found = reader.page(
        "SELECT a.* FROM approved_payers a", conditions, order="a.seq DESC", limit=limit, offset=offset, a=ApprovedPayer
    )
    return found.rows, found.total


def approve_payer(
    tx: Tx, *, payer_id: str, mode: Mode, phone_number: str, name: str, review_id: str, by: str, now: int
) -> ApprovedPayer | None:
    """Approve a name for a number. Return None if it is approved already or has no word to recognise it by."""
    if not person_name.is_name(name):
        return None
    return tx.first(
        ApprovedPayer,
        "INSERT INTO approved_payers (id, mode, phone_number, name, name_key, review_id, approved_by, approved_at) "
        "VALUES (:id, :mode, :phone_number, :name, :name_key, :review_id, :by, :now) "
        "ON CONFLICT (mode, phone_number, name_key) WHERE revoked_at IS NULL DO NOTHING "
        "RETURNING *",
        {
            "id": payer_id,
            "mode": mode,
            "phone_number": phone_number,
            "name": name,
            "name_key": person_name.comparison_key(name),
            "review_id": review_id,
            "by": by,
            "now": now,
        },
    )


def approved_by_review(reader: Reader, review_id: str) -> list[str]:
    """Return the ids of the names that a review approved and nobody revoked."""
    return reader.column(
        "SELECT id FROM approved_payers WHERE review_id = :id AND revoked_at IS NULL", {"id": review_id}
    )


def revoke_payer(tx: Tx, payer_id: str, *, by: str, now: int) -> bool:
    """Revoke an approval; return False if it was revoked before."""
    return tx.changed(
        "UPDATE approved_payers SET revoked_at = :now, revoked_by = :by WHERE id = :id AND revoked_at IS NULL",
        {"id": payer_id, "by": by, "now": now},
    )
