"""Take messages in as history: one that is pasted, or the backup of an old phone."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from daemon.core.access.callers import Operation, require
from daemon.core.errors import FieldError, Refusal
from daemon.core.names import national_format, provider_name
from daemon.dash.web.visit import Goto, Outcome, Shown, Visit
from daemon.flows.messages.import_file import BATCH, FileMessage, ImportResult, import_messages
from daemon.store.lines import payment_methods
from daemon.wire import ErrorCode
from parsers.phone_backup import BackupError, BackupMessage, messages_of
from parsers.times import read_iso

TEXT_MAX: Final = 2_000
_PLAIN_REFUSALS: Final = {
    ErrorCode.METHOD_HAS_NO_SIM: "line_has_no_sim",
    ErrorCode.PAYMENT_METHOD_NOT_FOUND: "line_missing",
}


async def show(visit: Visit) -> Shown:
    """Show both forms."""
    return await _page(visit)


async def _page(visit: Visit, status: int = 200, **values: Any) -> Shown:
    methods = await visit.env.store.read(payment_methods.in_use)
    lines = [
        (one.id, f"{national_format(one.phone_number)} · {provider_name(one.provider)}")
        for one in methods
    ]
    shown = {"lines": lines, "counts": None, "skipped": (), "total": 0, **values}
    return Shown("messages/import.html", shown, status=status)


async def paste(visit: Visit) -> Outcome:
    """Store one pasted message as history."""
    form = visit.form
    text = form.get("text", "").replace("\r\n", "\n").strip()
    if not text or len(text) > TEXT_MAX:
        visit.fail(FieldError("text", "invalid", visit.words("paste_missing")))
        return await _page(visit, 422)
    entry = FileMessage(form.get("sender", "").strip(), text, visit.now)
    try:
        (taken,) = await import_messages(
            visit.env, visit.caller, form.get("line", ""), [entry], dry_run=False, pasted=True
        )
    except Refusal as refusal:
        return await _refused(visit, refusal, "line")
    if taken.message_id is None:
        key = "paste_sender" if taken.fate is ImportResult.OTHER_SENDER else "paste_unreadable"
        if taken.fate is ImportResult.KNOWN:
            return Goto("/dash/messages/import", "said_paste_known")
        visit.fail(FieldError("text", "invalid", visit.words(key)))
        return await _page(visit, 422)
    return Goto(f"/dash/messages/{taken.message_id}", "said_pasted")


async def backup(visit: Visit) -> Outcome:
    """Look at the text of a backup, or take its messages in; a text that cannot be read whole is refused."""
    require(visit.caller, Operation.MANAGE_MESSAGES)
    dry_run = visit.form.get("do") != "take"
    try:
        found = _messages(visit)
    except BackupError as error:
        visit.fail(
            FieldError("backup", "invalid", visit.cite(str(error), visit.words("backup_wrong")))
        )
        return await _page(visit, 422)
    if not found:
        visit.fail(FieldError("backup", "invalid", visit.words("backup_empty")))
        return await _page(visit, 422)
    good = [one for one in found if not one.problem]
    counts: Counter[str] = Counter()
    try:
        for begin in range(0, len(good), BATCH):
            entries = [_entry(one) for one in good[begin : begin + BATCH]]
            taken = await import_messages(
                visit.env, visit.caller, visit.form.get("line", ""), entries, dry_run=dry_run
            )
            counts.update(str(one.fate) for one in taken)
    except Refusal as refusal:
        return await _refused(visit, refusal, "backup_line")
    counts["unreadable"] += len(found) - len(good)
    return await _page(
        visit,
        counts=[(name.value, counts[name.value]) for name in ImportResult],
        skipped=[(one.line, one.problem) for one in found if one.problem][:20],
        total=len(found),
        looked=dry_run,
    )


def _messages(visit: Visit) -> Sequence[BackupMessage]:
    text = visit.form.get("backup", "").replace("\r\n", "\n")
    return list(messages_of([text], None, visit.words.zone)) if text.strip() else []


def _entry(message: BackupMessage) -> FileMessage:
    body = message.body
    if "pdu" in body:
        return FileMessage(pdu=body["pdu"])
    at = read_iso(body["sent_at"])
    assert at is not None, "the reader wrote it"
    return FileMessage(body["sender"], body["text"], at, body.get("smsc"))


async def _refused(visit: Visit, refusal: Refusal, field: str) -> Outcome:
    key = _PLAIN_REFUSALS.get(refusal.code)
    if key is None:
        raise refusal
    visit.fail(FieldError(field, "invalid", visit.words(key)))
    return await _page(visit, 422)
