"""Every example of every command's help, run unchanged in this process against a daemon that accepts every call.

The shell's part of an example is played here: pipes, redirections, `&&` and `$(...)`. Programs of
others (`echo`, `gzip` ...) are left out.
"""

import io
import re
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer import Context

from daemon import wire
from momo_cli.flags import lift
from momo_cli.frame.command_table import ALIASES, COMMANDS
from momo_cli.frame.reference import TOPICS
from momo_cli.frame.tree import LazyGroup, MomoCommand, load, root
from momo_cli.show.answer import Call
from momo_cli.show.terminal import Terminal
from tests.cli import samples
from tests.cli.cases import CASES, ON_SIM, TX
from tests.cli.conftest import Momo, Shop
from tests.cli.other_cases import OTHERS, Elsewhere
from tests.cli.payments.test_suggestions import SUGGESTIONS
from tests.cli.sample_files import FILES, RECEIPT, write_files
from tests.fakes.daemon_program import FakeProgram
from tests.fakes.each import each
from tests.fakes.fake_api import Asked, FakeApi, Says, ok, serving

OPERATORS = {"|", "||", "&&", ";"}
ENDLESS = {name for name, row in OTHERS.items() if isinstance(row.good, Elsewhere)}
"""Commands that run until Ctrl-C or replace the process: their examples are only parsed. The shop is no service here."""
STARTS = {"--stop", "--service", "--watch"}
"""Flags that stop a daemon, make a service, or run for ever: only parsed, too."""


def code_of(line: str) -> int:
    """Return the expected exit code of an example: the samples have findings, and are no service."""
    if "--fail-if-" in line:
        return 6
    return 3 if "--journal" in line else 0  # the shop is no service here


@dataclass(frozen=True, slots=True)
class Step:
    """One `momo` of an example: its words, and its standard input."""

    words: tuple[str, ...]
    reads: str | None = None


def examples(name: str) -> list[str]:
    """Return the examples of a command, continued lines joined."""
    text = load(name).examples.replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if line.strip()]


def steps(line: str) -> Iterator[Step]:
    """Yield the `momo` commands that the shell would start."""
    line = re.sub(r'^\w+="?[^"$]*\$\((.*)\)"?$', r"\1", line)
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words: list[str] = []
    reads = None
    tokens = iter([*lexer, ";"])
    for token in tokens:
        if token in OPERATORS:
            while words and "=" in words[0]:
                words.pop(0)
            if words and words[0] == "momo":
                yield Step(tuple(words[1:]), reads)
            words, reads = [], None
        elif token == "<":
            reads = next(tokens)
        elif token in (">", "<<"):
            next(tokens)
        else:
            words.append(token)


MODEMS = [
    {**samples.MODEM, "device_id": f"{number}a1f0c1e", "name": name, "port": path}
    for number, (name, path) in enumerate((("front-desk", "/dev/ttyUSB0"), ("huawei-e3131-4f2a", "/dev/ttyUSB4")))
]
SIMS = [
    *samples.SIMS,
    {**samples.SIMS[0], "device_id": "0b", "name": "zte-back"},
    {**samples.SIMS[0], "name": "simulated-mtn"},
]
MESSAGE = {**samples.MESSAGE_ROW, "body": RECEIPT}
REVIEW = {**samples.REVIEW, "suggestions": SUGGESTIONS}


class Person(io.StringIO):
    """Standard input that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


class Agreeable(FakeApi):
    """A daemon that has one of everything: each path answers with the sample of the matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.on("GET", wire.Path.SIMS, ok(SIMS))
        self.on("GET", wire.Path.LOCAL_MODEMS, ok(MODEMS))
        self.on("GET", wire.Path.PAYMENT_METHODS, ok([ON_SIM]))
        self.on("GET", wire.Path.HEALTH, Says({"success": True}))
        self.on("GET", f"/local/v1/messages/{samples.MESSAGE}", ok(MESSAGE))
        self.on("GET", f"/v1/reviews/{samples.REVIEW['id']}", ok(REVIEW))
        link = {"url": "http://127.0.0.1:8420/dash/enter?link=ab", "expires_in_s": 60}
        self.on("POST", wire.Path.LOCAL_DASHBOARD_LINK, ok(link))
        self.on("POST", wire.Path.LOCAL_PAYER, ok(samples.PAYER_DATA))
        self.on("POST", wire.Path.LOCAL_PAYER_FORGET, ok(samples.FORGETTABLE))
        self.on("POST", wire.Path.LOCAL_PRUNE, ok({**samples.PRUNABLE, "more": False}))
        self.on("POST", wire.Path.LOCAL_REPORT_MAIL, ok({"queued": True}))
        texts = f"/local/v1/modems/{samples.DEVICE}/texts"
        self.on("POST", texts, ok(samples.SMS))
        self.on("GET", f"{texts}/{samples.SMS['id']}", ok({**samples.SMS, "status": "sent"}))
        for secret in (wire.Path.ACCOUNT_SECRET, wire.Path.ACCOUNT_ROTATE):
            self.on("POST", secret, Says({"success": True, "secret": "whsec_x"}))
        self.on("GET", f"{TX}/events", ok([]))
        self.on("DELETE", f"{TX}/settle", samples.one("PARTIAL"))
        self.on("GET", f"/v1/approved-payers/{samples.PAYER['id']}", ok(samples.PAYER))
        for order in (TX, "/v1/transactions/by-svc/7KQ2MX", "/v1/transactions/by-client-ref/INV-17"):
            self.on("GET", order, samples.one("SUCCESS"))
        rows: list[tuple[tuple[str, str], Says]] = [(c.call, c.good) for c in CASES.values()]
        rows += [each for row in OTHERS.values() for each in row.api.items()]
        for (method, path), answer in rows:
            self.script.setdefault(f"{method} {path}", answer)

    def answer(self, asked: Asked) -> Says:
        """Answer for the path, or for one of the same form."""
        if f"{asked.method} {asked.path}" not in self.script:
            same = next((k for k in self.script if _alike(k, asked)), None)
            if same is not None:
                asked = Asked(asked.method, same.partition(" ")[2], asked.query, None, {})
        return super().answer(asked)


def _alike(scripted: str, asked: Asked) -> bool:
    """Return whether both are calls of one operation: the same method, and a template that fits both."""
    method, _, path = scripted.partition(" ")
    if method != asked.method:
        return False
    return any(_fits(each, path) and _fits(each, asked.path) for each in wire.Path)


def _fits(template: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", re.escape(template).replace("\\", "")), path) is not None


@pytest.fixture
def agreeable(shop: Shop) -> Iterator[Agreeable]:
    api = Agreeable()
    with serving(api, shop.socket):
        yield api


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> FakeProgram:
    fake = FakeProgram()
    for row in OTHERS.values():
        fake.says |= row.program
    monkeypatch.setattr("subprocess.run", fake.run)
    monkeypatch.setattr("os.execve", fake.become)
    return fake


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a user at the terminal: answers yes, types the requested words, and knows the password."""

    def says(_: Terminal, question: str, __: str) -> str:
        typed = re.match(r"(?:Type|Which SIM,) (.+?)(?:[ :](?:to|$)| or )", question)
        return typed.group(1) if typed else "y"

    def knows(_: Terminal, question: str, __: str) -> str:
        return "1234" if "PIN" in question else "correct horse battery"

    monkeypatch.setattr(Terminal, "ask", says)
    monkeypatch.setattr(Terminal, "ask_key", lambda *_: "1")
    monkeypatch.setattr(Terminal, "ask_secret", knows)


EVERY = [(name, line) for name in COMMANDS for line in examples(name)]
CRON = [line for line in TOPICS["cron"].text().splitlines() if re.search(r" momo ", line)]


def leaves(group: LazyGroup, *before: str) -> Iterator[tuple[str, MomoCommand]]:
    """Yield every command of the tree with its words, as Typer finds them."""
    for word in group.commands:
        found = group.get_command(None, word)
        if isinstance(found, LazyGroup):
            yield from leaves(found, *before, word)
        else:
            assert isinstance(found, MomoCommand)
            yield " ".join((*before, word)), found


def runs(name: str, line: str) -> bool:
    """Return whether an example starts this command, also by its short words."""
    words = name.split()
    return any(
        all(there == here or here in ALIASES.get(there, ()) for there, here in zip(step.words, words, strict=False))
        for step in steps(line)
    )


def test_every_command_of_the_tree_shows_an_example_of_itself_in_its_help() -> None:
    tree = dict(leaves(root()))
    assert set(tree) == set(COMMANDS)
    for name, found in tree.items():
        shown = examples(name)
        assert any(runs(name, line) for line in shown), name
        said = found.get_help(Context(found, info_name=name)).replace("\\\n", " ")
        assert all(line.split("  ")[0] in said for line in shown), name


def cron_command(line: str) -> str:
    """Return the command line that cron or the shell would run: without the five fields, with a reference and an ID."""
    found = re.sub(r"^\s*(\S+ ){5}\s*(?=momo)", "", line.strip())
    return found.replace("$REF", samples.REF).replace("$TXID", "0000012345")


@each(("name", "line"), [*EVERY, *(("help", cron_command(line)) for line in CRON)])
@pytest.mark.usefixtures("agreeable", "program", "naps", "person")
def test_example_of_the_help_does_what_it_says(
    name: str, line: str, momo: Momo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = list(steps(line))
    assert ours, "no momo in it"
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    # Commands that write a secret refuse to overwrite a file.
    write_files(
        folder, [file for file in FILES if file in line and (name == "deliveries verify" or file != "hook.secret")]
    )
    monkeypatch.chdir(folder)
    out = ""
    for step in ours:
        if name in ENDLESS or STARTS & set(step.words):
            flags, words = lift(step.words, {})
            assert not flags.problem
            assert isinstance(root().main(args=words, standalone_mode=False), Call)
            continue
        given = (folder / step.reads).read_text() if step.reads else out
        monkeypatch.setattr("sys.stdin", Person(given))
        # The ModemManager of this machine is no part of the test.
        there = {"PATH": ""} if name == "phones release" else {}
        ran = momo(*step.words, HOME=str(folder), **there)
        assert ran.code == code_of(line), ran
        out = ran.out
