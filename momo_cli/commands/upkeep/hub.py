"""The commands about a hub and its branches: at the hub, and at a branch."""

import shlex
from typing import Final
from urllib.parse import urlsplit

from daemon.wire import ErrorCode, Path
from momo_cli.errors import Failure, usage
from momo_cli.exit_codes import CANCELLED, DAEMON, OK, PARTIAL
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import argument, flag, option
from momo_cli.inputs.typed_values import is_this_machine, read_text, time_of
from momo_cli.service.daemon_program import run_verb, stop_daemon
from momo_cli.show.answer import BY_RESULT, Answer, Head, Row, made, unchanged, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import ago, counted, fact_lines, money, phone
from momo_cli.socket.client import Client, Reply, path_of
from momo_cli.text import at, clean
from momo_cli.times import duration_s, parse_stamp
from parsers.money import read_api_amount, render

_STATUS_VIEW: Final = view_of(
    "id name status decides epoch acked last_heard_at version payments_today open_reviews refused asked clock_off_us waiting",
    Head("BRANCH", lambda row, _: clean(row["name"])),
    Head("STATUS", lambda row, _: clean(row["status"])),
    Head("HEARD", lambda row, t: ago(row.get("last_heard_at"), t) or "—"),
    Head("TODAY", lambda row, _: str(row["payments_today"]), right=True),
    Head("MONEY", lambda row, _: _takings([row]), right=True),
    Head("REVIEWS", lambda row, _: str(row["open_reviews"]), right=True),
    Head("WAITING", lambda row, _: str(row["waiting"]), right=True),
    Head("REFUSED", lambda row, _: str(row["refused"]), right=True),
    Head("ASKED", lambda row, _: str(row["asked"]), right=True),
    Head("CLOCK", lambda row, _: _clock(row)),
    id="id",
)
_INVITE_VIEW: Final = view_of(
    "name word decides expires_in_s url ok message",
    Head("BRANCH", lambda row, _: clean(row["name"])),
    Head("TYPE THERE", lambda row, _: clean(row.get("command") or f"✗ {row.get('message')}")),
    id="word",
)
_ASKED_VIEW: Final = view_of("id branch kind", id="id")
_JOIN_VIEW: Final = view_of("joined name hub url decides payments transactions reviews codes_like_a_hub", id="name")
_BRANCH_VIEW: Final = view_of(
    "name url decides epoch acked behind heard_at problem handed_up undecided",
    "agrees=compared.agrees hub_payments=compared.hub_payments",
    id="name",
)
_HOW_FAR: Final = "momo hub status"
_WAIT_S: Final = 1.0
_ASIDE_SHOWN: Final = 10
_DAYS_SHOWN: Final = 7
_LABELS: Final = 15
"""The width of the column of the labels."""
_INSIDE: Final = (
    "! Branches cannot reach this hub yet: its API is off, or listens only on this machine. Type the commands below, with "
    "the hub's own name, and invite the branch again."
)
_OPENED: Final = (
    "momo daemon certificate create",
    "momo config set http.bind 0.0.0.0:8420",
    "momo config set http.public_base_url https://HUB-NAME:8420",
    "momo daemon restart",
)
_STOP_S: Final = 30.0
_SILENT_S: Final = 900.0
_MINUTE_US: Final = 60_000_000


@command("hub init", view=view_of("changed url rows payments amount_minor kept"))
def init(
    client: Client,
    terminal: Terminal,
    database: str | None = option("URL", "First copy the shop to this empty PostgreSQL database."),
    stop: bool = flag("Stop the daemon first, with --database."),
) -> Answer:
    """Its payment codes begin with a digit from now on; those of branches begin with a letter. It asks first; `momo hub
    end` takes it back until a branch joins. Exit 10: not confirmed. Branches reach it by HTTPS:
    set http.bind and http.public_base_url, and use `momo daemon certificate create`, or a proxy with a public name.

    With --database the shop's data moves to a PostgreSQL server, where it is a hub: every row is copied in one transaction,
    counts and sums are compared, and store.url is set. The file stays as it is. Stop the daemon first, or use --stop, and
    start it afterwards.

    Examples:
        momo hub init
        momo hub init --database postgresql:///momo --stop
    """
    if database is not None:
        if stop and client.alive():
            stop_daemon(client, terminal, _STOP_S)
        done = run_verb(terminal, "move", database, "--json")
        row = done.data
        lines = [
            f"{terminal.tick} Copied {row['rows']} rows with {counted(row['payments'], 'payment')}; the sums agree.",
            f"  The file stays: {clean(row['kept'])}",
            "  The copy is a hub.",
        ]
        return Answer(*done.parts, lines=lines, next=["momo daemon start", "momo hub invite --help"])
    if stop:
        raise usage("--stop goes with --database")
    if not terminal.flags.yes and client.find(Path.LOCAL_HUB) is None:
        question = "Make this shop a hub? Its payment codes then begin with a digit."
        if not terminal.confirm(question):
            return unchanged()
    reply = client.call("POST", Path.LOCAL_HUB, body={})
    said = "This shop is a hub now." if reply.data["changed"] else "This shop is a hub already."
    lines = [f"{terminal.tick} {said}"]
    undo = ["momo hub end"] if reply.data["changed"] else []
    return Answer(*reply.parts, lines=lines, next=["momo hub invite --help", *undo])


@command("hub end", view=view_of("changed withdrawn ended"))
def end(client: Client, terminal: Terminal) -> Answer:
    """Open invitations are withdrawn; the users and keys of those branches end, and are named. A hub that a branch has joined stays one, also if the branch has left (exit 5): it
    has the branch's rows. An ordinary shop does not change (exit 0).

    Examples:
        momo hub end
    """
    try:
        reply = client.call("DELETE", Path.LOCAL_HUB)
    except Failure as failure:
        if failure.code == ErrorCode.BRANCH_EXISTS:
            failure.next = ("momo hub status",)
        raise
    said = "This shop is an ordinary one again." if reply.data["changed"] else "This shop is no hub."
    withdrawn = reply.data["withdrawn"]
    notes = [f"{counted(withdrawn, 'invitation')} withdrawn."] if withdrawn else []
    notes += [f"Ended with them: {clean(', '.join(reply.data['ended']))}."] if reply.data["ended"] else []
    return Answer(*reply.parts, lines=[f"{terminal.tick} {said}"], notes=notes)


@command("hub invite", view=_INVITE_VIEW)
def invite(
    client: Client,
    terminal: Terminal,
    name: str | None = argument("[NAME]", "The branch, such as kumasi.", default=None),
    decides: str = option("all|nothing", "nothing: it only receives payments; orders are made here.", default="all"),
    file: str | None = option("FILE", "Invite a branch for each line: NAME, or NAME nothing."),
    valid: str = option("15m", "How long a word works, at most 30d.", default="15m"),
    distrust_since: str | None = option("TIME", "Its key was stolen then: end it, and count nothing that came since."),
) -> Answer:
    """It prints the command to type at the branch. The word works once. A branch that is invited again gets a new key when it
    joins, and the machine that sent as this branch before is refused. With --file the other branches are invited if a line is
    wrong; exit 9.

    With --distrust-since the branch's key ends at once. What came with it since that time (or up to an hour before) counts
    for nothing here, and does not come back to the branch; what the branch sends again after it has joined counts. The answer
    has the payments, and names the orders of head office that such a payment paid.

    Examples:
        momo hub invite kumasi
        momo hub invite kumasi --distrust-since 2026-11-20T14:00
        momo hub invite box-7 --decides nothing
        momo hub invite --file branches.txt --valid 7d -o csv
    """
    if decides not in ("all", "nothing"):
        raise usage("--decides takes all or nothing")
    if (name is None) == (file is None):
        raise usage("name a branch, or a file of branches with --file")
    if name is None and distrust_since is not None:
        raise usage("--distrust-since goes with the name of one branch")
    valid_s = round(duration_s(valid, "--valid"))
    if name is None:
        lines = read_text(terminal, str(file)).splitlines()
        rows = [_invited(client, line.split(), decides, valid_s) for line in lines if line.strip()]
        refused = sum(not row["ok"] for row in rows)
        notes = [f"{counted(refused, 'line')} refused; the others are invited."] if refused else []
        return Answer(rows=rows, notes=notes, exit_code=PARTIAL if refused else OK, stream=True)
    since = time_of(distrust_since, "--distrust-since", terminal)
    body = {"name": name, "decides": decides, "valid_s": valid_s}
    body |= {} if since is None else {"distrust_since": since}
    reply = client.call("POST", Path.LOCAL_HUB_INVITES, body=body)
    row = reply.data
    inside = terminal.human and _is_inside(client, clean(row["url"]))
    return Answer(
        *reply.parts,
        lines=[f"Within {valid}, type at {clean(row['name'])}:", f"  {_joining(row)}"],
        plain=row["word"],
        notes=_distrusted(row) + ([_INSIDE] if inside else []),
        next=list(_OPENED) if inside else ["momo hub status"],
    )


def _distrusted(row: Row) -> list[str]:
    """Return notes about the payments that no longer count."""
    if "distrusted" not in row:
        return []
    notes = [f"{_together(one)} no longer count." for one in row["distrusted"]] or ["No payment came since then."]
    if row["paid_orders"]:
        notes.append(
            "! Such payments paid orders of head office, which stay paid. Look into the wallet for: "
            f"{_orders(row['paid_orders'])}"
        )
    return notes


def _orders(rows: list[Row]) -> str:
    """Return orders, each by its reference and amount."""
    return ", ".join(f"{clean(one['reference'])} ({money(one['amount'], one['currency'])})" for one in rows)


def _together(one: Row) -> str:
    """Return number and sum of payments."""
    return f"{counted(one['count'], 'payment')} of {money(one['amount'], one['currency'])} together"


def _joining(row: Row) -> str:
    return f"momo hub join {clean(row['url'])} {clean(row['word'])}"


def _invited(client: Client, words: list[str], decides: str, valid_s: int) -> Row:
    """Invite the branch of one line; return its row, or why it was refused."""
    if words[1:] in ([], ["all"], ["nothing"]):
        body = {"name": words[0], "decides": [*words, decides][1], "valid_s": valid_s}
        try:
            made: Row = client.call("POST", Path.LOCAL_HUB_INVITES, body=body).data
        except Failure as failure:
            if not failure.http_status:
                raise
            return {"name": words[0], "ok": False, "message": failure.message}
        return {**made, "ok": True, "command": _joining(made)}
    why = "a line is a name without blanks, and `nothing` if head office decides everything"
    return {"name": words[0], "ok": False, "message": why}


def _is_inside(client: Client, url: str) -> bool:
    """Return whether branches cannot reach the API: it is off, or its address is this machine's own."""
    if is_this_machine(urlsplit(url).hostname or ""):
        return True
    status: Row = client.find(Path.LOCAL_STATUS) or {}
    return "http" in status and not status["http"]


@command("hub status", view=BY_RESULT)
def status(
    client: Client,
    terminal: Terminal,
    wait: bool = flag("At a branch: wait until all is sent; then compare every day."),
) -> Answer:
    """At a hub: HEARD is when a branch last sent, TODAY and MONEY its payments of today, REVIEWS its open reviews, WAITING the
    payments that head office has to decide. REFUSED counts facts that could not be stored, ASKED what was asked of the branch
    and is not answered. CLOCK is how far its clock is off, if it is more than a minute. A branch that joins, or comes back after an
    hour, first tells number and sum of what it sends by the network's day. The last line sums up.

    At a branch: "to send" counts changes that the hub does not have yet; in JSON it is `behind`. "handed up" counts
    payments that head office decides. "same as the hub" compares number and sum of the payments of each of the last 31 days
    with the hub's copies.

    Examples:
        momo hub status
        momo hub status --wait
    """
    try:
        reply = client.get(Path.LOCAL_HUB)
    except Failure as failure:
        if failure.code != ErrorCode.NOT_A_HUB:
            raise
        try:
            if wait:
                _wait_until_sent(client, terminal)
            reply = client.get(Path.LOCAL_BRANCH, compare="all" if wait else "recent")
        except Failure as failure:
            if failure.code == ErrorCode.NOT_A_BRANCH:
                failure.message = "This shop is neither a hub nor a branch."
                failure.next = ("momo hub join --help", "momo hub init")
            raise
        row = reply.data
        facts = [
            ("branch", clean(row["name"])),
            ("hub", clean(row["url"])),
            ("heard", ago(row.get("heard_at"), terminal) or "never"),
            ("to send", str(row["behind"])),
            ("same as the hub", _compared(row.get("compared") or {})),
            ("handed up", f"{row['handed_up']}, of which {row['undecided']} not decided"),
        ]
        if row.get("problem"):
            facts.append(("problem", clean(row["problem"])))
        return Answer(*reply.parts, lines=fact_lines(facts, _LABELS), view=_BRANCH_VIEW)
    return Answer(
        *reply.parts,
        empty="No branch was invited yet.",
        notes=[*_brought(reply.data, terminal), *([_summary(reply.data, terminal)] if reply.data else [])],
        next=["momo hub invite --help"],
        view=_STATUS_VIEW,
    )


def _brought(rows: list[Row], terminal: Terminal) -> list[str]:
    """Return notes about what branches sent together in the last week, by day."""
    return [
        f"{clean(row['name'])} began {ago(row['brings']['at'], terminal)} to send what had waited. {note}"
        for row in rows
        if row.get("brings")
        for note in _by_day(row["brings"])
    ]


def _summary(rows: list[Row], terminal: Terminal) -> str:
    """Return the sums of all branches: silent ones, what waits, and money."""
    joined = [row for row in rows if row["status"] != "left"]
    silent = sum(_is_silent(row, terminal) for row in joined)
    disputed = sum(row["status"] == "disputed" for row in joined)
    parts = [counted(len(joined), "branch", "branches")]
    parts += [f"{silent} silent for more than a quarter of an hour"] if silent else []
    parts += [f"{disputed} disputed"] if disputed else []
    waiting = sum(row["waiting"] for row in joined)
    parts += [f"{counted(waiting, 'payment')} to be decided here"] if waiting else []
    lost = [one for row in rows for one in row.get("lost_orders") or ()]
    if lost:
        parts.append(f"paid orders that a restore of this hub lost: {_orders(lost)}")
    parts += [
        f"{_together(one)} on a new SIM of {clean(row['name'])} wait: momo hub accept {clean(row['name'])}"
        for row in joined
        for one in row.get("unconfirmed") or ()
    ]
    paid = sum(row["payments_today"] for row in joined)
    parts.append(f"{counted(paid, 'payment')} today{', ' if paid else ''}{_takings(joined)}")
    return "; ".join(parts) + "."


def _is_silent(row: Row, terminal: Terminal) -> bool:
    heard = parse_stamp(row.get("last_heard_at"))
    return heard is not None and (terminal.now() - heard).total_seconds() > _SILENT_S


def _takings(rows: list[Row]) -> str:
    """Return the sums of today in each currency."""
    sums = dict[str, int]()
    for row in rows:
        for one in row["takings_today"]:
            minor = read_api_amount(one["amount"], one["currency"]) or 0
            sums[one["currency"]] = sums.get(one["currency"], 0) + minor
    return ", ".join(money(render(minor, currency), currency) for currency, minor in sums.items())


_BRANCH = argument("BRANCH", "The branch, such as kumasi.")
_NUMBER = argument("NUMBER", "The payer's phone number.")


@command("hub distrust", view=view_of("branch", id="branch"))
def distrust(
    client: Client,
    terminal: Terminal,
    branch: str = _BRANCH,
    since: str | None = option("TIME", "Count nothing that came since then; by default since now."),
) -> Answer:
    """Its key ends at once, and what came with it since that time (or up to an hour before) counts for nothing here: payments,
    sales, orders, reviews. The network IDs of such payments are free for other branches. The way back: invite the branch, and
    let it join again; what it sends then counts. It asks first; exit 10: not confirmed.

    Examples:
        momo hub distrust kumasi --since 2026-11-20T14:00
    """
    at_time = time_of(since, "--since", terminal)
    if not terminal.confirm(f"End the key of {clean(branch)}? It sends nothing until it joins again."):
        row = {"branch": branch}
        return Answer(*made(row), lines=["Nothing was changed."], exit_code=CANCELLED)
    body = {"branch": branch} | ({} if at_time is None else {"since": at_time})
    reply = client.call("POST", Path.LOCAL_HUB_DISTRUST, body=body)
    said = f"{terminal.tick} The key of {clean(branch)} has ended."
    return Answer(
        *reply.parts, lines=[said], notes=_distrusted(reply.data), next=[f"momo hub invite {shlex.quote(branch)}"]
    )


@command("hub accept", view=view_of("branch payment_id stored refused counted", id="branch"))
def accept(
    client: Client, terminal: Terminal, what: str = argument("PAYMENT|BRANCH", "A payment's id, or a branch.")
) -> Answer:
    """PAYMENT: of several payments of branches with one network ID this one counts. By itself the one counts whose SIM and
    number its branch had before; if that is none or several, none counts until you choose. Look into the wallets first.

    BRANCH: rows that were kept aside are stored after all, also payments of a day that has more than ten times a usual one.
    Payments on a SIM or number that the branch has had for less than a week, above hub.unconfirmed_limit a day, count now,
    and so do later ones on its present SIMs and numbers. `momo hub status` names what waits, with its sum.

    Examples:
        momo hub accept 0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f
        momo hub accept kumasi
    """
    reply = client.call("POST", Path.LOCAL_HUB_ACCEPT, body={"what": what})
    row = reply.data
    said = f"{terminal.tick} The payment of {clean(row['branch'])} counts."
    if row["payment_id"] is None:
        said = f"{terminal.tick} {counted(row['stored'], 'row')} of {clean(row['branch'])} stored, {row['refused']} still kept aside."
    notes = [f"{_together(one)} count now." for one in row.get("counted") or ()]
    return Answer(*reply.parts, lines=[said], notes=notes, next=["momo hub status"])


@command("hub release", view=view_of("payment_id branch", id="payment_id"))
def release(client: Client, terminal: Terminal, payment: str = argument("PAYMENT", "The payment's id.")) -> Answer:
    """The branch handed it up, because its reference has a code of head office, or because head office claimed it. From now
    on head office does not use it; the branch does once its connection is back.

    Examples:
        momo hub release 0192f0c1-7d2a-7c3e-9a54-3f2b8c1d4e5f
    """
    reply = client.call("POST", path_of(Path.LOCAL_HUB_RELEASE, id=payment), body={})
    said = f"{terminal.tick} The branch {clean(reply.data['branch'])} gets it back."
    return Answer(*reply.parts, lines=[said], next=["momo hub status"])


@command("hub send-sms", view=_ASKED_VIEW)
def send_sms(
    client: Client,
    terminal: Terminal,
    branch: str = _BRANCH,
    number: str = _NUMBER,
    text: str = argument("TEXT", "The text."),
) -> Answer:
    """A SIM of the branch sends it, within the limits of the branch. The dashboard's Journal has its answer.

    Examples:
        momo hub send-sms kumasi 0244124567 "Your order is ready."
    """
    return _ask(client, terminal, branch, "send_sms", {"number": number, "text": text})


@command("hub forget", view=_ASKED_VIEW)
def forget(client: Client, terminal: Terminal, branch: str = _BRANCH, number: str = _NUMBER) -> Answer:
    """Head office has copies of the branch's rows: type `momo data forget` here too. The
    dashboard's Journal has the branch's answer.

    Examples:
        momo hub forget kumasi 0244124567 --yes
    """
    question = f"Erase the data of {phone(number)} at {clean(branch)} for good? This cannot be undone."
    if not terminal.confirm(question):
        row = {"id": None, "branch": branch, "kind": "forget_payer"}
        return Answer(*made(row), lines=["Nothing was asked."], exit_code=CANCELLED)
    return _ask(client, terminal, branch, "forget_payer", {"number": number})


@command("hub set", view=_ASKED_VIEW)
def set_(
    client: Client,
    terminal: Terminal,
    branch: str = _BRANCH,
    key: str = argument("KEY", "The setting."),
    value: str = argument("VALUE", "The new value."),
) -> Answer:
    """A hub may change the sections transactions, sms, pages (not client_header, logo), retention and limits. The branch
    uses the new value after its next start. The dashboard's Journal has its answer.

    Examples:
        momo hub set kumasi transactions.late_policy review
    """
    return _ask(client, terminal, branch, "settings", {"key": key, "value": value})


def _ask(client: Client, terminal: Terminal, branch: str, kind: str, body: dict[str, str]) -> Answer:
    asked = {"branch": branch, "kind": kind, "body": body}
    reply = client.call("POST", Path.LOCAL_HUB_COMMANDS, body=asked)
    said = f"{terminal.tick} The branch {clean(branch)} is asked; it answers when its connection is back."
    return Answer(*reply.parts, lines=[said], next=["momo hub status"])


def _clock(row: Row) -> str:
    off = row.get("clock_off_us") or 0
    return "" if abs(off) < _MINUTE_US else f"{off // _MINUTE_US:+d} min"


_TAKE_UNKNOWN: Final = flag("--take-unknown", "Take payments of which only the hub knows.")


@command("hub join", view=_JOIN_VIEW)
def join(
    client: Client,
    terminal: Terminal,
    url: str = argument("URL", "The hub's address."),
    word: str = argument("WORD", "The word of the invitation."),
    dry_run: bool = flag("-n", "--dry-run", "Try the invitation and count what would be sent."),
    take_unknown: bool = _TAKE_UNKNOWN,
) -> Answer:
    """It sends its history, then all that it stores; it works on without internet and sends later. On a terminal the command
    waits until the history is sent, and compares number and sum of the payments of each day with the hub's; Ctrl-C ends
    the waiting. Its payment codes begin with a letter from now on. Codes in use that begin with a digit stay its own.
    Exit 7: the hub did not answer; 5: it refused. A shop that joins again is asked about payments that only the hub has, as by
    `momo hub restore --from-hub`.

    Examples:
        momo hub join https://hub.example 7k2m9xq4 --dry-run
        momo hub join https://hub.example 7k2m9xq4
    """
    try:
        reply = client.call("POST", Path.LOCAL_BRANCH, body={"url": url, "word": word, "dry_run": dry_run})
    except Failure as failure:
        if failure.code == ErrorCode.HUB_REFUSED and at(failure.body, "error.answered") is False:
            failure.exit_code = DAEMON
            look = f"curl -I {shlex.quote(url.strip().rstrip('/') + '/healthz')}"
            again = f"momo hub join {shlex.quote(url)} {shlex.quote(word)}"
            failure.next = (look, f"{again} --dry-run" if dry_run else again)
        elif failure.code == ErrorCode.HUB_REFUSED:
            failure.next = ("momo hub join --help",)
        elif failure.code == ErrorCode.INVITATION_INVALID:
            failure.next = ("at the hub: momo hub invite NAME",)
        raise
    row = reply.data
    if row["joined"] and row.get("unknown"):
        back = _restore(client, terminal, take_unknown=take_unknown).data
        row |= {name: back[name] for name in ("rows", "aside", "unknown", "taken")}
    sent = f"{row['payments']} payments and {row['transactions']} transactions"
    if row["joined"]:
        said = f"{terminal.tick} This shop is the branch {clean(row['name'])} of {clean(row['hub'])}; it sends {sent}."
    else:
        said = f"This shop would be the branch {clean(row['name'])} of {clean(row['hub'])}, and send {sent}."
    notes = _by_day(row) if dry_run else []
    if row["codes_like_a_hub"]:
        notes.append(f"{row['codes_like_a_hub']} codes in use begin with a digit; they stay this shop's own.")
    if row.get("rows"):
        notes.append(
            f"The hub had later rows than this shop: {row['rows']['payment']} payments and "
            f"{row['rows']['transaction']} transactions came back first."
        )
    notes += _aside(row)
    lines = [said]
    if row["joined"] and terminal.human:
        terminal.note(said)
        _wait_until_sent(client, terminal)
        now = client.get(Path.LOCAL_BRANCH, compare="all").data
        lines = [f"The hub has the same: {_compared(now.get('compared') or {})}"]
    return Answer(*reply.parts, lines=lines, notes=notes, next=[f"{_HOW_FAR} --wait"] if row["joined"] else [])


def _by_day(row: Row) -> list[str]:
    """Return a note with number and sum of the payments of the newest days."""
    days = [f"{clean(one['day'])}: {_together(one)}" for one in row.get("days") or () if one["mode"] == "live"]
    shown = days[:_DAYS_SHOWN] + [f"{len(days) - _DAYS_SHOWN} more in -o json"] * (len(days) > _DAYS_SHOWN)
    return [f"By day: {'; '.join(shown)}"] if days else []


def _wait_until_sent(client: Client, terminal: Terminal) -> None:
    told = None
    while True:
        row = client.get(Path.LOCAL_BRANCH).data
        if not row["behind"] or row.get("problem"):
            return
        if row["behind"] != told:
            told = row["behind"]
            terminal.note(f"{told} changes to send. Ctrl-C ends the waiting, not the sending.")
        client.pause(_WAIT_S)


def _compared(found: Row) -> str:
    if found.get("agrees") is None:
        return f"not known: {clean(found.get('why') or 'the hub was not asked')}"
    span = "of the last 31 days" if found.get("days") else "in all"
    if found["agrees"]:
        return f"yes: {found['payments']} payments {span}, numbers and sums of each day agree"
    days = ", ".join(map(clean, found["different_days"]))
    return f"no: {found['payments']} payments {span} here, {found['hub_payments']} at the hub; different days: {days}"


@command("hub leave", view=view_of("left"))
def leave(
    client: Client, terminal: Terminal, force: bool = flag("Forget the hub now; what it may have used stays handed up.")
) -> Answer:
    """The branch leaves by itself once all is sent and payments that head office did not use are back. momo hub status
    shows how far it is. With --force, payments that were sent and not answered stay handed up, because head office may have
    used them; momo reconcile uses one with the owner's password.

    Examples:
        momo hub leave
        momo hub leave --force
    """
    reply = client.call("POST", Path.LOCAL_BRANCH_LEAVE, body={"force": force})
    if reply.data["left"]:
        said = f"{terminal.tick} This shop is on its own."
    else:
        said = "The branch leaves once all is sent and decided."
    notes = [
        f"{_together(one)} were sent to head office, which has not "
        "answered. It may have used them, so they stay handed up; momo reconcile asks for the owner's password."
        for one in reply.data.get("unanswered") or ()
    ]
    return Answer(*reply.parts, lines=[said], notes=notes, next=[] if reply.data["left"] else [_HOW_FAR])


@command("hub restore", view=view_of("payments=rows.payment transactions=rows.transaction"))
def restore(
    client: Client,
    terminal: Terminal,
    from_hub: bool = flag("Take the rows from the hub."),
    take_unknown: bool = _TAKE_UNKNOWN,
) -> Answer:
    """For a shop that was restored from an old backup, or set up anew and joined again. Rows that are further on here stay, and
    the answer names rows of the hub that contradict them. Texts of SMS are not at the hub. Then everything is sent once more, and another machine that sends as this
    branch is refused.

    Payments that only the hub has, and of which this shop has no SMS, could be made up with a stolen key. The command says how
    many they are and asks; without a terminal, or with --yes, they stay away unless --take-unknown is given. Those that come
    back and pay nothing yet need the owner's password to be used.

    Examples:
        momo hub restore --from-hub
        momo hub restore --from-hub --take-unknown
    """
    if not from_hub:
        raise usage("say where the rows come from: --from-hub")
    reply = _restore(client, terminal, take_unknown=take_unknown)
    rows = reply.data["rows"]
    said = f"{terminal.tick} {rows['payment']} payments and {rows['transaction']} transactions came back."
    return Answer(*reply.parts, lines=[said], notes=_aside(reply.data), next=[_HOW_FAR])


def _restore(client: Client, terminal: Terminal, *, take_unknown: bool) -> Reply:
    """Take the rows from the hub, after a question about the payments that only the hub has."""
    path = Path.LOCAL_BRANCH_RESTORE
    may_ask = terminal.can_ask() and not terminal.flags.yes
    if not take_unknown and may_ask:
        unknown = client.call("POST", path, body={"dry_run": True}).data.get("unknown")
        if unknown:
            question = f"The hub has {_unknown(unknown)} that this shop has no SMS of. Look into the wallet. Take them?"
            take_unknown = terminal.yes_or_no(question, "--take-unknown", default=False)
    return client.call("POST", path, body={"take_unknown": take_unknown})


def _unknown(sums: list[Row]) -> str:
    return " and ".join(map(_together, sums))


def _aside(row: Row) -> list[str]:
    """Return notes about rows that did not come back, and about payments that only the hub had."""
    notes = list[str]()
    if row.get("unknown") and row.get("taken"):
        notes.append(
            f"{_unknown(row['unknown'])} came from the hub alone; those that pay nothing need the owner's password to be used."
        )
    elif row.get("unknown"):
        notes.append(
            f"{_unknown(row['unknown'])} did not come back, because this shop has no SMS of them. They come with: "
            "momo hub restore --from-hub --take-unknown"
        )
    aside = row.get("aside") or []
    if not aside:
        return notes
    named = clean(", ".join(aside[:_ASIDE_SHOWN]))
    return [*notes, f"{len(aside)} rows did not come back; they contradict rows here or cannot be stored: {named}"]
