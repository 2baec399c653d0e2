"""Dead letters by their fault: replay one, marked ones or all of a fault, or dismiss one with a note."""

import functools
import re
from collections.abc import Sequence
from typing import Any, Final

from daemon.core.errors import FieldError, Refusal
from daemon.core.limits import DEAD_LETTERS_AT_ONCE, NOTES_CHARACTERS_MAX
from daemon.core.webhooks.diagnosis import diagnose
from daemon.core.webhooks.endpoint_json import PaymentSummary
from daemon.dash.pages.webhooks import common
from daemon.dash.parts.listing import Choice, ask
from daemon.dash.web.visit import Goto, Outcome, Shown, Visit
from daemon.flows.webhooks import dismiss as dismiss_flow
from daemon.flows.webhooks import redeliver as flow
from daemon.store.engine import Reader
from daemon.store.webhooks import dead_letters
from daemon.store.webhooks.dead_letters import DeadLetterCause, DeadLetterGroup, Found
from daemon.wire import ErrorCode, Mode

HERE: Final = "/dash/dead-letters"
MARK: Final = "letter."
"""A marked dead letter is the field `letter.<id>`."""
_KIND: Final = re.compile(r"([a-z0-9_]{1,40})~([a-z_]{0,40})~([0-9]{1,3})~([01])", re.ASCII)
_MODE: Final = (Choice("mode", tuple(Mode), Mode.LIVE),)


async def show_list(visit: Visit) -> Shown:
    """Show one card for each fault: the cause, the repair, the number of dead letters, and since when."""
    asked = ask(visit, _MODE)
    mode = Mode(asked.chosen["mode"])
    found = await visit.env.store.read(lambda reader: dead_letters.groups(reader, mode))
    values = {
        "groups": [_card(visit, group) for group in found],
        "total": sum(group.count for group in found),
        "mode": mode,
        "command": "momo dead-letters list" + (" --sandbox" if mode is Mode.TEST else ""),
    }
    return Shown("webhooks/dead_letters.html", values)


def _card(visit: Visit, group: DeadLetterGroup) -> dict[str, Any]:
    found = diagnose(group.newest, group.endpoint)
    status = group.newest.last_status_code
    return {
        "group": group,
        "name": common.name_of(group.endpoint),
        "href": address_of(group.kind),
        "means": common.cause_words(visit, "cause", found.cause),
        "mend": common.cause_words(visit, "mend", found.cause),
        "answered": "" if status is None else visit.words("hook_answered", status=status),
        "diagnosis": found.text,
        "can": group.endpoint.deleted_at is None,
    }


def address_of(kind: DeadLetterCause) -> str:
    """Return the address of the page of one fault."""
    text = f"{kind.reason}~{kind.error_code}~{kind.status_code}~{int(kind.clock)}"
    return f"{HERE}/of/{kind.endpoint_id}/{text}"


def _kind_of(visit: Visit) -> DeadLetterCause:
    match = _KIND.fullmatch(visit.places["kind"])
    if match is None:
        raise Refusal(ErrorCode.DEAD_LETTER_NOT_FOUND)
    return DeadLetterCause(visit.places["id"], match[1], match[2], int(match[3]), match[4] == "1")


async def show_kind(visit: Visit) -> Shown:
    """Show the dead letters of one fault, at most 100 on a page, each to be marked."""
    return await _show_kind(visit, 200)


async def _show_kind(visit: Visit, status: int) -> Shown:
    kind = _kind_of(visit)
    given = visit.query.get("after", "")
    after = int(given) if given.isascii() and given.isdigit() and len(given) < 19 else 0
    found, total = await visit.env.store.read(
        lambda reader: dead_letters.of_kind(
            reader, kind, after=after, limit=DEAD_LETTERS_AT_ONCE + 1
        )
    )
    page = found[:DEAD_LETTERS_AT_ONCE]
    endpoint = page[0][2] if page else None
    cause = "" if endpoint is None else diagnose(page[-1][0], endpoint).cause
    values = {
        "rows": [
            (letter, delivery, _money(visit, letter, delivery, target, body))
            for letter, delivery, target, body in page
        ],
        "total": total,
        "endpoint": endpoint,
        "name": "" if endpoint is None else common.name_of(endpoint),
        "means": common.cause_words(visit, "cause", cause) if cause else "",
        "mend": common.cause_words(visit, "mend", cause) if cause else "",
        "here": address_of(kind),
        "older": f"{address_of(kind)}?after={page[-1][0].seq}"
        if len(found) > DEAD_LETTERS_AT_ONCE
        else "",
        "can": endpoint is not None and endpoint.deleted_at is None,
        "command": f"momo dead-letters list --endpoint {kind.endpoint_id}",
    }
    return Shown("webhooks/dead_kind.html", values, visit.words("dead_letters"), status=status)


def _money(visit: Visit, *found: Any) -> str:
    payment = PaymentSummary.of(found[3])
    if not payment.amount:
        return ""
    return visit.money_text(payment.amount, payment.currency or "GHS")


async def replay_kind(visit: Visit) -> Goto:
    """Send all dead letters of one fault again, 100 in one transaction; live payments go between."""
    common.needs_open_collections(visit)
    kind = _kind_of(visit)
    after, sent = 0, 0
    while True:
        found = await visit.env.store.read(functools.partial(_next, kind=kind, after=after))
        if not found:
            break
        sent += await _replay(visit, [letter.id for letter, *_ in found])
        after = found[-1][0].seq
        await visit.env.yield_to_live()
    return Goto(HERE, "said_letters_sent" if sent else "said_no_letters_sent")


def _next(reader: Reader, kind: DeadLetterCause, after: int) -> list[Found]:
    return dead_letters.of_kind(reader, kind, after=after, limit=DEAD_LETTERS_AT_ONCE)[0]


async def replay_marked(visit: Visit) -> Outcome:
    """Send the marked dead letters again, at most 100."""
    common.needs_open_collections(visit)
    marked = [name.removeprefix(MARK) for name in visit.form if name.startswith(MARK)]
    if not marked or len(marked) > DEAD_LETTERS_AT_ONCE:
        key = "mark_some" if not marked else "mark_fewer"
        visit.fail(FieldError("", "marked", visit.words(key)))
        return await _show_kind(visit, 422)
    sent = await _replay(visit, marked)
    return Goto(
        address_of(_kind_of(visit)), "said_letters_sent" if sent else "said_no_letters_sent"
    )


async def _replay(visit: Visit, ids: Sequence[str]) -> int:
    # The form's own key stands for all calls of it: each letter that was sent again is refused the second time.
    asked = [(one, one) for one in ids]
    return len((await flow.replay_dead_letters(visit.env, visit.caller, asked)).done)


async def show_one(visit: Visit) -> Shown:
    """Show one dead letter."""
    return await _show_one(visit, 200)


async def _show_one(visit: Visit, status: int) -> Shown:
    letter_id = visit.places["id"]
    found = await visit.env.store.read(lambda reader: dead_letters.one(reader, letter_id))
    if found is None:
        raise Refusal(ErrorCode.DEAD_LETTER_NOT_FOUND)
    letter, delivery, endpoint, body = found
    why = diagnose(letter, endpoint)
    is_open = letter.replayed_at is None and letter.resolved_at is None
    values = {
        "one": letter,
        "delivery": delivery,
        "endpoint": endpoint,
        "name": common.name_of(endpoint),
        "means": common.cause_words(visit, "cause", why.cause),
        "mend": common.cause_words(visit, "mend", why.cause),
        "answered": common.answer_of(visit, letter.last_status_code, letter.error_code),
        "diagnosis": why.text,
        "money": _money(visit, letter, delivery, endpoint, body),
        "tones": common.TONES,
        "open": is_open and letter.dismissed_at is None,
        "again": is_open and common.may_be_sent_again(delivery, endpoint),
        "notes_max": NOTES_CHARACTERS_MAX,
        "command": f"momo dead-letters show {letter.id}",
    }
    return Shown("webhooks/dead_letter.html", values, visit.words("dead_letter"), status=status)


async def replay_one(visit: Visit) -> Goto:
    """Send one dead letter again."""
    common.needs_open_collections(visit)

    def place(found: dead_letters.Found) -> Goto:
        _letter, delivery, endpoint, _body = found
        return common.sent_again(delivery, endpoint)

    keep = visit.keep(place)
    return place(await flow.replay_dead_letter(visit.env, visit.caller, visit.places["id"], keep))


async def dismiss(visit: Visit) -> Outcome:
    """Close one dead letter with a note."""
    notes = common.read_text(visit, "notes", NOTES_CHARACTERS_MAX, required=True)
    if visit.errors:
        return await _show_one(visit, 422)
    letter_id = visit.places["id"]
    place = Goto(f"{HERE}/{letter_id}", "said_letter_dismissed")
    keep = visit.keep(lambda _: place)
    await dismiss_flow.dismiss(visit.env, visit.caller, letter_id, notes, keep)
    return place
