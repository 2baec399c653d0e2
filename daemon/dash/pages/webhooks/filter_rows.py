"""A rule's filter as rows of a form, `field, operator, value` joined by AND, as most filters are. Others stay JSON."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from daemon.core.webhooks.rules import OPERATORS

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
        value: Any = row.value
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
            form.get(f"{part}_{number}", "").strip()[:CHARACTERS_MAX]
            for part in ("field", "operator", "value")
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
