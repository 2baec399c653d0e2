"""The commands about rules, and routes explain."""

from dataclasses import replace
from typing import Final

from daemon.wire import Path
from momo_cli.errors import usage
from momo_cli.frame.command import command
from momo_cli.inputs.ids import endpoint_id, endpoint_word, rule_id
from momo_cli.inputs.parameters import LABEL, argument, flag, option
from momo_cli.inputs.typed_values import only_given, read_json
from momo_cli.show.answer import Answer, Head, dumps, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import clock, money
from momo_cli.socket.client import Client, Reply, path_of
from momo_cli.text import clean, warnings_of
from momo_cli.views.rules import (
    CLAIMS_VIEW,
    RULE_FIELDS,
    RULE_VIEW,
    claim_lines,
    read_filter,
    rule_lines,
)

_LIST_VIEW: Final = view_of(
    *RULE_FIELDS,
    Head("NO.", lambda row, _: str(row.get("position")), right=True),
    Head("NAME", lambda row, _: clean(row.get("name")) or "—"),
    Head("STATE", lambda row, _: "on" if row.get("enabled") else "off"),
    Head("CLAIMS", lambda row, _: clean(dumps(row.get("filter")))),
    Head("ID", lambda row, _: clean(row.get("id")), cut=True),
)

_NONE: Final = "No endpoint gets it: it is stored, and can be replayed."
_TAKES_ALL: Final = "still takes every payment"
"""In the daemon's warning about an endpoint whose rules do not narrow what it gets."""
_ENDPOINT = argument("ENDPOINT", "Its id, label or host.")
_RULE = argument("RULE", "Its id, name or number.")
_CONDITIONS = argument("[FIELD OP VALUE]...", "The payments that match.", default=None)
_FILTER = option("--filter", "JSON|@FILE", "The same in JSON.")


@command("endpoints rules list", view=_LIST_VIEW)
def list_(client: Client, terminal: Terminal, endpoint: str = _ENDPOINT) -> Answer:
    """They are tried in this order; the first rule that matches takes a payment.

    Examples:
        momo endpoints rules list b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
    """
    endpoint = endpoint_id(client, endpoint)
    reply = client.get(path_of(Path.RULES, id=endpoint))
    return Answer(
        *reply.parts,
        empty="No rules: it gets payments that match no rule, if its catch_all is on.",
        next=[]
        if reply.data
        else [
            f"momo endpoints rules add {endpoint_word(client, terminal, endpoint)} amount '>=' 50"
        ],
    )


@command("endpoints rules add", view=RULE_VIEW)
def add(
    client: Client,
    terminal: Terminal,
    endpoint: str = _ENDPOINT,
    conditions: list[str] | None = _CONDITIONS,
    filter_: str | None = _FILTER,
    name: str = option("A label.", default=""),
    position: int | None = option("Its place; default: the last.", min=0),
    off: bool = flag("Add it switched off."),
) -> Answer:
    """The endpoint gets the payments that match the rule, and while its catch_all is on, also those that match no rule.

    Conditions are joined by AND: FIELD OP VALUE, with OP one of = != > >= < <= in startswith endswith contains. VALUE
    of `in` is a list with commas. They may be one argument in quotes. Other filters are written in JSON, with --filter.

    Examples:
        momo endpoints rules add b91f0c1e-7d2b-4c3d-9e4f-0123456789ab amount '>=' 50
        momo endpoints rules add shop.example --name rents 'telco.reference_text startswith RENT'
        momo endpoints rules add b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --filter '{"late": true}'
        momo endpoints rules add b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --filter @rents.json
    """
    found = read_filter(filter_, conditions or ())
    if found is None:
        raise usage("name the payments that match: FIELD OP VALUE, or --filter")
    given = {"filter": found, "enabled": not off, "name": name or None, "position": position}
    endpoint = endpoint_id(client, endpoint)
    reply = client.call("POST", path_of(Path.RULES, id=endpoint), body=only_given(given))
    return _changed(client, terminal, reply, endpoint, rule_lines(reply.data, terminal))


@command("endpoints rules update", view=RULE_VIEW)
def update(
    client: Client,
    terminal: Terminal,
    endpoint: str = _ENDPOINT,
    rule: str = _RULE,
    conditions: list[str] | None = _CONDITIONS,
    filter_: str | None = _FILTER,
    name: str | None = LABEL,
    position: int | None = option("Its place.", min=0),
    enabled: bool | None = option("Switch it on or off."),
) -> Answer:
    """Payments that were sent by the rule stay where they are; the change is for later payments.

    Examples:
        momo endpoints rules update shop.example 6d3c0c1e-7d2b-4c3d-9e4f-0123456789ab --no-enabled
        momo endpoints rules update shop.example 6d3c0c1e-7d2b-4c3d-9e4f-0123456789ab amount '>=' 100
    """
    found = read_filter(filter_, conditions or ())
    given = {"filter": found, "name": name, "position": position, "enabled": enabled}
    body = only_given(given)
    if not body:
        raise usage("name a change: FIELD OP VALUE, --filter, --name, --position, --enabled")
    endpoint = endpoint_id(client, endpoint)
    rule = rule_id(client, endpoint, rule)
    reply = client.call("PUT", path_of(Path.RULE, id=endpoint, rule_id=rule), body=body)
    return _changed(client, terminal, reply, endpoint, rule_lines(reply.data, terminal))


@command("endpoints rules remove", view=view_of("id deleted"))
def remove(
    client: Client, terminal: Terminal, endpoint: str = _ENDPOINT, rule: str = _RULE
) -> Answer:
    """Payments that were sent by the rule stay where they are.

    Examples:
        momo endpoints rules remove b91f0c1e-7d2b-4c3d-9e4f-0123456789ab 6d3c0c1e-7d2b-4c3d-9e4f-0123456789ab
        momo endpoints rules remove shop.example 1
    """
    endpoint = endpoint_id(client, endpoint)
    rule = rule_id(client, endpoint, rule)
    reply = client.call("DELETE", path_of(Path.RULE, id=endpoint, rule_id=rule))
    answer = _changed(client, terminal, reply, endpoint, [f"{terminal.tick} Removed."])
    return replace(answer, rows=[{"id": rule, "deleted": True}])


def _changed(
    client: Client, terminal: Terminal, reply: Reply, endpoint: str, lines: list[str]
) -> Answer:
    """Return the answer to a change of one rule of an endpoint."""
    name, notes = endpoint_word(client, terminal, endpoint), warnings_of(reply.body)
    following = [f"momo endpoints rules list {name}"]
    if any(_TAKES_ALL in note for note in notes):
        following.append(f"momo endpoints update {name} --no-catch-all")
    return Answer(*reply.parts, lines=lines, notes=notes, next=following)


@command("endpoints rules test", view=CLAIMS_VIEW)
def try_(
    client: Client,
    terminal: Terminal,
    sample: str = option("JSON|@FILE", "The payment, as in a webhook.", default=...),
    conditions: list[str] | None = argument(
        "[FIELD OP VALUE]...", "Also test these.", default=None
    ),
    filter_: str | None = _FILTER,
) -> Answer:
    """The reasons are shown too. Nothing is sent or stored. The sample is the `data` of a webhook, whole or in part, or a
    whole webhook. With --filter or FIELD OP VALUE the answer also says whether that filter matches.

    Examples:
        momo endpoints rules test --sample '{"amount": "12.50", "telco": {"provider": "mtn"}}'
        momo endpoints rules test --sample @webhook.json amount '>=' 50
    """
    given = {
        "sample": read_json(sample, "--sample"),
        "filter": read_filter(filter_, conditions or ()),
        "is_sandbox": client.sandbox or None,
    }
    reply = client.call("POST", Path.RULES_TEST, body=only_given(given))
    lines = claim_lines(reply.data.get("endpoints") or [], terminal)
    if not reply.data.get("claims"):
        lines.append(_NONE)
    tried = reply.data.get("filter")
    if tried is not None:
        lines.insert(0, f"The filter {'matches' if tried.get('matched') else 'does not match'}.")
    return Answer(
        reply.text,
        reply.data.get("endpoints") or [],
        lines=lines,
        notes=warnings_of(reply.body),
        next=["momo endpoints list"],
    )


@command("tx routes", view=CLAIMS_VIEW)
def explain(
    client: Client,
    terminal: Terminal,
    transaction: str = argument("REF", "Its reference, or the transaction_id of a webhook."),
    today: bool = flag("Use the rules of today."),
) -> Answer:
    """It lists each endpoint, each rule, each comparison and the value compared, by the rules at the time of the payment;
    with --today, by the rules of today, as a replay would.

    Examples:
        momo tx routes svc_trx_0123456789abcdef0123456789abcdef
        momo tx routes svc_trx_0123456789abcdef0123456789abcdef --today
    """
    reply = client.get(path_of(Path.ROUTING, id=transaction.strip()))
    data = reply.data
    paid = data.get("payment")
    reference = clean(data.get("reference"))
    if paid is None:
        nothing = ["The transaction has no payment yet: nothing was sent."]
        return Answer(reply.text, lines=nothing, next=[f"momo tx show {reference}"])
    lines = [f"{money(paid.get('amount'), paid.get('currency'))}  {reference}"]
    decisions = [data["today"]] if today else data.get("decisions") or []
    for each in decisions:
        when = "by the rules of today" if today else clock(each.get("decided_at"), terminal)
        lines.append(f"{when}: {each.get('claims')} of {len(each['endpoints'])} get it")
        lines += claim_lines(each["endpoints"], terminal)
        if not each.get("claims"):
            lines.append(_NONE)
    if not decisions:
        lines.append("It was not sent: it was rejected, or is older than its line.")
    return Answer(
        reply.text,
        decisions[-1]["endpoints"] if decisions else [],
        lines=lines,
        next=[f"momo tx show {reference}"],
    )
