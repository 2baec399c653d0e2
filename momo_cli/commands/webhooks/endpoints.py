"""The commands about endpoints and their signing secrets."""

import contextlib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit

from daemon.wire import EventKind, Path
from momo_cli import exit_codes
from momo_cli.errors import Failure, exit_code_of, row_for, usage
from momo_cli.frame.command import command
from momo_cli.inputs.ids import endpoint_id, endpoint_name, endpoint_word, rule_id
from momo_cli.inputs.parameters import LABEL, PASSWORD_FILE, SECRET_FILE, argument, flag, option
from momo_cli.inputs.typed_values import only_given, owners_password, read_json, read_text
from momo_cli.inputs.typed_values import secret_file as keep_in
from momo_cli.show.answer import Answer, Cell, Head, Row, dumps, fields, view_of, with_status
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, clock, counted, money
from momo_cli.socket.client import Client, Reply, path_of
from momo_cli.text import at, clean, warnings_of
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
CLAIMS_VIEW: Final = view_of("endpoint_id url claims claimed_by rule_id catch_all reason", id="endpoint_id")


def read_filter(text: str | None, words: Sequence[str]) -> Any:
    """Return the filter of `--filter`, or of `FIELD OP VALUE...` joined by AND; None if neither was given.

    The conditions may be one argument, as `read_expression` takes it.
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
                seen = "unknown" if clause.get("actual") is None else clean(dumps(clause.get("actual")))
                wanted = clean(dumps(clause.get("expected")))
                found.append(f"    {sign} {clean(clause.get('path'))} {wanted}: it is {seen}")
            lines += found
    return lines


_RULES_VIEW: Final = view_of(
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
_ENDPOINT_RULE = argument("ENDPOINT", "Its id, label or host.")
_RULE = argument("RULE", "Its id, name or number.")
_CONDITIONS = argument("[FIELD OP VALUE]...", "The payments that match.", default=None)
_FILTER = option("--filter", "JSON|@FILE", "The same in JSON.")


@command("endpoints rules list", view=_RULES_VIEW)
def list_rules(client: Client, terminal: Terminal, endpoint: str = _ENDPOINT_RULE) -> Answer:
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
        else [f"momo endpoints rules add {endpoint_word(client, terminal, endpoint)} amount '>=' 50"],
    )


@command("endpoints rules add", view=RULE_VIEW)
def add_rule(
    client: Client,
    terminal: Terminal,
    endpoint: str = _ENDPOINT_RULE,
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
    """
    found = read_filter(filter_, conditions or ())
    if found is None:
        raise usage("name the payments that match: FIELD OP VALUE, or --filter")
    given = {"filter": found, "enabled": not off, "name": name or None, "position": position}
    endpoint = endpoint_id(client, endpoint)
    reply = client.call("POST", path_of(Path.RULES, id=endpoint), body=only_given(given))
    return _changed(client, terminal, reply, endpoint, rule_lines(reply.data, terminal))


@command("endpoints rules update", view=RULE_VIEW)
def update_rule(
    client: Client,
    terminal: Terminal,
    endpoint: str = _ENDPOINT_RULE,
    rule: str = _RULE,
    conditions: list[str] | None = _CONDITIONS,
    filter_: str | None = _FILTER,
    name: str | None = LABEL,
    position: int | None = option("Its place.", min=0),
    enabled: bool | None = option("Switch it on or off."),
) -> Answer:
    """Payments that were sent by the rule stay where they are; the change is for later payments.

    Examples:
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
def remove(client: Client, terminal: Terminal, endpoint: str = _ENDPOINT_RULE, rule: str = _RULE) -> Answer:
    """Payments that were sent by the rule stay where they are.

    Examples:
        momo endpoints rules remove shop.example 1
    """
    endpoint = endpoint_id(client, endpoint)
    rule = rule_id(client, endpoint, rule)
    reply = client.call("DELETE", path_of(Path.RULE, id=endpoint, rule_id=rule))
    answer = _changed(client, terminal, reply, endpoint, [f"{terminal.tick} Removed."])
    return replace(answer, rows=[{"id": rule, "deleted": True}])


def _changed(client: Client, terminal: Terminal, reply: Reply, endpoint: str, lines: list[str]) -> Answer:
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
    conditions: list[str] | None = argument("[FIELD OP VALUE]...", "Also test these.", default=None),
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
        reply.text, decisions[-1]["endpoints"] if decisions else [], lines=lines, next=[f"momo tx show {reference}"]
    )


_FIELDS: Final = (
    "id url description is_active is_sandbox auto_paused_at last_success_at last_failure_at",
    "consecutive_failures created_at updated_at",
)
_SHOW_VIEW: Final = view_of(*_FIELDS)
_STATE_VIEW: Final = view_of(*_FIELDS, "status")
"""Of a pause or resume; `status` says whether the endpoint was in that state already."""
_SECRET_VIEW: Final = view_of("secret previous_secret_expires_at", id="secret")
_LIST_VIEW: Final = view_of(
    *_FIELDS,
    Head("STATE", lambda row, _: _state(row)),
    Head("URL", lambda row, _: clean(row.get("url"))),
    Head("QUEUED", lambda row, _: str(row.get("queued", "")), right=True),
    Head("LAST OK", lambda row, t: ago(row.get("last_success_at"), t) or "—"),
    Head("FAILS", lambda row, _: str(row.get("consecutive_failures") or 0), right=True),
    Head("ID", lambda row, _: clean(row.get("id")), cut=True),
)
_ALLOWED: Final = "webhooks.allow_private_hosts"
_NOT_HTTPS: Final = "not_https"
"""The reason in a refusal of an address without https."""
_MISSPELT: Final = ("malformed", "userinfo", "fragment", "invalid_host", "invalid_port", "local_target")
"""The reasons in a refusal of an address that no setting can allow."""
_SIZE: Final = re.compile(r"([0-9]{1,6})(k?)", re.ASCII)

_ENDPOINT = argument("ID", "The endpoint: its id, label or host.")
_ENDPOINT_OR_ACCOUNT = argument("[ID]", "The endpoint: its id, label or host.", default=None)
_ACCOUNT = flag("The account's secret, for webhook URLs of transactions.")
_CATCH_ALL = option("Take every payment that no rule matches.")
_INCLUDE_RAW = option("Send the text of the SMS too.")
_EVENT: Final = f"A kind of event to send, instead of {EventKind.FORWARDED} alone; repeat for each."
_HEADERS = option("--send-header", "HEADER", "A header to send too: 'NAME: VALUE' or 'NAME: @FILE'; repeat for each.")
_EVENTS = option("--event", "KIND", _EVENT)


@command("endpoints add", view=view_of("id url description is_active is_sandbox created_at secret"))
def add(
    client: Client,
    terminal: Terminal,
    url: str = argument("URL", "An https address, exec:/path/command or spool:/folder."),
    description: str | None = LABEL,
    rule: list[str] | None = option(
        "EXPR", "A rule for the payments to send: 'FIELD OP VALUE...', JSON or @FILE; repeat for each."
    ),
    catch_all: bool | None = _CATCH_ALL,
    event: list[str] | None = _EVENTS,
    include_raw: bool | None = _INCLUDE_RAW,
    header: list[str] | None = _HEADERS,
    secret_file: str | None = SECRET_FILE,
) -> Answer:
    """Payments are sent to an https address, to a command or into a folder. The signing secret is shown only now. With
    --secret-file the secret goes into that file (which must not exist yet; mode 0600) and is null in the output.

    The endpoint gets the payments that match one of its rules (`momo endpoints rules add --help`), and the payments that match no
    rule of any endpoint, unless --no-catch-all. It gets transaction.forwarded alone, and is not told when the network takes a
    payment back; --event asks for other kinds: transaction.reversed, transaction.completed, transaction.expired,
    transaction.review_required, transaction.updated.
    After a reconcile it also gets a transaction.completed that has no other receiver.

    Examples:
        momo endpoints add https://shop.example/hook
        momo endpoints add https://shop.example/hook --secret-file hook.secret --quiet
        momo endpoints add https://rents.example/hook --rule 'telco.reference_text startswith RENT' --no-catch-all
        momo endpoints add https://shop.example/hook --event transaction.forwarded --event transaction.reversed
        momo endpoints add https://shop.example/hook --send-header 'Authorization: Bearer 7f3a'
        momo endpoints add exec:/usr/local/bin/book-payment
    """
    given: dict[str, Any] = {
        "url": url, "description": description, "is_sandbox": client.sandbox or None, "catch_all": catch_all,
        "events": event or None, "include_raw": include_raw, "headers": _headers(terminal, header, {}),
    }  # fmt: skip
    filters = [read_expression(text, "--rule") for text in rule or ()]
    for filter_ in filters:
        client.call("POST", Path.RULES_TEST, body={"sample": {}, "filter": filter_})
    with keep_in(secret_file, "--secret-file") as keep:
        with _refusal_explained(terminal, url):
            reply = client.post_once(Path.ENDPOINTS, only_given(given))
        keep(str(reply.body.get("secret")))
    path = path_of(Path.RULES, id=reply.data["id"])
    made: list[Reply | Failure] = []
    for filter_ in filters:
        try:
            made.append(client.call("POST", path, body={"filter": filter_}))
        except Failure as failure:  # the endpoint exists already, so its secret must be shown
            made.append(failure)
    name = endpoint_word(client, terminal, clean(reply.data["id"]))
    missing = [
        f"momo endpoints rules add {name} --filter {shlex.quote(dumps(filter_))}"
        for filter_, one in zip(filters, made, strict=True)
        if isinstance(one, Failure)
    ]
    return _added(reply, terminal, secret_file, made, missing)


@contextlib.contextmanager
def _refusal_explained(terminal: Terminal, url: str | None) -> Iterator[None]:
    """Name the commands that help if the address is refused.

    For an http address of this machine it is `momo listen`, for an unknown host a look-up, for a private one the setting.
    """
    try:
        yield
    except Failure as failure:
        if at(failure.body, "error.reason") == _NOT_HTTPS:
            from momo_cli.listener import parse_receiver  # noqa: PLC0415  # only this refusal needs it

            failure.next = ("momo endpoints add --help",)
            with contextlib.suppress(Failure):
                parse_receiver(str(url))
                failure.next = (f"momo listen --forward-to {shlex.quote(str(url))}",)
        host = urlsplit(str(url)).hostname or ""
        if at(failure.body, "error.reason") == "unresolvable" and host:
            failure.message += " Check the spelling of the host."
            failure.next = (f"getent hosts {shlex.quote(host)}",)
        if at(failure.body, "error.reason") in _MISSPELT:
            failure.next = ("momo endpoints add --help",)
        if at(failure.body, "error.reason") == "private_address" and host:
            from momo_cli.service.daemon_program import run_verb  # noqa: PLC0415  # only this refusal needs it

            allowed: list[str] = []
            with contextlib.suppress(Failure):
                seen = run_verb(terminal, "config", "--json", "get", "--", _ALLOWED)
                allowed = [str(one) for one in seen.data["value"]]
            failure.next = (
                f"momo config set {_ALLOWED} {shlex.quote(','.join([*allowed, host]))}",
                "momo daemon restart",
            )
        raise


def _added(
    reply: Reply, terminal: Terminal, secret_file: str | None, rules: Sequence[Reply | Failure], missing: Sequence[str]
) -> Answer:
    """Return the answer; `missing` are the commands that add the rules which were not added."""
    row: dict[str, Any] = reply.data
    id_ = clean(row.get("id"))
    secret = None if secret_file is not None else reply.body.get("secret")
    replies = [rule for rule in rules if not isinstance(rule, Failure)]
    made = [rule.data for rule in replies]
    failed = [rule for rule in rules if isinstance(rule, Failure)]
    document = reply.text
    if secret_file is not None or rules:
        shown = {**reply.body, "secret": secret}
        document = dumps({**shown, "rules": made} if rules else shown)
    lines = [
        f"{terminal.tick} Payments will be sent to {clean(row.get('url'))}",
        f"  id      {id_}",
        *(f"  rule    {clean(dumps(rule.get('filter')))}" for rule in made),
    ]
    if secret is not None:
        lines.append(f"  secret  {terminal.style(clean(secret), 'bold')}")
    else:
        lines.append(f"  secret  in {secret_file}" if secret_file else "  secret  not shown again")
    notes = [*dict.fromkeys(note for one in (reply, *replies) for note in warnings_of(one.body))]
    reasons = (failure.message or row_for(failure).sentence for failure in failed)
    notes += [f"warning: a rule was not added: {reason}" for reason in reasons]
    if EventKind.REVERSED not in (row.get("events") or [EventKind.REVERSED]):
        notes.append("It is not told when the network takes a payment back.")
    if secret is not None:
        notes.append("Keep the secret now: it is not shown again.")
    return Answer(
        document,
        [{**row, "secret": secret}],
        lines=lines,
        notes=notes,
        next=[*missing, "momo endpoints list", "momo deliveries list"],
        exit_code=exit_code_of(failed[0]) if failed else exit_codes.OK,
    )


@command("endpoints list", view=_LIST_VIEW)
def list_(client: Client, terminal: Terminal) -> Answer:
    """QUEUED is the number of deliveries that wait.

    Examples:
        momo endpoints list
    """
    reply = client.get(Path.ENDPOINTS)
    rows = reply.data or []
    if terminal.human and rows:
        # The API's list does not have the number of waiting deliveries.
        status = client.find(Path.LOCAL_STATUS)
        queued = {one.get("id"): one.get("queued") for one in at(status, "endpoints") or ()}
        rows = [{**row, "queued": queued.get(row.get("id"), "")} for row in rows]
    stopped = [endpoint_name(row, rows) for row in rows if row.get("auto_paused_at")]
    lost = at(reply.body, "meta.unclaimed_payments")
    what = f"{lost} payments of the last 30 days were sent to no endpoint"
    mend = [f"momo endpoints {verb} {shlex.quote(one)}" for one in stopped[:1] for verb in ("test", "resume")]
    return Answer(
        reply.text,
        rows,
        empty="No endpoints yet: payments are stored, but not sent.",
        notes=[f"{what}: no rule and no catch-all took them"] if lost else (),
        next=mend if rows else ["momo endpoints add https://shop.example/hook"],
    )


@command("endpoints show", view=_SHOW_VIEW)
def show(client: Client, terminal: Terminal, endpoint: str = _ENDPOINT) -> Answer:
    """Examples:
    momo endpoints show b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
    """
    return _shown(client, client.get(_path(client, endpoint)), terminal)


@command("endpoints update", view=_SHOW_VIEW)
def update(
    client: Client,
    terminal: Terminal,
    endpoint: str = _ENDPOINT,
    url: str | None = option("The new https address."),
    description: str | None = LABEL,
    catch_all: bool | None = _CATCH_ALL,
    include_raw: bool | None = _INCLUDE_RAW,
    event: list[str] | None = _EVENTS,
    header: list[str] | None = _HEADERS,
) -> Answer:
    """After a change of the address, waiting deliveries go to the new one. --send-header adds a header or changes its value;
    without a value, as in 'X-Shop:', it removes the header. The others stay, but another host does not get them: with such
    an address give each again.

    Examples:
        momo endpoints update b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --url https://shop.example/new
        momo endpoints update b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --no-catch-all
    """
    given: dict[str, Any] = {
        "url": url, "description": description, "catch_all": catch_all, "include_raw": include_raw,
        "events": event or None,
    }  # fmt: skip
    path = _path(client, endpoint)
    if header:
        before = client.get(path).data.get("headers") or {}
        given["headers"] = _headers(terminal, header, before)
    body = only_given(given)
    if not body:
        raise usage("name a change, such as --url or --description")
    with _refusal_explained(terminal, url):
        reply = client.call("PUT", path, body=body)
    return _shown(client, reply, terminal)


@command("endpoints pause", view=_STATE_VIEW)
def pause(client: Client, terminal: Terminal, endpoint: str = _ENDPOINT) -> Answer:
    """Its deliveries wait until it is resumed; none is lost.

    Examples:
        momo endpoints pause b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
    """
    path = _path(client, endpoint)
    seen = client.get(path)
    if not seen.data.get("is_active"):
        return _shown(client, seen, terminal, "It was paused already.", status="already_paused")
    changed = client.call("PUT", path, body={"is_active": False})
    said = "Paused: its deliveries wait until it is resumed."
    return _shown(client, changed, terminal, said, status="paused")


@command("endpoints resume", view=_STATE_VIEW)
def resume(client: Client, terminal: Terminal, endpoint: str = _ENDPOINT) -> Answer:
    """One waiting delivery is sent as a probe; then the others follow.

    Examples:
        momo endpoints resume b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
    """
    reply = client.call("PUT", _path(client, endpoint), body={"is_active": True})
    queued = at(reply.body, "meta.queued")
    if not isinstance(queued, int):
        return _shown(client, reply, terminal, "It was active already.", status="already_active")
    waiting = counted(queued, "waiting delivery", "waiting deliveries")
    said = f"{waiting} will now go" if queued else "nothing waits"
    return _shown(client, reply, terminal, f"Resumed: {said}.", status="active")


@command("endpoints delete", view=view_of("id deleted undelivered"))
def delete(
    client: Client,
    terminal: Terminal,
    endpoint: str = _ENDPOINT,
    confirm: str | None = option("HOST", "The host of its address."),
) -> Answer:
    """Its waiting deliveries become dead letters; its delivery log stays. Type the host of the address to confirm, or give
    it with --confirm, or use --yes. Exit 10: not confirmed.

    Examples:
        momo endpoints delete b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --confirm shop.example
    """
    endpoint = endpoint_id(client, endpoint)
    path = path_of(Path.ENDPOINT, id=endpoint)
    if not terminal.flags.yes:
        seen = client.get(path)
        url = str(seen.data.get("url"))
        # A command or folder has no host: the whole address is typed.
        address = urlsplit(url)
        host = address.hostname or url
        typed = confirm
        if typed is None:
            typed = terminal.ask(f"Type {clean(host)} to delete it: ", "--confirm")
        # The host with its port, as in the list, is accepted too.
        if not {host, address.netloc or url} & {typed.strip(), typed.strip().lower()}:
            return Answer(
                seen.text,
                [{"id": endpoint, "deleted": False, "undelivered": None}],
                lines=["Nothing was deleted."],
                notes=[f"Its host is {clean(host)}, not {clean(typed)}."],
                exit_code=exit_codes.CANCELLED,
            )
    reply = client.call("DELETE", path)
    undelivered = reply.body.get("undelivered") or 0
    count = counted(undelivered, "delivery", "deliveries")
    lost = f" {count} never arrived." if undelivered else ""
    hint = reply.body.get("hint")
    return Answer(
        reply.text,
        [{"id": endpoint, "deleted": True, "undelivered": undelivered}],
        lines=[f"{terminal.tick} Deleted.{lost}"],
        notes=[clean(hint)] if hint else (),
        next=["momo endpoints list"],
    )


@command("endpoints test", view=view_of("success status_code message response_body", id="status_code"))
def send_test(
    client: Client,
    terminal: Terminal,
    endpoint: str = _ENDPOINT,
    body_max: str = option("N", "Characters of the response to show: 200, 2k.", default="2k"),
) -> Answer:
    """It is signed like a real payment and marked as a test. The endpoint's response is shown. Exit 6: the endpoint did
    not accept it.

    Examples:
        momo endpoints test b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
    """
    found = _SIZE.fullmatch(body_max)
    if found is None:
        raise usage(f"--body-max: {body_max!r} is not a number of characters; write 200 or 2k")
    size = int(found[1]) * (1000 if found[2] else 1)
    endpoint = endpoint_id(client, endpoint)
    reply = client.call("POST", path_of(Path.ENDPOINT_TEST, id=endpoint))
    row = reply.body
    good = row.get("success") is True
    mark = terminal.style("✓" if good else "✗", "green" if good else "red")
    response = clean(row.get("response_body"))[:size]
    return Answer(
        reply.text,
        [row],
        lines=[f"{mark} {clean(row.get('message'))}", *([f"  {response}"] if response else [])],
        next=[f"momo endpoints show {endpoint_word(client, terminal, endpoint)}"],
        exit_code=exit_codes.OK if good else exit_codes.FINDINGS,
    )


@command("endpoints reveal", view=_SECRET_VIEW)
def reveal(
    client: Client,
    terminal: Terminal,
    endpoint: str | None = _ENDPOINT_OR_ACCOUNT,
    account: bool = _ACCOUNT,
    password_file: str | None = PASSWORD_FILE,
    secret_file: str | None = SECRET_FILE,
) -> Answer:
    """--account shows the one that signs for the webhook URLs of transactions (momo init --webhook-url). It needs the
    owner's password; five attempts in 15 minutes. `-o id` prints only the secret.

    Examples:
        momo endpoints reveal b91f0c1e-7d2b-4c3d-9e4f-0123456789ab
        momo endpoints reveal b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --password-file owner.password -o id
        momo endpoints reveal --account --secret-file account.secret
    """
    path = Path.ACCOUNT_SECRET if account else Path.ENDPOINT_SECRET
    said = "This secret signs the webhooks."
    return _secret(client, terminal, path, endpoint, account, password_file, secret_file, said)


@command("endpoints rotate", view=_SECRET_VIEW)
def rotate(
    client: Client,
    terminal: Terminal,
    endpoint: str | None = _ENDPOINT_OR_ACCOUNT,
    account: bool = _ACCOUNT,
    expire_previous: bool = flag("End the old secrets now."),
    password_file: str | None = PASSWORD_FILE,
    secret_file: str | None = SECRET_FILE,
) -> Answer:
    """The new secret is shown only now. --account changes the one for the webhook URLs of transactions. For 24 hours the
    old secret signs too, so that the receiver can switch; --expire-previous ends it at once, for a secret that has
    leaked. It needs the owner's password; five attempts in 15 minutes.

    Examples:
        momo endpoints rotate b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --secret-file hook.secret
        momo endpoints rotate b91f0c1e-7d2b-4c3d-9e4f-0123456789ab --expire-previous
        momo endpoints rotate --account
    """
    path = Path.ACCOUNT_ROTATE if account else Path.ENDPOINT_ROTATE
    sent = {"expire_previous": True} if expire_previous else {}
    said = "The new secret signs from now on."
    return _secret(client, terminal, path, endpoint, account, password_file, secret_file, said, **sent)


def _secret(
    client: Client, terminal: Terminal, path: str, endpoint: str | None, account: bool,
    password_file: str | None, file: str | None, said: str, **sent: Any,
) -> Answer:  # fmt: skip
    """Ask for the owner's password, make the call, and return the secret or the file that has it."""
    if (endpoint is not None) == account:
        raise usage("name the endpoint, or use --account for the account's own webhook secret")
    with keep_in(file, "--secret-file") as keep:
        if endpoint is not None:
            path = path_of(path, id=endpoint_id(client, endpoint))
        sent["password"] = owners_password(terminal, password_file)
        body = client.call("POST", path, body=sent).body
        keep(str(body.get("secret")))
    secret = None if file is not None else body.get("secret")
    until = body.get("previous_secret_expires_at")
    where = f"in {file}" if secret is None else terminal.style(clean(secret), "bold")
    old = f"The old signature is also sent until {clock(until, terminal)}"
    return Answer(
        dumps({**body, "secret": secret}),
        [{"secret": secret, "previous_secret_expires_at": until}],
        lines=[f"{terminal.tick} {said}", f"  secret  {where}"],
        notes=[f"{old} (X-Svc-Signature-Previous)."] if until else (),
    )


def _headers(terminal: Terminal, given: Sequence[str] | None, before: Mapping[str, str]) -> dict[str, str] | None:
    """Return the headers `before` with those of the command line; None if it names none."""
    if not given:
        return None
    found = dict(before)
    for text in given:
        name, colon, value = (part.strip() for part in text.partition(":"))
        if not colon or not name:
            # The text may be a secret whose name was forgotten, and stderr may be logged.
            raise usage("--send-header: a value is not of the form NAME: VALUE, such as 'X-Shop: ama'")
        found = {each: kept for each, kept in found.items() if each.lower() != name.lower()}
        if value:
            found[name] = read_text(terminal, value[1:]).strip() if value[0] == "@" else value
    return found


def _state(row: Row) -> Cell:
    if row.get("auto_paused_at"):
        return Cell("✗ auto-paused", "red")
    if not row.get("is_active"):
        return Cell("! paused", "yellow")
    return Cell("✓ sandbox" if row.get("is_sandbox") else "✓ active", "green")


def _path(client: Client, endpoint: str) -> str:
    return path_of(Path.ENDPOINT, id=endpoint_id(client, endpoint))


def _shown(client: Client, reply: Reply, terminal: Terminal, *said: str, status: str = "") -> Answer:
    """Return the answer with one endpoint below the lines `said`; `status` is the status after a pause or resume."""
    row: Row = {**reply.data, "status": status} if status else reply.data
    cell = _state(row)
    failed = at(reply.body, "meta.last_error")
    last = []
    if isinstance(failed, dict):
        code = failed.get("response_status_code")
        answer = clean(code if code is not None else at(failed, "error.code"))
        last = [
            f"  last bad {ago(failed.get('at'), terminal)}: {answer}",
            f"           {clean(failed.get('diagnosis'))}",
        ]
    lines = [
        *said,
        f"{terminal.style(cell.text, cell.style)}  {clean(row.get('url'))}",
        f"  id       {clean(row.get('id'))}",
        f"  label    {clean(row.get('description')) or '—'}",
        f"  last ok  {ago(row.get('last_success_at'), terminal) or '—'}",
        f"  fails    {row.get('consecutive_failures') or 0} in a row",
        *([f"  headers  {clean(', '.join(row['headers']))}"] if row.get("headers") else []),
        *last,
    ]
    notes = warnings_of(reply.body)
    name = endpoint_word(client, terminal, clean(row.get("id")))
    next_ = [f"momo deliveries list --endpoint {name}"]
    if not row.get("is_active"):
        next_.append(f"momo endpoints resume {name}")
    document = with_status(reply.body, status) if status else reply.text
    return Answer(document, [row], lines=lines, notes=notes, next=next_)
