"""The payments of a time window that an endpoint has not received: count them, list them, send them, see how far it is."""

from collections import Counter
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from daemon.core.books import day_sheet
from daemon.core.errors import needed
from daemon.core.json_values import timestamp
from daemon.core.limits import DAY_US
from daemon.core.webhooks.endpoint import Endpoint
from daemon.core.webhooks.replay import PAYMENTS_MAX, SENT, SKIPPED, WINDOW_US_MAX, ReplayDecision
from daemon.dash.pages.webhooks import common
from daemon.dash.web.visit import Goto, Outcome, Shown, Visit
from daemon.flows.webhooks import replay as flow
from daemon.flows.webhooks.replay import ReplayRequest
from daemon.store.engine import Reader
from daemon.store.webhooks import endpoints
from daemon.store.webhooks.replay import Candidate, Window, fates
from daemon.wire import ErrorCode
from parsers.times import to_us

HERE: Final = "/dash/replay"
LISTED_MAX: Final = 50
_MISSING: Final = frozenset({*SENT, ReplayDecision.IN_FLIGHT})


async def show(visit: Visit) -> Shown:
    """Show the form; with a window, also its plan and the progress of an earlier start."""
    texts, asked = _read(visit)

    def read(reader: Reader) -> tuple[list[Endpoint], dict[str, Any] | None]:
        return endpoints.in_use(reader, visit.mode), None if asked is None else _gap(reader, asked)

    found, gap = await visit.env.store.read(read)
    # The fields begin with the window from the start of yesterday until now.
    local, yesterday = visit.words.local(visit.now), visit.words.local(visit.now - DAY_US)
    window = {"from": f"{yesterday:%Y-%m-%d}T00:00", "to": f"{local:%Y-%m-%dT%H:%M}"}
    command = "momo replay --endpoint NAME --from today --to now --dry-run"
    if asked is not None:
        times = f"--from {timestamp(asked.since)} --to {timestamp(asked.until)}"
        command = f"momo replay --endpoint {asked.endpoint_id} {times}"
    counts: Counter[ReplayDecision] = Counter() if gap is None else gap["counts"]
    values = {
        "endpoints": [(one, common.name_of(one)) for one in found],
        "texts": {"endpoint": "", **window, **{name: one for name, one in texts.items() if one}},
        "gap": gap,
        "will_go": sum(counts[each] for each in SENT),
        "on_the_way": counts[ReplayDecision.IN_FLIGHT],
        "there": counts[ReplayDecision.DELIVERED],
        "skipped": [
            (each, counts[each])
            for each in SKIPPED
            if counts[each] and each not in (ReplayDecision.DELIVERED, ReplayDecision.IN_FLIGHT)
        ],
        "most": PAYMENTS_MAX,
        "listed_max": LISTED_MAX,
        "command": command,
    }
    return Shown("webhooks/replay.html", values, visit.words("replay"))


async def start(visit: Visit) -> Outcome:
    """Queue the payments of the window that the endpoint lacks, at most 1000."""
    common.needs_open_collections(visit)
    texts, asked = _read(visit)
    visit.check()
    if asked is None:
        visit.wrong("", "replay_needs")

    def place(done: flow.Replayed) -> Goto:
        said = "said_replay_started" if done.enqueued else "said_replay_nothing"
        if done.cursor is not None:
            said = "said_replay_more"
        return Goto(f"{HERE}?{urlencode(texts)}", said)

    return await visit.kept(place, lambda keep: flow.replay(visit.env, visit.caller, asked, keep))


def _read(visit: Visit) -> tuple[dict[str, str], ReplayRequest | None]:
    """Return the fields of the form or the address as they were given, and the window; None if something is missing or wrong."""
    fields = visit.form or visit.query
    texts = {name: fields.get(name, "") for name in ("endpoint", "from", "to")}
    texts |= {name: "1" for name in ("historical", "no_failed") if fields.get(name)}
    since, until = _moment(visit, texts, "from"), _moment(visit, texts, "to")
    if since is None or until is None or not texts["endpoint"]:
        return texts, None
    if since >= until:
        visit.fail("to", "replay_backwards")
    elif until - since > WINDOW_US_MAX:
        visit.fail("to", "replay_too_long")
    else:
        return texts, ReplayRequest(
            texts["endpoint"],
            since,
            until,
            include_failed="no_failed" not in texts,
            include_historical="historical" in texts,
        )
    return texts, None


def _moment(visit: Visit, texts: dict[str, str], name: str) -> int | None:
    """Return the time of a field in microseconds, by default in the shop's zone; a day as the end is included."""
    text, zone = texts[name], visit.words.zone
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
        if name == "to" and "T" not in text:
            return day_sheet.day(at.date(), zone)[1]
        return to_us(at if at.tzinfo else at.replace(tzinfo=zone))
    except (ValueError, OverflowError):
        visit.fail(name, "replay_no_time")
        return None


def _gap(reader: Reader, asked: ReplayRequest) -> dict[str, Any]:
    """Return the payments of a window from the view of the endpoint: how many of each decision, and the first that it lacks."""
    endpoint = needed(endpoints.get(reader, asked.endpoint_id), ErrorCode.ENDPOINT_NOT_FOUND)
    counts: Counter[ReplayDecision] = Counter()
    missing: list[tuple[Candidate, ReplayDecision]] = []
    # `more`: the window has more than one start sends, and was looked at that far.
    found = {"endpoint": endpoint, "counts": counts, "missing": missing, "more": False}
    for _seq, candidate, what in fates(
        reader,
        Window(endpoint, asked.since, asked.until),
        include_failed=asked.include_failed,
        include_historical=asked.include_historical,
    ):
        if sum(counts[each] for each in SENT) >= PAYMENTS_MAX:
            return {**found, "more": True}
        counts[what] += 1
        if candidate is not None and what in _MISSING and len(missing) < LISTED_MAX:
            missing.append((candidate, what))
    return found
