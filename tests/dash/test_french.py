"""The dashboard in French: every page of a shop with rows of every kind, without an English sentence.

Names for machines stay: ids, types of events, commands, settings. They stand in `<code>`, as the text of an SMS in its own
element. A sentence of the program without words in French is marked as English (`lang="en"`), for a screen reader.
"""

import ast
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import product
from typing import Any

import pytest

from daemon.core import journal_text
from daemon.core.errors import FieldError, invalid
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.payments import timeline
from daemon.core.payments.suggestions import SuggestionReason
from daemon.core.upkeep.notice_rules import RULES
from daemon.dash.web.words import load
from daemon.error_table import ERRORS
from daemon.runtime.config import Config, sections
from daemon.store import journal
from daemon.store.engine import Tx
from daemon.wire import ErrorCode, Mode, ReviewReason, Role, SettlementKind
from tests.dash import places
from tests.dash.forms import FORMS
from tests.dash.test_core_sentences import french
from tests.dash.test_lines import plug_in
from tests.dash.test_tables import SHOWN
from tests.fakes import rows
from tests.fakes.api import FakeApi
from tests.fakes.dash import PASSWORD, Person, log_in
from tests.fakes.orders import EXTRA, STATES, Orders
from tests.fakes.reviews import forge
from tests.house.markdown import ROOT

ENGLISH = re.compile(
    r"\b(the|is|are|was|were|been|being|has|have|had|of|and|or|not|with|without|this|that|these|from|will|be|by|an|its|"
    r"your|for|which|there|every|than|when|where|who|why|how|what|cannot|does|did|done|to|at|it|in|into|then|nothing|"
    r"until|since|more|less|last|first|new|old|waiting|paid|missing|unknown|failed|pending)\b",
    re.IGNORECASE,
)
"""Words that a sentence in English has, and French has not."""
MACHINE = re.compile(r"\S+[._:/=]\w\S*|\[\w+\]|\b[A-Z]{2,}\b")
"""Names for machines in a line of text, such as `smtp.to`, and of networks."""
QUIET = {"code", "pre", "script", "style", "kbd", "textarea", "time"}
"""Elements with the text of a machine, or of a network."""


class Shown(HTMLParser):
    """Collect the text of a page that a person reads."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._open: list[bool] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        quiet = tag in QUIET or given.get("lang") == "en" or "sms" in (given.get("class") or "")
        if not quiet and not any(self._open):
            named = ("title", "aria-label", "placeholder", "alt")
            self.texts += [given[name] or "" for name in named if name in given]
        if tag not in {"input", "meta", "link", "br", "img", "hr", "path", "rect", "line", "source"}:
            self._open.append(quiet)

    def handle_endtag(self, _tag: str) -> None:
        if self._open:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not any(self._open) and data.strip():
            self.texts.append(" ".join(data.split()))


def english_in(html: str) -> list[str]:
    """Return the texts of a page that have a word in English."""
    shown = Shown()
    shown.feed(html)
    return [text for text in shown.texts if ENGLISH.search(MACHINE.sub("", text))]


def test_a_sentence_in_english_is_found_and_a_machines_is_not() -> None:
    page = '<p title="The order">Bon</p><code>the log</code><br>Il est là'
    assert english_in(page) == ["The order"]
    assert english_in("<p>La commande <br>of <b>x</b></p>") == ["of"]
    assert english_in("<p><code>is</code> <span lang='en'>it is</span> payé</p>") == []


# Sentences of the program


def event_types() -> set[str]:
    """Return the types of the entries that the program writes to the journal."""
    found = set(RULES) | {f"notice.{kind}" for kind in journal_text.NOTICES}
    found |= {kind for kind in timeline._SENTENCES if "." in kind}
    for path in (ROOT / "daemon").rglob("*.py"):
        source = path.read_text("utf-8")
        if "journal.add(" in source:
            nodes = list(ast.walk(ast.parse(source)))
            keys = {
                ast.dump(one.args[0]) for one in nodes if isinstance(one, ast.Call) and ast.unparse(one.func) == "Text"
            }
            constants = (one for one in nodes if isinstance(one, ast.Constant) and ast.dump(one) not in keys)
            texts = {one.value for one in constants if isinstance(one.value, str)}
            found |= {one for one in texts if re.fullmatch(r"[a-z_]{3,}\.[a-z_]+", one)}
    return found - {
        f"{section}.{one}" for section in sections() for one in getattr(Config(), section).__struct_fields__
    }


def test_each_type_of_the_journal_has_words_and_no_words_are_of_none() -> None:
    types = event_types()
    assert len(types) > 140
    words = {key for key in load("en") if key.startswith("event_")}
    assert {f"event_{kind.replace('.', '_')}" for kind in types} <= words


MONEY = {"currency": "GHS", "gap_minor": 700, "amount_minor": 700, "smsc": "+233200000000"}
HUB = {"branch": "kumasi", "fact": "order", "why": "CMS", "telco_transaction_id": "93214500001"}
NOTICE = {**MONEY, **HUB}
FACTS: dict[str, list[dict[str, Any]]] = {
    "transaction.created": [{"currency": "GHS", "expected_minor": 2500}],
    "transaction.verified": [
        {"matched_by": matched, "status": status, "late": late, "payer_known_by": known}
        for matched, status, late, known in product(
            sorted(timeline._MATCHED), ("SUCCESS", "PARTIAL", "OVERPAID"), (False, True), ("", *sorted(timeline._KNOWN))
        )
    ],
    "transaction.reconciled": [{"reconciliation_id": "rec_1"}],
    "transaction.cancelled": [{}, {"reason": "deux fois"}],
    "transaction.settled": [{"kind": str(kind), "amount_minor": 500, "currency": "GHS"} for kind in SettlementKind],
    "transaction.settlement_taken_back": [{}],
    "transaction.payment_claimed": [{"transaction_id": "93214500001"}],
    "review.opened": [{"reason": str(reason)} for reason in ReviewReason],
    "review.approved": [{}, {"notes": "vu"}],
    "review.rejected": [{}, {"notes": "vu"}],
    "review.taken_back": [{"decision": one, "decided_by": "user:ama"} for one in ("approved", "rejected")],
    "suggestion.accepted": [{"reasons": [str(one), *more]} for one in SuggestionReason for more in ([], ["amount"])],
    "payment.walk_in": [{}, {"rejected": True}, {"historical": True}],
    "payer.approved": [{}, {"name": "KOFI", "phone_number": "+233241234567"}],
    "payer.revoked": [{}, {"name": "KOFI", "phone_number": "+233241234567"}],
    **{f"sms.{kind}": [{"kind": text} for text in ("", *timeline._SMS)] for kind in ("queued", "sent", "delivered")},
    **{
        f"sms.{kind}": [{"kind": text, "why": why} for text in timeline._SMS for why in ("", "CMS")]
        for kind in ("failed", "unknown", "expired", "undelivered")
    },
    **{f"delivery.{kind}": [{"event": "transaction.completed"}] for kind in ("delivered", "failed", "requeued")},
    **{
        f"notice.{kind}": [{}, NOTICE, {**NOTICE, "gap_minor": -700, "original_telco_id": "932145"}]
        for kind in journal_text.NOTICES
    },
}
"""Facts of each kind of entry in an order's journal, so that each of its sentences is made; a kind without a row has none."""


def entries() -> Iterator[tuple[str, dict[str, Any]]]:
    for kind in dict.fromkeys((*timeline._SENTENCES, *FACTS)):
        for facts in FACTS.get(kind, [{}]):
            yield kind, facts


ENTRIES = list(entries())


def test_each_sentence_of_an_orders_journal_is_told_in_french() -> None:
    payment = rows.payment(payer_name="KOFI BADU", telco_transaction_id="93214500001")
    told, left = french().told, set()
    for kind, facts in ENTRIES:
        for one in (payment, None):
            sentence = told(timeline.entry_text(kind, facts, one))
            left |= {sentence} if ENGLISH.search(sentence) else set()
    assert left == set()


API_ONLY = {
    ErrorCode.MALFORMED_REQUEST, ErrorCode.INVALID_JSON, ErrorCode.UNAUTHORIZED,
    ErrorCode.INSUFFICIENT_SCOPE, ErrorCode.SECRET_KEY_REQUIRED, ErrorCode.LIVE_KEY_REQUIRED,
    ErrorCode.APPROVED_PAYER_NOT_FOUND, ErrorCode.NOTICE_NOT_FOUND, ErrorCode.UNSUPPORTED_MEDIA_TYPE,
    ErrorCode.HEADERS_TOO_LARGE, ErrorCode.NO_CHECKOUT_PAGE, ErrorCode.NOT_A_HUB, ErrorCode.NOT_A_BRANCH,
    ErrorCode.BRANCH_EXISTS, ErrorCode.BRANCH_DISPUTED, ErrorCode.BRANCH_STALE,
    ErrorCode.INVITATION_INVALID, ErrorCode.HUB_REFUSED, ErrorCode.PAYER_STILL_OPEN,
    ErrorCode.AMOUNT_MISMATCH, ErrorCode.REPLAY_WINDOW_TOO_LARGE, ErrorCode.IDEMPOTENCY_KEY_CONFLICT,
    ErrorCode.IDEMPOTENCY_KEY_INVALID,
}  # fmt: skip
"""Errors that no page of the dashboard can meet."""


def test_each_error_that_a_page_can_meet_has_words() -> None:
    words = load("fr")
    for code in set(ERRORS) - API_ONLY:
        assert f"error_{code.lower()}" in words, code


# The pages


async def every_row(api: FakeApi) -> dict[str, str]:
    """Make rows of every kind; return the addresses of `places`."""
    await api.shop.begin_chain()
    known = await places.paths(api)
    orders = Orders(api.shop)
    for state in STATES:
        await orders.make(state, description="riz", **EXTRA.get(state, {}))
    await forge(api.shop, "riz")
    now = api.shop.clock.now_us()
    order = await orders.make("waiting")
    kinds = sorted(event_types() - {kind for kind, _ in ENTRIES})

    def write(tx: Tx) -> None:
        tx.run("UPDATE endpoints SET url = 'https://shop.example/', description = 'caisse'")
        tx.run("UPDATE rules SET name = 'gros'")
        for kind in kinds:
            data = {"why": "xyz", "name": "caisse", "count": 1}
            journal.add(tx, kind, now, actor="user:owner", data=data)
        for kind, facts in ENTRIES:
            journal.add(tx, kind, now, order, actor="user:owner", mode=Mode.LIVE, data=facts)

    await api.shop.env.store.write(write)
    plug_in(api, registration="denied", receives=False, signal=1)
    api.phones.append(ModemHealth("/dev/ttyUSB7", "hung"))
    return {**known, "order": f"/dash/transactions/{order.reference}"}


LISTS = {
    "/dash/payments": ("state=unmatched", "search=zzz", "sort=largest"),
    "/dash/transactions": ("state=paid", "state=expired", "search=zzz"),
    "/dash/reviews": ("decided=open", "search=zzz"),
    "/dash/journal": ("who=everybody", "thing=money&who=everybody", "thing=upkeep", "search=zzz"),
    "/dash/day": ("group=day", "group=payer", "from=2999-01-01"),
    "/dash/deliveries": ("delivery=failed", "search=zzz"),
    "/dash/messages": ("message=held", "message=unparsed", "search=zzz"),
    "/dash/routes": ("of=zzz",),
    "/dash/replay": (f"endpoint={places.ENDPOINT}&from=2026-11-01T00:00&to=2026-11-22T00:00",),
    "/dash/login": ("said=said_link_over",),
}


async def in_french(api: FakeApi, role: Role = Role.OWNER) -> Person:
    person = await log_in(api, role)
    await person.post("/dash/account/language", {"language": "fr"})
    return person


@pytest.mark.parametrize("role", [Role.OWNER, Role.CASHIER])
async def test_no_page_has_a_sentence_in_english(api: FakeApi, role: Role) -> None:
    known = await every_row(api)
    person = await in_french(api, role)
    left: dict[str, list[str]] = {}

    async def look(path: str) -> None:
        page = await person.client.get(path, follow_redirects=True)
        if found := english_in(page.text):
            left[path] = found

    for page in SHOWN:
        await look(places.filled(page.path, known))
    for path, queries in LISTS.items():
        for query in queries:
            await look(f"{path}?{query}")
    for state in await api.shop.values("SELECT id FROM transactions"):
        await look(f"/dash/transactions/{state}")
    for payment in await api.shop.values("SELECT id FROM payments"):
        await look(f"/dash/payments/{payment}")
    for review in await api.shop.values("SELECT id FROM reviews"):
        await look(f"/dash/review/{review}")
    for message in await api.shop.values("SELECT id FROM messages"):
        await look(f"/dash/messages/{message}")
    await look(known["order"])
    await look("/dash/nowhere")
    assert left == {}, json.dumps(left, indent=1, ensure_ascii=False)


@pytest.mark.parametrize("path", FORMS)
async def test_no_refused_form_answers_in_english(api: FakeApi, path: str) -> None:
    person = await in_french(api)
    known = await line_and_endpoint(api)
    address = path.format(**{name: known.get(path, places.NOWHERE) for name in PLACES})
    for fields in ({}, dict.fromkeys(FORMS[path][1], "é") | {"confirm_password": PASSWORD}):
        answer = await person.post(address, fields)
        if answer.status_code != 303:
            assert english_in(answer.text) == [], address


async def test_an_error_of_a_field_without_words_is_marked_as_english(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_given: object) -> None:
        raise invalid([FieldError("name", "invalid", "is the name of <another> user")])

    monkeypatch.setattr("daemon.flows.access.users.add", refuse)
    person = await in_french(api)
    fields = {"name": "esi", "role": "viewer", "confirm_password": PASSWORD}
    page = (await person.post("/dash/users", fields)).text
    assert '<span lang="en">is the name of &lt;another&gt; user</span>' in page


PLACES = ("id", "rule", "kind")


async def line_and_endpoint(api: FakeApi) -> dict[str, str]:
    """Return the ids of the rows that most forms are about."""
    ids = await places.paths(api)
    return {path: ids[of].split("/")[3] for path in FORMS for of in ids if path.startswith(f"{of}/") or path == of}


async def test_french_money_has_a_comma_and_the_currency_behind(api: FakeApi) -> None:
    orders = Orders(api.shop)
    order = await orders.make("waiting", amount_minor=120_947)
    await orders.pay(order, 120_947)
    person = await log_in(api, Role.OWNER)
    await person.post("/dash/account/language", {"language": "fr"})
    for path in ("/dash", "/dash/payments", "/dash/day", f"/dash/transactions/{order.reference}"):
        text = (await person.get(path)).text
        assert "1\N{NO-BREAK SPACE}209,47\N{NO-BREAK SPACE}GHS" in text, path
        assert "1,209.47" not in text, path
    # A file for programs is the same in every language.
    assert ",1209.47,GHS," in (await person.get("/dash/payments?as=csv")).text


async def test_the_timeline_writes_amounts_as_the_language_does(api: FakeApi) -> None:
    person = await log_in(api, Role.OWNER)
    order = await Orders(api.shop).make("short")
    page = f"/dash/transactions/{order.reference}"
    assert "Asked for GHS\xa025.00." in (await person.get(page)).text
    await person.post("/dash/account/language", {"language": "fr"})
    french = (await person.get(page)).text
    assert "Demandé : 25,00\xa0GHS." in french
    assert "GHS 2" not in french
