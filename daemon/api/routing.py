"""GET /v1/open-collections/payments/{transaction uuid}/routing: why a payment went where it went."""

from daemon.api.described import described
from daemon.api.fields import read_uuid
from daemon.api.service import Call, Reply, ok
from daemon.core import ids, rule_shapes
from daemon.core.errors import Refusal
from daemon.core.model import Payment, Rule, Transaction
from daemon.core.routing import Claim, Decision, Receiver, claims, facts_of
from daemon.core.rule_fields import PaymentFacts
from daemon.core.shapes import Json, timestamp
from daemon.store import endpoints, payments, routings, rules, transactions
from daemon.store.engine import Reader
from daemon.wire import ErrorCode, Mode
from parsers.money import render


@described("Explain a routing", "routing", errors=(ErrorCode.TRANSACTION_NOT_FOUND,))
async def get(call: Call) -> Reply:
    """Say where a payment went and why: each decision as it was made, by the rules of then, and what those of today say.

    There is a decision for each time that it was routed: when it came, and again when its money went from a holder to a
    request. One that was not forwarded by itself (rejected, or older than its line) has none.
    """
    wanted = read_uuid(call.path("id")) or ids.split_reference(call.path("id"))
    mode = call.caller.mode
    data = None
    if wanted is not None:
        data = await call.env.store.read(lambda reader: _look(reader, wanted, mode))
    if data is None:
        raise Refusal(ErrorCode.TRANSACTION_NOT_FOUND)
    return ok(data)


def _look(reader: Reader, transaction_id: str, mode: Mode | None) -> Json | None:
    transaction = transactions.get(reader, transaction_id, mode)
    if transaction is not None and transaction.merged_into is not None:
        transaction = transactions.get(reader, transaction.merged_into, mode)
    if transaction is None:
        return None
    payment = None
    if transaction.payment_id is not None:
        payment = payments.get(reader, transaction.payment_id)
    paid = None
    if payment is not None:
        paid = {
            "amount": render(payment.amount_minor, payment.currency),
            "currency": payment.currency,
            "telco_transaction_id": payment.telco_id_as_read,
            "received_at": timestamp(payment.stored_at),
        }
    return {
        "transaction_id": transaction.id,
        "reference": transaction.reference,
        "status": transaction.status,
        "payment": paid,
        "decisions": [] if payment is None else _decisions(reader, payment),
        "today": None if payment is None else _today(reader, transaction, payment),
    }


def _decisions(reader: Reader, payment: Payment) -> list[Json]:
    found = []
    for kept in routings.kept(reader, payment):
        receivers, chosen = _as_it_was(reader, kept.decision)
        facts, placed = facts_of(kept.decision), kept.decision.placed
        found.append(
            {
                "decided_at": timestamp(kept.decided_at),
                "reference": ids.reference_of(kept.transaction_id),
                "placed": placed,
                "claims": len(chosen),
                "endpoints": rule_shapes.explained(receivers, facts, chosen, placed=placed),
            }
        )
    return found


def _as_it_was(reader: Reader, decision: Decision) -> tuple[list[Receiver], list[Claim]]:
    """Return the receivers of a decision with the very rules that it was made by, and whom it chose."""
    seqs = {seq for _, _, versions in decision.looked_at for seq in versions}
    by_seq = rules.versions(reader, seqs)
    receivers, chosen = [], []
    for endpoint_id, catch_all, versions in decision.looked_at:
        endpoint = endpoints.as_it_was(reader, endpoint_id, catch_all=catch_all)
        own: list[Rule] = [by_seq[seq] for seq in versions if seq in by_seq]
        receivers.append(Receiver(endpoint, tuple(own)))
        if endpoint_id in decision.claimed:
            seq = decision.claimed[endpoint_id]
            chosen.append(Claim(endpoint, None if seq is None else by_seq.get(seq)))
    return receivers, chosen


def _today(reader: Reader, transaction: Transaction, payment: Payment) -> Json:
    receivers = routings.receivers(reader, payment.mode)
    facts = PaymentFacts(transaction, payment, routings.method_of(reader, payment))
    placed = payment.placed
    chosen = claims(receivers, facts, placed=placed)
    return {
        "placed": placed,
        "claims": len(chosen),
        "endpoints": rule_shapes.explained(receivers, facts, chosen, placed=placed),
    }
