"""The journal of actions, filtered by user, object and day, also as CSV."""

from typing import Any, Final

from daemon.core.ids import reference_of
from daemon.core.journal_text import facts
from daemon.core.json_values import dump, timestamp
from daemon.core.model import Event
from daemon.dash.parts import listing
from daemon.dash.parts.listing import Choice
from daemon.dash.parts.message_text import visible
from daemon.dash.web.visit import Download, Shown, Visit
from daemon.store import journal
from daemon.store.access import users
from daemon.store.engine import Reader
from daemon.store.journal import JournalFilter

THINGS: Final[dict[str, tuple[str, ...]]] = {
    "": (),
    "money": ("transaction", "payment", "review", "payer", "balance"),
    "messages": ("message", "messages", "sms", "phones"),
    "lines": ("sim", "modem", "payment_method", "link"),
    "webhooks": ("endpoint", "delivery", "dead_letter", "secret"),
    "access": ("user", "session", "password", "second_factor", "api_key"),
    "books": ("export", "statement", "report", "shift"),
    "upkeep": ("shop", "backup", "setting", "clock", "disk", "db", "smtp", "notice"),
}
"""The filter of things, and the first words of the types of entries that belong to each."""
CHOICES: Final = (Choice("who", ("people", "everybody"), "people"), Choice("thing", tuple(THINGS)))
_DAEMON: Final = "momo"
SUBJECTS: Final = ("name", "user", "key", "url", "amount", "expected_amount", "code", "file", "number", "what")
"""The facts that an entry can be about, the most telling first; the others are details."""


async def show(visit: Visit) -> Shown | Download:
    """Show the list, or return it as CSV; the search is the name of a user, or a whole actor such as `socket:0`."""
    asked = await listing.ask(visit, *CHOICES)

    def read(reader: Reader) -> tuple[list[Event], bool, list[str]]:
        names = [user.name for user in users.known(reader)]
        actor = f"user:{asked.search}" if asked.search in names else asked.search
        wanted = JournalFilter(
            people=asked.chosen["who"] == "people" and actor != _DAEMON, actor=actor,
            things=THINGS[asked.chosen["thing"]], since=asked.since, until=asked.until, before=asked.number,
        )  # fmt: skip
        rows, more = journal.listed(reader, wanted, limit=asked.limit)
        return rows, more, names

    rows, more, names = await visit.env.store.read(read)
    last = rows[-1].seq if more else None

    def what(event: Event) -> str:
        """Return an entry as a sentence, with what it is about; its type if there are no words."""
        key, found = f"event_{event.type.replace('.', '_')}", facts(event.data, None)
        words = visit.words(key) if visit.words.has(key) else event.type
        about = next((found[name] for name in SUBJECTS if isinstance(found.get(name), str)), "")
        if about and about in (found.get("amount"), found.get("expected_amount")):
            about = visit.money_text(about, str(found.get("currency") or "GHS"))
        return f"{words}: {visible(about)}" if about else words

    return await LIST.answer(visit, asked, rows, last, details=_details, reference=reference_of, what=what, names=names)


def _details(event: Event) -> list[tuple[str, Any]]:
    """Return the facts of an entry that say something; what is neither a text nor a number as JSON."""
    found = facts(event.data, None)
    return [
        (name, dump(value).decode() if isinstance(value, bool | dict | list) else value)
        for name, value in found.items()
        if value not in (None, "", [], {})
    ]


LIST: Final = listing.ListPage[Event](
    "journal",
    "upkeep/journal.html",
    {
        "id": lambda event: event.seq,
        "at": lambda event: timestamp(event.at),
        "who": lambda event: event.actor,
        "what": lambda event: event.type,
        "transaction": lambda event: None if event.transaction_id is None else reference_of(event.transaction_id),
        "payment_id": lambda event: event.payment_id,
        "message_id": lambda event: event.message_id,
        "endpoint_id": lambda event: event.endpoint_id,
        "details": lambda event: dump(facts(event.data, None)).decode(),
    },
)
