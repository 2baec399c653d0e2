"""The command setup: make the shop, then the steps up to a first payment.

Each step checks whether it is done, else applies the flags, else asks, once: a postponed step is recorded in
`state/setup.json` and shown with the command for it. If a step fails, the next one still runs.
"""

import atexit
import contextlib
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from daemon.wire import UNSHOWN_NAME, ErrorCode, Path
from momo_cli import exit_codes
from momo_cli.errors import Failure
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import HTTP_ADDRESS, NEW_PASSWORD_FILE, flag, option
from momo_cli.inputs.typed_values import STDIN, new_password, only_given, read_password_file
from momo_cli.service.daemon_program import VerbResult, machine_user, run_verb
from momo_cli.setup import machine, phone
from momo_cli.setup.step import Setup, SetupAnswers, outcome, read_answer_file, setup_answers
from momo_cli.show.answer import Answer, Cell, Row, dumps, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.show.words import counted, styled
from momo_cli.show.words import phone as phone_text
from momo_cli.socket.client import Client
from momo_cli.text import at, clean

_FIRST: Final = "momo init --help"
_WELCOME: Final = """\
Welcome to momo. A few questions, about five minutes.
Ctrl-C stops at any time; momo setup continues from there.
"""
_STEPS: Final[Mapping[str, tuple[str, Callable[[Setup], Row]]]] = {
    "http": ("The address", machine.http),
    "service": ("Start with the machine", machine.service),
    "awake": ("Sleep", machine.keep_awake),
    "daemon": ("The daemon", machine.daemon),
    "modem": ("The phone", phone.modem),
    "number": ("The number", phone.number),
    "practice": ("A practice payment", phone.practice),
    "first_payment": ("A test payment of real money", phone.first_payment),
    "endpoint": ("Webhooks to your program", phone.endpoint),
    "backup": ("A second copy of backups", machine.backup),
}
"""Each step by its id; creating the shop is the first one, before these."""
_TOTAL: Final = len(_STEPS) + 1
_NEEDED: Final = {"modem": "no phone with a SIM", "number": "no number that receives payments"}
"""The steps without which no payment is taken, and the text for each that is not done."""
_ASK_THE_DAEMON: Final = frozenset({"modem", "number", "practice", "first_payment", "endpoint"})
_MARKS: Final = {
    "done": ("✓", "green"),
    "skipped": ("—", "dim"),
    "needs_action": ("!", "yellow"),
    "failed": ("✗", "red"),
}
_SECRETS: Final = {"api_key": "API key", "test_api_key": "test API key", "webhook_secret": "webhook secret"}


@command("setup", view=view_of("id status detail fix"), read=True)
def setup(
    client: Client,
    terminal: Terminal,
    shop: str | None = option("NAME", "The shop's name."),
    tz: str | None = option("ZONE", "The shop's time zone; default: Africa/Accra."),
    owner_email: str | None = option("ADDRESS", "The owner's address for notices."),
    password_file: str | None = NEW_PASSWORD_FILE,
    method: list[str] | None = option("NET:PHONE:NAME", "A merchant number; repeat for each."),
    sim: list[str] | None = option("DEVICE:SLOT=PHONE", "The SIM of a merchant number; repeat for each."),
    http: str | None = HTTP_ADDRESS,
    public_url: str | None = option("URL", "The public address of the checkout page."),
    endpoint: str | None = option("URL", "An endpoint for payments."),
    service: str | None = option("user|system|none", "Start with the machine."),
    keep_awake: str | None = option("off|plugged|always", "When to prevent sleep."),
    practice: bool | None = option("--practice/--no-practice", "Make a practice payment."),
    first_payment: bool | None = option("--first-payment/--no-first-payment", "Wait for a test payment of real money."),
    pin_file: str | None = option("FILE", "The PIN of the SIM that asks for it."),
    backup_to: str | None = option("FOLDER", "A second place for backups, such as a stick."),
    modem: list[str] | None = option("PATH", "The tty of a modem that is not found; stored in [modems] ports."),
    hilink: str | None = option("URL", "Read the HiLink stick at this address, usually http://192.168.8.1."),
    android: list[str] | None = option("NETWORK", "Add an Android phone: mtn, telecel, at or none; repeat for SIM 2."),
    android_may_pay: bool | None = option(
        "--android-may-pay/--android-history", "Its messages may pay, or are history."
    ),
    source: str | None = option("--from", "FILE.toml", "A file with these flags; flags win."),
    check: bool = flag("Change nothing; show the missing steps (exit 6)."),
    again: bool = flag("Ask about postponed steps again."),
) -> Answer:
    """The steps are shop, password, keys, phone, SIM, merchant number, a first payment and backups. On a terminal it asks
    for missing data and skips finished steps; stop it at any time and run it again. Without a terminal it uses the
    flags (or --from FILE.toml). Keys and secrets are shown once; with --plain as the rows api_key, test_api_key
    and webhook_secret. Exit 6 when a requested step still needs you; with --check, when any step does.

    Examples:
        momo setup
        momo setup --no-input --shop "Ama Provisions" --password-file pw.txt --json
        momo setup --check
        momo setup --from shop.toml --no-input --service user
    """
    given = read_answer_file(source) if source is not None else {}
    flags = {
        "shop": shop, "tz": tz, "owner_email": owner_email, "password_file": password_file,
        "methods": method, "sims": sim, "http": http, "public_url": public_url,
        "endpoint": endpoint, "service": service, "keep_awake": keep_awake,
        "practice": practice, "first_payment": first_payment, "pin_file": pin_file,
        "backup_to": backup_to, "hilink": hilink, "android": android, "android_may_pay": android_may_pay,
    }  # fmt: skip
    given |= only_given(flags)
    answers = setup_answers(given, tuple(modem or ()), again=again)
    # Run `sudo momo setup` in place of this process if only root may set up the machine's shop.
    # Raises: Failure: NOT_PERMITTED without a terminal or without sudo.
    try:
        machine_user(terminal, "setup")
    except Failure as failure:
        sudo = shutil.which("sudo", path=terminal.located.environ.get("PATH"))
        if failure.code != ErrorCode.NOT_PERMITTED or sudo is None or not terminal.can_ask():
            own = "momo --profile own setup"
            failure.next = (*failure.next, own)
            raise
        terminal.note(f"momo serves this whole machine, so its setup needs root: {failure.next[0]}")
        terminal.stderr.flush()
        os.execv(sudo, ["sudo", "momo", *sys.argv[1:]])  # noqa: S606  # the same command, as root
    exists = os.path.exists(terminal.located.places.database)  # noqa: PTH110  # no pathlib needed
    new = not exists and not check
    seen = terminal.on_screen or terminal.flags.output is not None
    guided = terminal.human and seen and terminal.can_ask() and not check
    if guided:
        title = terminal.style(f"\n1 of {_TOTAL}  Your shop", "bold", message=True)
        terminal.note(_WELCOME + title)
    names = ("shop", "tz", "owner_email", "password_file")
    basics: dict[str, str | None] = {name: given.get(name) for name in names}
    while new and not basics["shop"]:
        basics["shop"] = terminal.ask("What is the shop's name? ", "--shop NAME")
    password = None
    if basics["password_file"] == STDIN or (new and basics["password_file"] is None):
        password = new_password(terminal, basics["password_file"])
    elif terminal.located.machine and basics["password_file"] is not None:
        # The machine's user may not be able to read the file.
        password = read_password_file(basics["password_file"])
    runs = client.alive()
    done = _create(client, terminal, basics, password, check=check)
    setup = Setup(client, terminal, answers, asks=guided, looks=check)
    data: dict[str, Any] = dict(done.body.get("data") or {})
    steps: list[Row] = data.get("steps") or []
    if (allowed := machine.let_caller_in(setup)) is not None:
        steps.append({"id": "access", **allowed})
    if guided or check or answers.any:
        answer = _guided(setup, done, data, steps)
    else:
        added = _add_methods(client, terminal, answers)
        answer = Answer(
            dumps(done.body),
            _setup_rows(data, steps),
            lines=_setup_lines(terminal, data, steps),
            next=[*([] if runs else ["momo daemon start"]), *added, _FIRST],
            exit_code=done.status,
        )
    if not check:
        atexit.register(_forget_unshown, terminal.located.places.home)
    return answer


def _guided(setup: Setup, done: VerbResult, data: dict[str, Any], steps: list[Row]) -> Answer:
    """Run the steps after the shop was made."""
    terminal = setup.terminal
    # The later steps know more about the phone.
    steps = [step for step in steps if step.get("id") != "modem"]
    for step in steps if setup.asks else ():
        _tell_result(setup, step)
    try:
        _run_steps(setup, steps)
    except KeyboardInterrupt:
        # The keys and secrets exist already and are shown only once: now.
        end = "Stopped; momo setup continues from here."
        lines = [*_secret_lines(terminal, data), "", end]
        rows = _setup_rows(data, steps)
        return Answer(done.text, rows, lines=lines, exit_code=exit_codes.INTERRUPTED)
    data["steps"] = steps
    bad = [step for step in steps if step["status"] in ("needs_action", "failed")]
    lines = _setup_lines(terminal, data, steps)
    if setup.asks:
        # The other steps were shown when they ended; what was not done is easily scrolled away.
        left = [step for step in steps if step["status"] == "skipped"]
        heading = ["", "Not done:"] if left else []
        lines = [*_secret_lines(terminal, data), *heading, *_setup_lines(terminal, {}, left)]
    code = exit_codes.FINDINGS if bad else exit_codes.OK
    undone = {step["id"] for step in steps if step["status"] != "done"}
    missing = [word for name, word in _NEEDED.items() if name in undone]
    mark = terminal.style("!", "yellow") if bad or missing else terminal.tick
    end = "momo is ready."
    if bad:
        end = f"{counted(len(bad), 'step')} to go."
    elif missing:
        end = f"momo cannot take payments yet: it has {' and '.join(missing)}."
        bad = [step for step in steps if step["id"] in undone & _NEEDED.keys()]
    return Answer(
        dumps({**done.body, "data": data}),
        _setup_rows(data, steps),
        lines=[*lines, "", f"{mark} {end}"],
        next=[str(step["fix"]) for step in bad if step["fix"]] or [_FIRST, "momo status"],
        exit_code=code,
    )


def _run_steps(setup: Setup, results: list[Row]) -> None:
    """Run all steps; append the result of each, in the form of the document of `momo setup`."""
    for number, (name, (title, step)) in enumerate(_STEPS.items(), 2):
        heads = (f"{number} of {_TOTAL}", title)
        bold = [setup.terminal.style(text, "bold", message=True) for text in heads]
        setup.say(f"\n{'  '.join(bold)}")
        results.append({"id": name, **_done(setup, name, step)})
        _tell_result(setup, results[-1])


def _done(setup: Setup, name: str, step: Callable[[Setup], Row]) -> Row:
    if name in _ASK_THE_DAEMON and not setup.client.alive():
        if setup.looks:
            detail = "Not known while the daemon does not run"
            return outcome("skipped", detail, "momo daemon start")
        # The step before has printed the reason and the next command.
        return outcome("skipped", "Not done, because the daemon does not run")
    try:
        return step(setup)
    except Failure as failure:
        fix = failure.next[0] if failure.next else "momo setup"
        return outcome("failed", failure.message or failure.code, fix)


def _tell_result(setup: Setup, result: Row) -> None:
    """Show the result of a step, and the command to type if it is not done."""
    mark, style = _MARKS.get(str(result["status"]), ("?", ""))
    said = setup.terminal.style(mark, style, message=True)
    detail = clean(result.get("detail") or result["id"])
    room = max(min(setup.terminal.width, 100) - 4, 20)
    setup.say(f"  {said} " + "\n    ".join(textwrap.wrap(detail, room)))
    if result.get("fix"):
        setup.say(f"      {clean(result['fix'])}")


def _setup_lines(terminal: Terminal, data: dict[str, Any], steps: Sequence[Row]) -> list[str]:
    """Return a line for each step, with the command to type if it is not done; then the secrets."""
    found = []
    for step in steps:
        mark = styled(Cell(*_MARKS.get(str(step.get("status")), ("?", ""))), terminal)
        found.append(f"{mark} {clean(step.get('detail') or step.get('id'))}")
        if step.get("fix"):
            found.append(f"    {clean(step['fix'])}")
    return [*found, *_secret_lines(terminal, data)]


def _setup_rows(data: dict[str, Any], steps: Sequence[Row]) -> list[Row]:
    """Return the steps, and then the secrets, so that a script that does not read JSON gets them too."""
    made = [{"id": name, "status": "done", "detail": data.get(name)} for name in _SECRETS]
    return [*steps, *(row for row in made if row["detail"])]


def _secret_lines(terminal: Terminal, data: dict[str, Any]) -> list[str]:
    """Return the lines of the keys and the secret that are shown only once."""
    shown = [
        f"  {title:<15} {terminal.style(clean(data[name]), 'bold')}"
        for name, title in _SECRETS.items()
        if data.get(name)
    ]
    return ["", "Shown only once; keep them somewhere safe:", *shown] if shown else []


def _forget_unshown(home: str) -> None:
    """Note that the keys were shown, now that the output was written."""
    with contextlib.suppress(OSError):
        os.unlink(f"{home}/{UNSHOWN_NAME}")  # noqa: PTH108  # no pathlib needed


def _create(
    client: Client, terminal: Terminal, basics: Mapping[str, str | None], password: str | None, *, check: bool
) -> VerbResult:
    """Create the missing parts of the shop: by the daemon if it runs, which has the database open, else by its program."""
    if not client.alive():
        given = {**basics, "password_file": basics["password_file"] if password is None else "-"}
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in only_given(given).items()]
        flags += ["--check"] if check else ["--shown-later"]
        return run_verb(terminal, "setup", "--no-input", "--json", *flags, stdin=password)
    if password is None and basics["password_file"] is not None:
        password = read_password_file(basics["password_file"])
    given = {**basics, "password_file": None, "password": password}
    body = only_given({**given, "check": check or None})
    reply = client.call("POST", Path.LOCAL_SETUP, body=body)
    needs = any(step.get("status") == "needs_action" for step in at(reply.body, "data.steps") or ())
    return VerbResult(6 if check and needs else 0, reply.text, reply.body)


def _add_methods(client: Client, terminal: Terminal, answers: SetupAnswers) -> list[str]:
    """Register the merchant numbers that are not registered yet; return the commands to type."""
    todo = []
    for body in answers.methods:
        if not client.alive():
            todo.append(
                f'momo lines add {body["phone_number"]} --provider {body["provider"]} --name "{body["account_name"]}"'
            )
            continue
        try:
            client.post_once(Path.PAYMENT_METHODS, body)
        except Failure as failure:
            if failure.code != "PAYMENT_METHOD_EXISTS":
                raise
        else:
            terminal.note(f"✓ Registered {phone_text(body['phone_number'])}")
    return todo
