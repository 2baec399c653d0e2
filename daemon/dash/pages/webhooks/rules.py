"""The routing rules of an endpoint: add, change, remove, and try one on a payment before it is saved; and explain a payment.

A rule's filter is shown as rows of a form, `field, operator, value` joined by AND, as most filters are. Others stay JSON.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from daemon.core.errors import needed
from daemon.core.ids import split_reference
from daemon.core.model import Payment, Rule, Transaction
from daemon.core.reading import read_uuid
from daemon.core.shape import flat
from daemon.core.webhooks.endpoint import Endpoint
from daemon.core.webhooks.routing import claims
from daemon.core.webhooks.rule_fields import FIELDS, PaymentFacts
from daemon.core.webhooks.rule_json import Routed, RoutingAnswer, RuleTrialAnswer
from daemon.core.webhooks.rules import OPERATORS, read_filter
from daemon.dash.pages.webhooks import common
from daemon.dash.pages.webhooks.common import endpoint_of, name_of, read_text
from daemon.dash.web.visit import FormWrong, Goto, Outcome, Shown, Visit
from daemon.flows.webhooks import rules as flow
from daemon.flows.webhooks.rules import RuleChange, explanation
from daemon.store.engine import Reader
from daemon.store.payments import payment_list, transaction_list
from daemon.store.payments.payment_list import PaymentFilter
from daemon.store.payments.transaction_list import TransactionFilter
from daemon.store.webhooks import routing
from daemon.wire import ErrorCode
from parsers.pasted import plain_amount

HERE: Final = "/dash/webhooks"
TRIED_MAX: Final = 20
"""The latest payments that a rule can be tried on."""
POSITION_MAX: Final = 1_000_000
GIVEN_MAX: Final = 100
EXAMPLE: Final = '{"amount": {"$gte": "50.00"}}'


async def show_new(visit: Visit) -> Shown:
    """Show the form of a new rule."""
    return await _form(visit, await endpoint_of(visit), None)


async def show_one(visit: Visit) -> Shown:
    """Show the form with the values of a rule."""
    return await _form(visit, *await _found(visit))


async def create(visit: Visit) -> Outcome:
    """Add a rule, or with the button `try` show its effect."""
    return await _save(visit, await endpoint_of(visit), None)


async def change(visit: Visit) -> Outcome:
    """Change a rule, or with the button `try` show the effect of the change."""
    endpoint, rule = await _found(visit)
    return await _save(visit, endpoint, rule)


async def remove(visit: Visit) -> Goto:
    """Remove a rule."""
    common.needs_open_collections(visit)
    endpoint_id = visit.places["id"]
    await flow.delete(visit.env, visit.caller, endpoint_id, visit.places["rule"])
    return Goto(f"{HERE}/{endpoint_id}", "said_rule_removed")


async def _found(visit: Visit) -> tuple[Endpoint, Rule]:
    endpoint, rule_id = await endpoint_of(visit), visit.places["rule"]
    rule = needed(
        await visit.env.store.read(lambda reader: routing.get_rule(reader, endpoint.id, rule_id)),
        ErrorCode.RULE_NOT_FOUND,
    )
    return endpoint, rule


def _typed(visit: Visit) -> dict[str, Any]:
    """Return the fields of the form as they were typed; rows are joined to a filter."""
    typed = visit.form.get("filter")
    rows = read_rows(visit.form) if typed is None else None
    if rows is not None:
        typed = json.dumps(filter_of(rows), ensure_ascii=False)
    return {
        "name": read_text(visit, "name"),
        "filter": typed,
        "rows": rows,
        "enabled": bool(visit.form.get("enabled")),
        "position": read_text(visit, "position", 7),
    }


async def _save(visit: Visit, endpoint: Endpoint, rule: Rule | None) -> Outcome:
    common.needs_open_collections(visit)
    values = _typed(visit)
    position = _position(visit, values["position"])
    text = _filter(visit, values["filter"])
    if visit.form.get("do") == "try" or visit.errors or text is None:
        raise FormWrong
    new = RuleChange(values["name"], position, values["enabled"], text)
    if rule is not None:
        await flow.update(visit.env, visit.caller, endpoint.id, rule.id, new)
        return Goto(f"{HERE}/{endpoint.id}", "said_rule_changed")
    place = Goto(f"{HERE}/{endpoint.id}", "said_rule_added")
    with visit.shows(ErrorCode.VALIDATION_ERROR, key="rule_too_many"):
        return await visit.kept(place, lambda keep: flow.create(visit.env, visit.caller, endpoint.id, new, keep))


def _position(visit: Visit, text: str) -> int | None:
    if not text:
        return None
    if text.isascii() and text.isdigit() and int(text) <= POSITION_MAX:
        return int(text)
    visit.fail("position", "rule_position_wrong")
    return None


def _filter(visit: Visit, text: str) -> str | None:
    """Return the filter as compact JSON; None if it is wrong, with every error noted."""
    try:
        given = json.loads(text, parse_float=str)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        visit.fail("filter", "rule_no_json")
        return None
    compact = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
    try:
        found = read_filter(compact)
    except (UnicodeEncodeError, RecursionError):
        visit.fail("filter", "rule_no_json")
        return None
    if isinstance(found, list):
        all_wrong = "; ".join(f"{error.field}: {error.message}" for error in found)
        visit.errors["filter"] = visit.cite(all_wrong)
        return None
    return compact


async def _form(visit: Visit, endpoint: Endpoint, rule: Rule | None) -> Shown:
    tried: str | None = None
    if visit.form:
        values = _typed(visit)
        if visit.form.get("do") == "try":
            tried = _filter(visit, values["filter"])
    elif rule is None:
        values = {"name": "", "filter": EXAMPLE, "enabled": True, "position": ""}
    else:
        text = json.dumps(json.loads(rule.filter), indent=2, ensure_ascii=False)
        enabled, position = rule.enabled, str(rule.position)
        values = {"name": rule.name, "filter": text, "enabled": enabled, "position": position}
    wanted = PaymentFilter(mode=endpoint.mode)
    payment_id = visit.form.get("payment", "")

    def read(reader: Reader) -> tuple[list[tuple[Payment, Transaction]], dict[str, Any] | None]:
        found, _more = payment_list.listed(reader, wanted, limit=TRIED_MAX)
        latest = [(one.payment, one.transaction) for one in found if one.transaction is not None]
        for payment, transaction in latest:
            if tried is not None and payment.id == payment_id:
                return latest, _trial(reader, endpoint, transaction, payment, tried)
        return latest, None

    latest, trial = await visit.env.store.read(read)
    if "rows" not in values:
        as_json = visit.query.get("as") == "json"
        values["rows"] = None if as_json else rows_of(json.loads(values["filter"]))
    shown = {
        "one": endpoint, "name": name_of(endpoint), "rule": rule, "values": values, "latest": latest,
        "payment_id": payment_id, "trial": trial, "fields": FIELDS, "operators": OPERATORS, "choices": CHOICES,
        "example": EXAMPLE,
    }  # fmt: skip
    title = visit.words("rule_new" if rule is None else "rule_edit")
    return Shown("webhooks/rule.html", shown, title)


def _trial(reader: Reader, endpoint: Endpoint, transaction: Transaction, payment: Payment, text: str) -> dict[str, Any]:
    """Return the result of an unsaved filter for a payment, and the receivers by the saved rules."""
    facts = PaymentFacts(transaction, payment, routing.method_of(reader, payment))
    receivers = routing.receivers(reader, endpoint.mode)
    chosen = claims(receivers, facts, placed=payment.placed)
    return {**flat(RuleTrialAnswer.of(text, facts)), **flat(Routed.of(receivers, facts, chosen, placed=payment.placed))}


async def show_route(visit: Visit) -> Shown:
    """Show the field, and with `of` (reference, order or payment) the explanation."""
    given = visit.query.get("of", "").strip()[:GIVEN_MAX]
    found = await visit.env.store.read(lambda reader: _explanation(reader, given, visit.now)) if given else None
    if given and found is None:
        visit.fail("of", "route_not_found")
    values = {
        "given": given,
        "found": found,
        "command": f"momo tx routes {found.reference}" if found is not None else "momo tx routes REFERENCE",
    }
    return Shown("webhooks/route.html", values, visit.words("route"))


def _explanation(reader: Reader, given: str, now: int) -> RoutingAnswer | None:
    wanted = split_reference(given) or read_uuid(given)
    if wanted is None:
        # A code or a network's ID.
        search = TransactionFilter(origin="all", search=given)
        found, _ = transaction_list.transactions(reader, search, now=now, limit=2, offset=0)
        if len(found) != 1:
            return None
        wanted = found[0][0].id
    of_order = explanation(reader, wanted, None)
    if of_order is not None:
        return of_order
    about = payment_list.one(reader, wanted)
    if about is None or about.transaction is None:
        return None
    return explanation(reader, about.transaction.id, None)


ROWS: Final = 6
CHARACTERS_MAX: Final = 200
CHOICES: Final = tuple(each for each in OPERATORS if each not in ("$and", "$or", "$not"))
_LISTS: Final = ("$in", "$nin")
_EXIST: Final = "$exist"


class FilterRow(Struct, frozen=True):
    """One comparison; all three are text as it is typed, empty in a row that is not used."""

    field: str = ""
    operator: str = CHOICES[0]
    value: str = ""


def rows_of(given: Any) -> list[FilterRow] | None:
    """Return the rows of a filter, and empty ones after them; None if rows cannot say it."""
    if not isinstance(given, dict):
        return None
    rest = given.get("$and", [])
    parts = [{name: each} for name, each in given.items() if name != "$and"]
    if not isinstance(rest, list) or not all(isinstance(each, dict) for each in rest):
        return None
    found: list[FilterRow] = []
    for part in [*parts, *rest]:
        for name, wanted in part.items():
            conditions = wanted if isinstance(wanted, dict) else {"$eq": wanted}
            for operator, value in conditions.items():
                text = _text(operator, value)
                if name.startswith("$") or operator not in CHOICES or text is None:
                    return None
                found.append(FilterRow(name, operator, text))
    if len(found) > ROWS:
        return None
    return [*found, *[FilterRow()] * (ROWS - len(found))]


def filter_of(rows: Sequence[FilterRow]) -> dict[str, Any]:
    """Return the filter of rows; rows without a field are left out."""
    found: dict[str, Any] = {}
    rest: list[dict[str, Any]] = []
    for row in rows:
        if not row.field:
            continue
        value: Any = plain_amount(row.value) if row.field == "amount" else row.value
        if row.operator in _LISTS:
            value = [each.strip() for each in row.value.split(",") if each.strip()]
        elif row.operator == _EXIST:
            value = row.value.lower() not in ("false", "no", "non")
        conditions = found.setdefault(row.field, {})
        if row.operator in conditions:
            rest.append({row.field: {row.operator: value}})
        else:
            conditions[row.operator] = value
    return {**found, "$and": rest} if rest else found


def read_rows(form: Mapping[str, str]) -> list[FilterRow]:
    """Return the rows of a form."""
    found = []
    for number in range(ROWS):
        name, operator, value = (
            form.get(f"{part}_{number}", "").strip()[:CHARACTERS_MAX] for part in ("field", "operator", "value")
        )
        found.append(FilterRow(name, operator if operator in CHOICES else CHOICES[0], value))
    return found


def _text(operator: str, value: Any) -> str | None:
    if operator in _LISTS and isinstance(value, list):
        texts = [_text("$eq", each) for each in value]
        plain = [each for each in texts if each is not None and "," not in each]
        return ", ".join(plain) if len(plain) == len(value) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int) else None
