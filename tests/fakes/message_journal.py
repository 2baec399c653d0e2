"""The message journal of a shop that runs in another process."""

from pathlib import Path

from daemon.core.messages.message_journal import journal_key
from daemon.runtime.message_journal import MessageJournal
from tests.fakes.real_shop import RealShop


def journal_of(shop: RealShop) -> MessageJournal:
    """Return a shop's message journal, to read it."""
    ((account_key,),) = shop.rows("SELECT account_key FROM shop")
    return MessageJournal(Path(shop.places.home), journal_key(bytes.fromhex(account_key)))
