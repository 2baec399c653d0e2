"""The rows of the matrix for every command that does more than ask the daemon one thing.

A row says how the command is called, what the daemon and its program answer, and with which code it
ends when all is well, when no daemon runs, and when there is no shop.
"""

from dataclasses import dataclass, field
from typing import Any

from daemon import wire
from tests.cli import samples
from tests.cli.cases import ENDPOINT
from tests.fakes.fake_api import Says, ok
from tests.fakes.program import Document

NO_SHOP: tuple[Document, int] = (
    {"success": False, "error": {"code": "NOT_SET_UP", "message": "no shop"}},
    11,
)
CHECK = {"id": "clock", "area": "clock", "status": "ok", "detail": "fine", "fix": ""}
DOCTOR = {"success": True, "data": {"ok": True, "checks": [CHECK]}}
COPY = {
    "id": "20261120T080000Z",
    "path": "/tmp/momo.db",
    "bytes": 4096,
    "shop": "Ama Provisions",
    "schema": 12,
    "newest_at": "2026-11-20T08:00:00.000Z",
    "verified": True,
    "rows": {"payments": 1},
}
SETTING = {
    "key": "http.bind",
    "value": "127.0.0.1:0",
    "old": "127.0.0.1:1",
    "origin": "file",
    "changed": True,
}
SETUP = {"shop": {"name": "Ama"}, "steps": [{"id": "shop", "status": "done", "detail": "Ama"}]}
VALID = {"valid": True, "timestamp": 1, "age_s": 5, "fresh": True, "problems": [], "fits": []}


def says(data: Any, code: int = 0) -> tuple[Document, int]:
    """Make what the daemon's program prints."""
    return {"success": True, "data": data}, code


@dataclass(frozen=True, slots=True)
class Other:
    """One row.

    Attributes:
        argv: The command line.
        api: What the daemon answers.
        program: What `python -m daemon VERB` answers; NOT_SET_UP for all of them without a shop.
        good: The exit code when all is well; None when it then takes over the terminal or goes on
            for ever: `tested` names the file that tests it.
        down: The same without a daemon; None when it then starts one.
        unset: The same without a shop.
        stream: --json writes one document a line, the last of type summary or after Ctrl-C none.
    """

    argv: tuple[str, ...]
    api: dict[tuple[str, str], Says] = field(default_factory=dict)
    program: dict[str, tuple[Document, int]] = field(default_factory=dict)
    good: int | None = 0
    down: int | None = 7
    unset: int | None = 11
    stream: bool = False
    tested: str = ""


def _alone(*argv: str, **said: Any) -> Other:
    """Make the row of a command that needs neither daemon nor shop."""
    return Other(argv, down=0, unset=0, **said)


def _backup(verb: str, *argv: str) -> Other:
    data = [COPY] if verb == "list" else {"removed": [], "kept": [COPY]}
    answer = says(data if verb in ("list", "prune") else COPY)
    return Other((*argv,), program={f"backup {verb}": answer}, down=0)


OTHERS = {
    "tx watch": Other(("tx", "watch"), good=None, stream=True, tested="test_orders.py"),
    "deliveries watch": Other(
        ("deliveries", "watch"), good=None, stream=True, tested="test_deliveries_watch.py"
    ),
    "endpoints reveal": Other(
        ("endpoints", "reveal", samples.ENDPOINT["id"], "--password-file", "pw.txt"),
        {("POST", f"{ENDPOINT}/secret"): Says({"success": True, "secret": "whsec_x"})},
    ),
    "endpoints rotate": Other(
        ("endpoints", "rotate", samples.ENDPOINT["id"], "--password-file", "pw.txt"),
        {("POST", f"{ENDPOINT}/rotate-secret"): Says({"success": True, "secret": "whsec_y"})},
    ),
    "deliveries gap": Other(
        ("deliveries", "gap", "--endpoint", samples.ENDPOINT["id"]),
        {("GET", wire.Path.GAP): ok([], meta={"looked_at": 3, "has_more": False})},
    ),
    "watch": Other(("watch",), good=None, down=2, unset=2, tested="test_watch.py"),
    "messages sample": Other(
        ("messages", "sample", samples.MESSAGE, "--redact"),
        {
            ("GET", f"/local/v1/messages/{samples.MESSAGE}"): ok(
                {**samples.MESSAGE_ROW, "body": "Cash In received"}
            )
        },
    ),
    "dead-letters replay-batch": Other(
        ("dead-letters", "replay-batch", samples.DEAD_LETTER["id"]),
        {
            ("POST", wire.Path.DEAD_LETTERS_REPLAY): ok(
                {"replayed": [samples.DEAD_LETTER["id"]], "failed": []}
            )
        },
        stream=True,
    ),
    "listen": Other(("listen", "--print"), good=None, tested="test_listen.py"),
    "simulate endpoint": Other(
        ("simulate", "endpoint", "--fail", "500"), good=None, tested="test_listen.py"
    ),
    "parse": _alone("parse", "receipt.txt", program={"decode": says([])}),
    "templates check": _alone("templates", "check", "wordings.toml"),
    "templates learn": _alone(
        "templates", "learn", "marked.txt", "--name", "receipt_2027", "--network", "mtn"
    ),
    "completion": _alone("completion", "bash"),
    "help": _alone("help", "exit-codes"),
    "version": _alone("version"),
    "verify": _alone(
        "verify",
        "request.txt",
        "--secret-file",
        "hook.secret",
        program={"verify": says(VALID)},
    ),
    "modems release": Other(
        ("modems", "release", "zte-front"),
        {("GET", wire.Path.LOCAL_MODEMS): ok([samples.MODEM])},
    ),
    "messages import": Other(
        ("messages", "import", "inbox.csv", "--line", "0244124567"),
        {("POST", wire.Path.LOCAL_IMPORT): ok({"messages": [samples.IMPORTED], "dry_run": False})},
        stream=True,
    ),
    "statement import": Other(
        ("statement", "import", "mtn-november.csv"),
        {("POST", wire.Path.LOCAL_STATEMENT): ok({"entries": [], "noted": True})},
    ),
    "export": Other(
        ("export", "transactions"),
        {("GET", wire.Path.LOCAL_EXPORT.format(what="transactions")): ok([])},
        stream=True,
    ),
    "backup create": _backup("create", "backup", "create"),
    "backup list": _backup("list", "backup", "list"),
    "backup verify": _backup("verify", "backup", "verify"),
    "backup prune": _backup("prune", "backup", "prune", "--dry-run"),
    "restore": Other(("restore", "--dry-run"), program={"backup restore": says(COPY)}, down=0),
    "password set": Other(
        ("password", "set", "--password-file", "pw.txt"),
        {("POST", wire.Path.LOCAL_PASSWORD): ok({})},
        {"password-set": says({})},
        down=0,
    ),
    "doctor": Other(
        ("doctor",),
        {("GET", wire.Path.LOCAL_DOCTOR): Says(DOCTOR)},
        {"doctor": (DOCTOR, 0)},
        down=0,
    ),
    "setup": Other(
        ("setup", "--no-input", "--shop", "Ama", "--password-file", "pw.txt"),
        {("POST", wire.Path.LOCAL_SETUP): ok(SETUP)},
        {"setup": says(SETUP)},
        down=0,
    ),
    "config show": Other(
        ("config", "show"),
        program={"config show": says([SETTING])},
        down=0,
    ),
    "config get": Other(
        ("config", "get", "http.bind"), program={"config get": says(SETTING)}, down=0
    ),
    "config set": Other(
        ("config", "set", "http.bind", "127.0.0.1:0"),
        program={"config set": says(SETTING), "config unset": says(SETTING)},
        down=0,
    ),
    "config edit": Other(
        ("config", "edit"), program={"config validate": says({"path": "c"})}, down=0
    ),
    "config validate": Other(
        ("config", "validate"), program={"config validate": says({"path": "c"})}, down=0
    ),
    "config path": _alone("config", "path"),
    "service install": Other(("service", "install", "--print"), down=0, unset=0),
    "service uninstall": Other(("service", "uninstall"), down=0, unset=0),
    "service status": Other(("service", "status"), good=3, down=3, unset=3),
    "service start": Other(("service", "start"), good=3, down=3, unset=3, tested="test_service.py"),
    "service stop": Other(("service", "stop"), good=3, down=3, unset=3, tested="test_service.py"),
    "service restart": Other(
        ("service", "restart"), good=3, down=3, unset=3, tested="test_service.py"
    ),
    "service logs": Other(("service", "logs"), good=3, down=3, unset=3, tested="test_service.py"),
    "logs": Other(("logs",), good=None, down=None, unset=None, tested="test_logs.py"),
    "upgrade-check": Other(
        ("upgrade-check",), program={"upgrade-check": says({"state": "ready", "steps": []})}, down=0
    ),
    "daemon run": Other(("daemon", "run"), good=None, down=0, unset=0, tested="test_daemon.py"),
    "daemon start": Other(
        ("daemon", "start"),
        {("GET", wire.Path.LOCAL_STATUS): ok(samples.STATUS)},
        down=None,
        tested="test_daemon.py",
    ),
    "daemon restart": Other(("daemon", "restart"), good=None, down=None, unset=None),
    "daemon stop": Other(("daemon", "stop"), good=None, down=0, tested="test_daemon.py"),
    "demo": Other(("demo",), good=None, down=0, unset=0, tested="test_daemon.py"),
}
"""Every other command."""
