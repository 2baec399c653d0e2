"""Names that a person has approved for a number, for receipts that carry no number."""

from collections.abc import Iterable

from daemon.core.model import ApprovedPayer, Payment, Transaction
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load_all, load_optional
from daemon.wire import Mode
from parsers import person_name

_PAYER = columns(ApprovedPayer)


def approve(
    tx: Tx,
    *,
    payer_id: str,
    mode: Mode,
    phone_number: str,
    name: str,
    review_id: str,
    by: str,
    now: int,
) -> ApprovedPayer | None:
    """Approve a name for a number; None when it is approved already, or when there is no word to know it by again."""
    if not person_name.is_name(name):
        return None
    row = tx.one(
        "INSERT INTO approved_payers (id, mode, phone_number, name, name_key, review_id, approved_by, approved_at) "
        "VALUES (:id, :mode, :phone_number, :name, :name_key, :review_id, :by, :now) "
        "ON CONFLICT (mode, phone_number, name_key) WHERE revoked_at IS NULL DO NOTHING "
        f"RETURNING {_PAYER}",
        {
            "id": payer_id,
            "mode": mode,
            "phone_number": phone_number,
            "name": name,
            "name_key": person_name.key(name),
            "review_id": review_id,
            "by": by,
            "now": now,
        },
    )
    return load_optional(ApprovedPayer, row)


def is_approved(reader: Reader, mode: Mode, phone_number: str, name: str) -> bool:
    """Say whether a person has approved this name for this number."""
    return (
        reader.value(
            "SELECT 1 FROM approved_payers WHERE mode = :mode AND phone_number = :phone_number "
            "AND name_key = :name_key AND revoked_at IS NULL",
            {"mode": mode, "phone_number": phone_number, "name_key": person_name.key(name)},
        )
        is not None
    )


def numbers_of(
    reader: Reader, payment: Payment, requests: Iterable[Transaction | None]
) -> frozenset[str]:
    """Return those numbers that these requests expect a payment from and that its payer's name is approved for."""
    name = payment.payer_name
    if name is None:
        return frozenset()
    expected = {request.expected_payer_phone for request in requests if request is not None}
    return frozenset(
        number
        for number in expected
        if number is not None and is_approved(reader, payment.mode, number, name)
    )


def get(reader: Reader, payer_id: str, mode: Mode | None) -> ApprovedPayer | None:
    """Return one approval, revoked ones too; with `mode`, only when it is of that mode."""
    return load_optional(
        ApprovedPayer,
        reader.one(
            f"SELECT {_PAYER} FROM approved_payers WHERE id = :id AND (:mode IS NULL OR mode = :mode)",
            {"id": payer_id, "mode": mode},
        ),
    )


def page(
    reader: Reader,
    *,
    phone_number: str | None,
    revoked: bool,
    mode: Mode | None,
    limit: int,
    offset: int,
) -> tuple[list[ApprovedPayer], int]:
    """Return one page of approvals, newest first, and how many there are in all; `revoked` shows those too."""
    where = (
        "(:mode IS NULL OR mode = :mode) AND (:phone_number IS NULL OR phone_number = :phone_number) "
        "AND (:revoked = 1 OR revoked_at IS NULL)"
    )
    params = {"mode": mode, "phone_number": phone_number, "revoked": revoked}
    total = int(reader.value(f"SELECT COUNT(*) FROM approved_payers WHERE {where}", params))
    rows = reader.all(
        f"SELECT {_PAYER} FROM approved_payers WHERE {where} ORDER BY seq DESC LIMIT :limit OFFSET :offset",
        {**params, "limit": limit, "offset": offset},
    )
    return load_all(ApprovedPayer, rows), total


def revoke(tx: Tx, payer_id: str, *, by: str, now: int) -> bool:
    """Take an approval back; False when that was done before."""
    return (
        tx.run(
            "UPDATE approved_payers SET revoked_at = :now, revoked_by = :by WHERE id = :id AND revoked_at IS NULL",
            {"id": payer_id, "by": by, "now": now},
        )
        == 1
    )
