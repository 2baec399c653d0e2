"""The rules of endpoints, each in versions: what is changed or deleted stays, for the decisions that it made."""

from functools import lru_cache
from typing import Any

from daemon.core.model import Rule
from daemon.store.engine import Reader, Tx
from daemon.store.rows import columns, load, load_all, load_optional
from daemon.wire import Mode

_RULE = columns(Rule)
_NAMES = [name for name in _RULE.split(", ") if name != "seq"]


def add(tx: Tx, rule: dict[str, Any]) -> Rule:
    """Store a version of a rule; `rule` has every column but `seq`."""
    row = tx.one(
        f"INSERT INTO rules ({', '.join(_NAMES)}) VALUES ({', '.join(':' + name for name in _NAMES)}) "
        f"RETURNING {_RULE}",
        rule,
    )
    assert row is not None
    return load(Rule, row)


def end(tx: Tx, rule_id: str, now: int) -> None:
    """End the version of a rule that is in force; without another one the rule is deleted."""
    tx.run(
        "UPDATE rules SET replaced_at = :now WHERE id = :id AND replaced_at IS NULL",
        {"id": rule_id, "now": now},
    )


def get(reader: Reader, endpoint_id: str, rule_id: str) -> Rule | None:
    """Return one rule of an endpoint as it is now."""
    return load_optional(
        Rule,
        reader.one(
            f"SELECT {_RULE} FROM rules WHERE id = :id AND endpoint_id = :endpoint AND replaced_at IS NULL",
            {"id": rule_id, "endpoint": endpoint_id},
        ),
    )


def of_endpoint(reader: Reader, endpoint_id: str) -> list[Rule]:
    """Return the rules of an endpoint as they are now, in their order."""
    return load_all(
        Rule,
        reader.all(
            f"SELECT {_RULE} FROM rules WHERE endpoint_id = :endpoint AND replaced_at IS NULL "
            "ORDER BY position, seq",
            {"endpoint": endpoint_id},
        ),
    )


def of_mode(reader: Reader, mode: Mode) -> dict[str, list[Rule]]:
    """Return the rules of every endpoint of a mode, by endpoint, in their order."""
    found: dict[str, list[Rule]] = {}
    # CROSS JOIN: the endpoints first. A shop has a few of them in use, and may have many rules.
    rows = reader.all(
        f"SELECT {columns(Rule, 'r.')} FROM endpoints e CROSS JOIN rules r "
        "WHERE e.kind = 'endpoint' AND e.deleted_at IS NULL AND e.mode = :mode "
        "AND r.endpoint_id = e.id AND r.replaced_at IS NULL ORDER BY e.seq, r.position, r.seq",
        {"mode": mode},
    )
    for rule in map(_loaded, rows):
        found.setdefault(rule.endpoint_id, []).append(rule)
    return found


@lru_cache(maxsize=2048)
def _loaded(row: tuple[Any, ...]) -> Rule:
    """Make a rule of its row. The same rules are read for every payment, and a shop may have a thousand of them."""
    return load(Rule, row)


def versions(reader: Reader, seqs: set[int]) -> dict[int, Rule]:
    """Return versions of rules, also of those that are long gone."""
    found = {}
    for seq in seqs:
        row = reader.one(f"SELECT {_RULE} FROM rules WHERE seq = :seq", {"seq": seq})
        if row is not None:
            found[seq] = load(Rule, row)
    return found
