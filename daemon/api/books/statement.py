"""POST /local/v1/statement: compare entries of a network's statement with the messages. On the Unix socket only.

It writes only to the journal, at the end of a comparison (`note`): a file does not verify payments.
"""

import re
from typing import Final

from daemon.api.http.auth import needs_owner
from daemon.api.http.body import read_object
from daemon.api.http.fields import Fields
from daemon.api.http.service import Call, Reply, ok
from daemon.core.json_values import Json
from daemon.flows.books.audit import note_statement
from daemon.steps.books.statement import Finding, compared

ENTRIES_MAX: Final = 400
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_COUNTS: Final = (*Finding, "not_on_statement")


async def compare(call: Call) -> Reply:
    """Compare up to 400 entries of the number `line`, or record the end of the comparison in the journal."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    line = fields.phone("line")
    entries = fields.value("entries")
    note = fields.object("note")
    if entries is not None and not _are_entries(entries):
        fields.fail(
            "entries", "invalid", f"must be up to {ENTRIES_MAX} objects of id and amount_minor"
        )
    if note is not None and not _DIGEST.fullmatch(str(note.get("sha256"))):
        fields.fail("note.sha256", "invalid", "must be the SHA-256 of the file, in hex")
    fields.done()
    noted = False
    if note is not None:
        facts = {
            "line": line,
            **{name: note.get(name) for name in _COUNTS if isinstance(note.get(name), int)},
        }
        noted = await note_statement(call.env, call.caller, str(note["sha256"]), facts)
    asked: list[Json] = entries or []
    found = await call.env.store.read(lambda reader: compared(reader, asked, line)) if asked else []
    return ok({"entries": found, "noted": noted})


def _are_entries(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= ENTRIES_MAX
        and all(
            isinstance(one, dict)
            and isinstance(one.get("id"), str)
            and 0 < len(one["id"]) <= 40
            and isinstance(one.get("amount_minor"), int)
            for one in value
        )
    )
