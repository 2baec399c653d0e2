"""Filters and explanations shared by the commands about rules."""

import shlex
from collections.abc import Iterable, Sequence
from typing import Any, Final

from momo_cli.errors import usage
from momo_cli.inputs.typed_values import read_json
from momo_cli.show.answer import Row, dumps, fields, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.text import clean
from parsers.pasted import plain_amount

OPERATORS: Final = {
    "=": "$eq",
    "!=": "$neq",
    ">": "$gt",
    ">=": "$gte",
    "<": "$lt",
    "<=": "$lte",
    "in": "$in",
    "startswith": "$startsWith",
    "endswith": "$endsWith",
    "contains": "$contains",
}
"""The typed operators and those of the API; VALUE of `in` is a list with commas."""

RULE_FIELDS: Final = fields("id endpoint_id name position enabled filter created_at updated_at")
RULE_VIEW: Final = view_of(*RULE_FIELDS)
"""The view of one rule, which is shown as lines instead of a table."""
CLAIMS_VIEW: Final = view_of(
    "endpoint_id url claims claimed_by rule_id catch_all reason", id="endpoint_id"
)


def read_filter(text: str | None, words: Sequence[str]) -> Any:
    """Return the filter of `--filter`, or of `FIELD OP VALUE...` joined by AND; None if neither was given.

    The conditions may be one argument, as `read_expression` takes it.

    Raises:
        Failure: USAGE, if both were given, the words are not triples, or an operator is unknown.
    """
    if text is not None and words:
        raise usage("give --filter or FIELD OP VALUE, not both")
    if text is not None:
        return read_json(text, "--filter")
    if not words:
        return None
    return read_expression(words[0], "conditions") if len(words) == 1 else _conditions(words)


def _conditions(words: Sequence[str]) -> Any:
    if len(words) % 3:
        raise usage(
            f"{' '.join(words)}: conditions are FIELD OP VALUE, such as amount '>=' 50; "
            "quote the characters < and > for the shell"
        )
    found: dict[str, Any] = {}
    rest: list[dict[str, Any]] = []
    for name, typed, value in zip(words[::3], words[1::3], words[2::3], strict=True):
        operator = OPERATORS.get(typed.lower())
        if operator is None:
            raise usage(f"{typed} is not an operator; use one of {' '.join(OPERATORS)}")
        wanted: Any = plain_amount(value) if name == "amount" else value
        if operator == "$in":
            wanted = [each.strip() for each in value.split(",")]
        conditions = found.setdefault(name, {})
        if operator in conditions:
            rest.append({name: {operator: wanted}})
        else:
            conditions[operator] = wanted
    return {**found, "$and": rest} if rest else found


def read_expression(text: str, flag: str) -> Any:
    """Return the filter in one argument (`FIELD OP VALUE...`, a JSON object, or `@FILE`), or fail as `read_filter`."""
    if text.lstrip().startswith(("{", "@")):
        return read_json(text.strip(), flag)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise usage(f"{flag} {text}: {str(error).lower()}") from None
    if not words:
        example = f"{flag} 'amount >= 50'"
        raise usage(f"{flag}: give the payments that the rule claims, such as {example}")
    return _conditions(words)


def rule_lines(row: Row, terminal: Terminal) -> list[str]:
    """Return the lines of one rule."""
    on = row.get("enabled") is True
    mark = terminal.style("✓ on", "green") if on else terminal.style("! off", "yellow")
    return [
        f"{mark}  {clean(row.get('name')) or '(no name)'}",
        f"  id        {clean(row.get('id'))}",
        f"  position  {row.get('position')}",
        f"  claims    {clean(dumps(row.get('filter')))}",
    ]


def claim_lines(endpoints: Iterable[Row], terminal: Terminal) -> list[str]:
    """Return for each endpoint whether it gets a payment and why: each rule, each comparison, and the actual value."""
    lines = []
    for endpoint in endpoints:
        gets = endpoint.get("claims") is True
        mark = terminal.style("✓ gets it", "green") if gets else terminal.style("· does not", "dim")
        paused = "" if endpoint.get("is_active") else "  (paused: its delivery waits)"
        lines.append(f"{mark}  {clean(endpoint.get('url'))}{paused}")
        lines.append(f"  {clean(endpoint.get('reason'))}")
        for rule in endpoint.get("rules") or []:
            name = clean(rule.get("name")) or f"no. {rule.get('position')}"
            verdict = "matches" if rule.get("matched") else "does not match"
            if not rule.get("enabled"):
                verdict += ", but is off"
            found = [f"  rule {name}: {verdict}"]
            for clause in rule.get("clauses") or []:
                holds = clause.get("matched") is True
                sign = terminal.tick if holds else terminal.style("✗", "red")
                seen = (
                    "unknown"
                    if clause.get("actual") is None
                    else clean(dumps(clause.get("actual")))
                )
                wanted = clean(dumps(clause.get("expected")))
                found.append(f"    {sign} {clean(clause.get('path'))} {wanted}: it is {seen}")
            lines += found
    return lines
