"""`momo doctor ledger --deep`: read the text of every payment again, and compare it with the payment. Read-only.

A changed amount in the database breaks no invariant, but the parts of the SMS are stored as the phone gave them, so they still
have the original amount. Texts that were erased or are too old cannot be compared.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from daemon.core.payments.reviews import MESSAGE_ID_PREFIX
from daemon.doctor.checks import Check, System, failed, open_database, passed
from daemon.modem.codec import parts
from daemon.modem.codec import pdu as codec
from daemon.modem.codec.pdu_fields import Deliver
from daemon.runtime.own_wordings import FOLDER, OwnWordings
from daemon.store.engine import Reader
from daemon.store.messages import messages
from daemon.store.upkeep import inspect
from daemon.store.upkeep.inspect import PaidText
from parsers.money import render
from parsers.read import PROVIDERS, read
from parsers.reading import Payment, Unreadable, normalize_telco_id
from parsers.wording import Wording

BATCH: Final = 200
"""Payments in one snapshot; after each the disk rests for as long as it took."""
NAMED_MAX: Final = 20
"""Differences that are listed one by one."""
ID: Final = "ledger.texts"


def text_checks(system: System, pause: Callable[[float], None]) -> Iterator[Check]:
    """Compare each payment with its text. `pause` waits for a number of seconds.

    Raises:
        Unreadable: The database cannot be read.
    """
    own = OwnWordings(Path(system.shop.home) / FOLDER)
    own.read_again()
    after, same, unread, changed = 0, 0, 0, list[str]()
    while True:
        with open_database(system) as reader, inspect.rested(pause):
            batch = inspect.paid_texts(reader, after, BATCH)
            for paid in batch:
                why = _difference(reader, paid, own.wordings)
                same += why == ""
                unread += why is None
                if why:
                    changed.append(why)
        if len(batch) < BATCH:
            break
        after = batch[-1].seq
    for why in changed[:NAMED_MAX]:
        yield failed(ID, why, "momo backup list")
    if len(changed) > NAMED_MAX:
        yield failed(ID, f"{len(changed) - NAMED_MAX} further payments differ")
    if not changed:
        rest = f"; {unread} have no text that can be read today" if unread else ""
        yield passed(ID, f"{same} payments are as their messages say{rest}")


def _difference(reader: Reader, paid: PaidText, own: tuple[Wording, ...]) -> str | None:
    """Return how a payment differs from its message, "" if it does not; None if there is no text to compare."""
    values = [codec.decode(part.pdu) for part in messages.stored_parts(reader, paid.message_id)]
    delivered = [value for value in values if isinstance(value, Deliver)]
    if not delivered or len(delivered) < len(values):
        return None
    text = parts.join(delivered) if len(delivered) > 1 else delivered[0].text
    name = f"payment {paid.id} ({paid.telco_id})"
    if text != paid.body:
        return f"{name}: the stored text of message {paid.message_id} is not what its SMS says"
    reading = _read(paid, own)
    if reading is None:
        return None
    found = []
    if (reading.amount.minor, reading.amount.currency) != (paid.amount_minor, paid.currency):
        amount = f"{reading.amount.currency} {render(reading.amount.minor, reading.amount.currency)}"
        found.append(f"{amount}, stored is {paid.currency} {render(paid.amount_minor, paid.currency)}")
    telco_id = None if reading.telco_id is None else normalize_telco_id(reading.telco_id)
    if telco_id not in (None, paid.telco_id) and not paid.telco_id.startswith(MESSAGE_ID_PREFIX.upper()):
        found.append(f"the transaction ID {telco_id}")
    return f"{name}: its message says {' and '.join(found)}" if found else ""


def _read(paid: PaidText, own: tuple[Wording, ...]) -> Payment | None:
    """Read a text with the wording by which it was read before; None if that reads it no more."""
    network = PROVIDERS[paid.provider].network
    # An operator may have approved a text from an unknown sender; such a text is read by every wording.
    for sender, of in ((paid.sender, network), (None, None)):
        reading = read(sender, paid.body, network=of, own=own)
        perhaps = reading.perhaps if isinstance(reading, Unreadable) else (reading,)
        for one in perhaps:
            if isinstance(one, Payment) and one.wording == paid.wording:
                return one
    return None
