"""A balance chain that has begun, so that a test's receipts are not the first ones of their line."""

from uuid import NAMESPACE_OID, uuid5

from daemon.core.messages.balance_chain import Standing, Why
from daemon.core.messages.line_trust import LineState
from daemon.core.model import Message
from daemon.store.engine import Tx
from daemon.store.messages import balances, messages
from daemon.store.messages.balances import Chain, new_entry
from daemon.wire import MessageState
from tests.fakes import rows


def begin_chain(tx: Tx, sim_key: str, provider: str, balance_minor: int, at: int) -> None:
    """Store an old message of the network that names the balance of the wallet."""
    message_id = str(uuid5(NAMESPACE_OID, sim_key))
    row = rows.message(
        id=message_id,
        sim_key=sim_key,
        payment_method_id=None,
        payment_id=None,
        parts_total=1,
        parts_seen=1,
        reference=None,
        reference_width=None,
        state=MessageState.NOT_PAYMENT,
        provider=provider,
        body="",
        sent_at=at,
        received_at=at,
        created_at=at,
    )
    values = {name: getattr(row, name) for name in Message.__struct_fields__}
    messages.add(tx, values)
    entry = new_entry(
        message_id,
        at=at,
        stored_at=at,
        telco_id=None,
        pays=False,
        amount=None,
        effect=0,
        after=balance_minor,
        standing=Standing.ACCEPTED,
        why=Why.PERSON,
        position=0,
    )
    chain = Chain(sim_key, provider)
    balances.add(tx, chain, entry)
    line = LineState(balance=balance_minor, sent_at=at, moved_at=at, position=0, provisional=None, proved_at=at)
    balances.put_state(tx, chain, line)
