"""POST /local/v1/messages/import: take in messages of a file as history. On the Unix socket only."""

from typing import Any, Final

from daemon.api.fields import Fields
from daemon.api.permission import needs_owner
from daemon.api.read_json import read_object
from daemon.api.service import Call, Reply, ok
from daemon.flows.import_messages import BATCH, Entry, import_messages
from parsers.when import read_iso

_MEMBERS: Final = (
    f"must be a list of up to {BATCH} objects, each of sender, text, sent_at (ISO 8601 with a zone) and maybe smsc; "
    "or of pdu, in hex"
)


async def import_batch(call: Call) -> Reply:
    """Take in up to 50 messages of the number `line`; the same ones again change nothing."""
    needs_owner(call.caller)
    fields = Fields(await read_object(call.scope, call.receive))
    line = fields.text("line", required=True, blank=False) or ""
    given = fields.value("messages", required=True)
    dry_run = fields.boolean("dry_run", default=False)
    listed = given if isinstance(given, list) and len(given) <= BATCH else [None]
    entries = [entry for one in listed if (entry := _entry(one)) is not None]
    if given is not None and len(entries) != len(listed):
        fields.fail("messages", "invalid", _MEMBERS)
    fields.done()
    taken = await import_messages(call.env, call.caller, line.strip(), entries, dry_run=dry_run)
    found = [
        {"fate": one.fate, "state": one.state, "id": one.message_id, "why": one.why or None}
        for one in taken
    ]
    return ok({"messages": found, "dry_run": dry_run})


def _entry(one: Any) -> Entry | None:
    """Read one member; None when it is not of that form."""
    if not isinstance(one, dict):
        return None
    pdu = one.get("pdu")
    if pdu is not None:
        return Entry(pdu=pdu) if isinstance(pdu, str) and _is_hex(pdu) else None
    sender, text, sent_at, smsc = (one.get(name) for name in ("sender", "text", "sent_at", "smsc"))
    at = read_iso(sent_at) if isinstance(sent_at, str) else None
    if not (isinstance(sender, str) and isinstance(text, str) and at is not None):
        return None
    return Entry(sender, text, at, smsc if isinstance(smsc, str) else None)


def _is_hex(text: str) -> bool:
    try:
        return bool(bytes.fromhex(text))
    except ValueError:
        return False
