"""The rows of the matrix for every command that does more than make one call to the daemon.

A row has the command line, the answers of the daemon and its program, and the exit code in each
situation: success, empty, not found, refused, no daemon, no shop.
"""

from dataclasses import dataclass, field
from typing import Any

from daemon import wire
from daemon.error_table import ERRORS
from daemon.wire import ErrorCode
from tests.cli import samples
from tests.cli.cases import ENDPOINT, METHOD
from tests.fakes.daemon_program import Document
from tests.fakes.fake_api import Says, ok, refusal

NO_SHOP: tuple[Document, int] = ({"success": False, "error": {"code": "NOT_SET_UP", "message": "no shop"}}, 11)
CHECK = {"id": "clock", "area": "clock", "status": "ok", "detail": "fine", "fix": ""}
BAD_CHECK = {**CHECK, "status": "fail", "fix": "sudo timedatectl set-ntp true"}
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
OWN_CERTIFICATE = {
    "given": ["shop.lan"],
    "names": ["shop.lan", "till.local", "192.168.1.5", "localhost"],
    "begins_at": "2026-11-20T08:00:00.000Z",
    "ends_at": "2027-12-22T08:00:00.000Z",
    "ca_ends_at": "2036-11-20T08:00:00.000Z",
    "ca_fingerprint": "AB:CD",
    "path": "/tmp/momo/tls/server.pem",
    "certificate": "-----BEGIN CERTIFICATE-----",
}
SETTING = {
    "key": "http.bind",
    "value": "127.0.0.1:0",
    "old": "127.0.0.1:1",
    "origin": "file",
    "changed": True,
    "live": True,
    "meaning": "Address of the API.",
}
SETTINGS = [
    {**SETTING, "key": key, "value": value}
    for key, value in (
        ("http.bind", "off"),
        ("http.public_base_url", ""),
        ("backup.also_to", ""),
        ("power.keep_awake", "off"),
    )
]
"""Those that `momo setup` asks for."""
SETUP = {"shop": {"name": "Ama"}, "steps": [{"id": "shop", "status": "done", "detail": "Ama"}]}
VALID = {"valid": True, "timestamp": 1, "age_s": 5, "fresh": True, "problems": [], "fits": []}
LOG_ROW = {"type": "item", "ts": "2026-11-20T09:14:00.000000Z", "level": "warning", "event": "x"}
LOGS: Document = {"success": True, "data": [LOG_ROW], "meta": {"cursor": "7:9"}}
NO_LOGS: Document = {**LOGS, "data": []}
PLAN = {"state": "ready", "steps": []}


def says(data: Any, code: int = 0) -> tuple[Document, int]:
    """Make the output of the daemon's program."""
    return {"success": True, "data": data}, code


@dataclass(frozen=True, slots=True)
class Cell:
    """One situation that is tried here.

    Attributes:
        code: The exit code.
        error: The code of the error in the document; empty when the document is the command's own.
        argv: Other words than the row's.
        api: The daemon's answers in this situation.
        program: The output of `python -m daemon VERB` in this situation.
    """

    code: int
    error: str = ""
    argv: tuple[str, ...] = ()
    api: dict[tuple[str, str], Says] = field(default_factory=dict)
    program: dict[str, tuple[Document, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """One situation that this table cannot describe: `test` is `file.py::test_name` in tests/."""

    test: str


Tried = Cell | Elsewhere | str
"""A situation, or a sentence with the reason why it does not exist."""


@dataclass(frozen=True, slots=True)
class Other:
    """One row.

    Attributes:
        argv: The command line.
        good: The exit code when all is well; where it then takes over the terminal or goes on for
            ever, the test of that.
        empty: There is no row to show and no work to do: exit 0.
        missing: The named object does not exist.
        refused: The daemon, its program or the command itself refuses.
        api: The daemon's answers.
        program: The output of `python -m daemon VERB`; NOT_SET_UP for all of them without a shop.
        down: The exit code without a daemon.
        unset: The same without a shop.
        stream: --json writes one document a line, the last of type summary or after Ctrl-C none.
    """

    argv: tuple[str, ...]
    good: int | Elsewhere
    empty: Tried
    missing: Tried
    refused: Tried
    api: dict[tuple[str, str], Says] = field(default_factory=dict)
    program: dict[str, tuple[Document, int]] = field(default_factory=dict)
    down: int | Elsewhere = 7
    unset: int | Elsewhere = 11
    stream: bool = False


def _no(code: ErrorCode, exit_code: int, call: tuple[str, str], *argv: str) -> Cell:
    """Make the situation in which the daemon answers a call with an error."""
    return Cell(exit_code, code, argv, api={call: refusal(ERRORS[code].http_status, code)})


def _says_no(code: ErrorCode, exit_code: int, verb: str, *argv: str) -> Cell:
    """Make the situation in which the daemon's program ends with an error."""
    document: Document = {"success": False, "error": {"code": code, "message": "no"}}
    return Cell(exit_code, code, argv, program={verb: (document, exit_code)})


def _wrong(*argv: str) -> Cell:
    """Make the situation in which a word of the command line names a missing file or topic."""
    return Cell(2, ErrorCode.USAGE, argv)


def _no_one(code: ErrorCode, call: tuple[str, str]) -> Cell:
    """Make the situation in which the daemon refuses one item of a batch."""
    return Cell(9, api={call: refusal(ERRORS[code].http_status, code)})


E = ErrorCode
GAP = ("GET", wire.Path.GAP)
LISTEN = ("POST", wire.Path.LOCAL_LISTEN)
LISTENER = samples.ENDPOINT["id"]
DISMISS = ("POST", f"/v1/webhooks/dead-letters/{samples.DEAD_LETTER['id']}/dismiss")
LETTERS = ("POST", wire.Path.DEAD_LETTERS_REPLAY)
NOT_DONE = {"id": samples.DEAD_LETTER["id"], "code": E.DEAD_LETTER_NOT_FOUND, "message": "no"}
MESSAGE = ("GET", f"/local/v1/messages/{samples.MESSAGE}")
EXPORT = ("GET", wire.Path.LOCAL_EXPORT.format(what="transactions"))
IMPORT = ("POST", wire.Path.LOCAL_IMPORT)
STATEMENT = ("POST", wire.Path.LOCAL_STATEMENT)
NO_FILE = "no-such-file"
LINK = ("POST", wire.Path.LOCAL_DASHBOARD_LINK)
SHARED = {"config get": says({**SETTING, "value": "0.0.0.0:8420"}), "certificate show": says(OWN_CERTIFICATE)}
"""The settings of a shop that other devices reach; each of them has this value."""

NO_ROWS: Document = {"success": True, "data": [], "meta": {"columns": [], "more": False}}

ENDLESS = "it waits for what comes, and nothing is no end"
ONE_THING = "it names one thing, which is there or is not found"
DOES = "it does something: it lists nothing"
TEXT = "it prints a text that is always there"
WHOLE_SHOP = "it is about the whole shop: without one it is NOT_SET_UP"
OWN_FILE = "it is about the shop's own settings, which are the defaults where there is no file"
FILTER = "a filter that fits nothing shows nothing"
_KEEPER = "test_a_service_that_systemd_does_not_remove_is_told"
NOBODY = "it asks nobody who could refuse"


def _alone(*argv: str, missing: Tried, **cells: Any) -> Other:
    """Make the row of a command that needs neither daemon nor shop."""
    return Other(argv, 0, missing=missing, down=0, unset=0, **cells)


def _backup(verb: str, *argv: str, missing: Tried, refused: Cell, empty: Tried = DOES) -> Other:
    data = [COPY] if verb == "list" else {"removed": [], "kept": [COPY]}
    answer = says(data if verb in ("list", "prune") else COPY)
    return Other(argv, 0, empty, missing, refused, program={f"backup {verb}": answer}, down=0)


def _database(verb: str, data: Any, *argv: str) -> Other:
    """Make the row of a command that reads the database; it needs no daemon."""
    return Other(
        ("data", "copy" if verb == "export" else verb, *argv),
        0,
        "there is always a schema",
        _says_no(E.USAGE, 2, f"db {verb}"),
        _says_no(E.UNAVAILABLE, 1, f"db {verb}"),
        program={f"db {verb}": says(data)},
        down=0,
    )


def _certificate(verb: str, *argv: str, missing: Tried) -> Other:
    program = {f"certificate {verb}": says(OWN_CERTIFICATE), "config get": says(SETTING)}
    program["certificate --der export"] = says({**OWN_CERTIFICATE, "certificate": "3082"})
    return Other(
        ("daemon", "certificate", verb, *argv),
        0,
        DOES,
        missing,
        _says_no(E.UNAVAILABLE, 1, f"certificate {verb}"),
        program=program,
        down=0,
    )


def _setting(verb: str, *argv: str, missing: Tried = OWN_FILE) -> Other:
    data = {"show": SETTINGS, "get": SETTING, "set": SETTING}.get(verb, {"path": "c"})
    asked = "validate" if verb == "edit" else verb
    return Other(
        ("config", verb, *argv),
        0,
        DOES if verb != "show" else "there are always settings",
        missing,
        _says_no(E.CONFIG_INVALID, 78, f"config {asked}"),
        program={f"config {asked}": says(data), "config show": says(SETTINGS), "config unset": says(SETTING)},
        down=0,
    )


USSD = ("POST", f"{METHOD}/ussd")

OTHERS = {
    "tx watch": Other(
        ("tx", "watch"),
        Elsewhere("cli/payments/test_waiting.py::test_watch_writes_one_line_per_change_of_an_order"),
        ENDLESS,
        _no(
            E.TRANSACTION_NOT_FOUND, 3,
            ("GET", wire.Path.TRANSACTION_BY_CODE.format(svc_code="7KQ2MX")), "tx", "watch", "7KQ2MX",
        ),
        _no(E.VALIDATION_ERROR, 2, ("GET", wire.Path.EVENTS)),
        stream=True,
    ),
    "deliveries watch": Other(
        ("deliveries", "watch"),
        Elsewhere("cli/webhooks/test_deliveries.py::test_each_end_and_each_try_in_vain_is_a_line"),
        ENDLESS,
        FILTER,
        _no(E.VALIDATION_ERROR, 2, ("GET", wire.Path.DELIVERIES)),
        stream=True,
    ),
    "endpoints reveal": Other(
        ("endpoints", "reveal", samples.ENDPOINT["id"], "--password-file", "pw.txt"),
        0,
        ONE_THING,
        _no(E.ENDPOINT_NOT_FOUND, 3, ("POST", f"{ENDPOINT}/secret")),
        _no(E.INVALID_PASSWORD, 4, ("POST", f"{ENDPOINT}/secret")),
        {("POST", f"{ENDPOINT}/secret"): Says({"success": True, "secret": "whsec_x"})},
    ),
    "endpoints rotate": Other(
        ("endpoints", "rotate", samples.ENDPOINT["id"], "--password-file", "pw.txt"),
        0,
        ONE_THING,
        _no(E.ENDPOINT_NOT_FOUND, 3, ("POST", f"{ENDPOINT}/rotate-secret")),
        _no(E.ROTATION_LIMIT, 5, ("POST", f"{ENDPOINT}/rotate-secret")),
        {("POST", f"{ENDPOINT}/rotate-secret"): Says({"success": True, "secret": "whsec_y"})},
    ),
    "watch": Other(
        ("watch",),
        Elsewhere("cli/watch/test_watch_terminal.py::test_on_a_real_terminal_it_draws_looks_up_survives_the_daemon_and_leaves_no_trace"),
        ENDLESS,
        WHOLE_SHOP,
        Cell(2, E.USAGE),
        down=2,
        unset=2,
    ),
    "messages sample": Other(
        ("messages", "sample", samples.MESSAGE, "--redact"),
        0,
        ONE_THING,
        _no(E.MESSAGE_NOT_FOUND, 3, MESSAGE),
        _no(E.SESSION_REQUIRED, 4, MESSAGE),
        {MESSAGE: ok({**samples.MESSAGE_ROW, "body": "Cash In received"})},
    ),
    "replay --gap": Other(
        ("replay", "--gap", "--endpoint", samples.ENDPOINT["id"]),
        0,
        "that nothing is missing is the good answer: it is the row",
        _no(E.ENDPOINT_NOT_FOUND, 3, GAP),
        _no(E.REPLAY_WINDOW_TOO_LARGE, 5, GAP),
        {GAP: ok([], meta={"looked_at": 3, "has_more": False})},
    ),
    "dead-letters replay --all": Other(
        ("dead-letters", "replay", "--all", "--yes"),
        0,
        Cell(
            0,
            api={("GET", wire.Path.DEAD_LETTERS): ok([])},
        ),
        Cell(9, api={("GET", wire.Path.DEAD_LETTERS): ok([samples.DEAD_LETTER]), LETTERS: ok({"replayed": [], "failed": [NOT_DONE]})}),
        _no(E.OPEN_COLLECTIONS_DISABLED, 4, LETTERS),
        {("GET", wire.Path.DEAD_LETTERS): ok([samples.DEAD_LETTER]), LETTERS: ok({"replayed": [samples.DEAD_LETTER["id"]], "failed": []})},
        stream=True,
    ),
    "dead-letters dismiss": Other(
        ("dead-letters", "dismiss", samples.DEAD_LETTER["id"], "--notes", "a test"),
        0,
        Cell(
            0,
            argv=("dead-letters", "dismiss", "--sandbox", "--notes", "tests"),
            api={("GET", wire.Path.DEAD_LETTERS): ok([])},
        ),
        _no_one(E.DEAD_LETTER_NOT_FOUND, DISMISS),
        _no_one(E.DEAD_LETTER_ALREADY_REPLAYED, DISMISS),
        {DISMISS: ok(samples.DEAD_LETTER)},
        stream=True,
    ),
    "listen": Other(
        ("listen", "--print"),
        Elsewhere("acceptance/test_listening.py::test_a_made_up_payment_reaches_the_program_and_its_answer_is_in_the_log"),
        ENDLESS,
        _no(
            E.ENDPOINT_NOT_FOUND, 3, ("POST", wire.Path.LOCAL_LISTENER.format(id=LISTENER)),
            "listen", "--print", "--endpoint", LISTENER,
        ),
        _no(E.ENDPOINT_LIMIT, 5, LISTEN),
        stream=True,
    ),
    "simulate endpoint": Other(
        ("simulate", "endpoint", "--fail", "500"),
        Elsewhere("acceptance/test_listening.py::test_a_broken_receiver_to_practise_with"),
        ENDLESS,
        "it makes the endpoint itself",
        _no(E.ENDPOINT_LIMIT, 5, LISTEN),
        stream=True,
    ),
    "messages parse": _alone(
        "messages", "parse", "receipt.txt",
        empty=Cell(0, argv=("messages", "parse", "dump.txt")),
        missing=_wrong("messages", "parse", NO_FILE),
        refused="it says of any text what it says, and why it is no receipt",
        program={"decode": says([])},
    ),
    "messages templates check": _alone(
        "messages", "templates", "check", "wordings.toml",
        empty="a file without a wording is a file without a fault",
        missing=_wrong("messages", "templates", "check", NO_FILE),
        refused=Cell(6, argv=("messages", "templates", "check", "body.json")),
    ),
    "messages templates learn": _alone(
        "messages", "templates", "learn", "marked.txt", "--name", "receipt_2027", "--network", "mtn",
        empty=DOES,
        missing=_wrong("messages", "templates", "learn", NO_FILE, "--name", "a", "--network", "mtn"),
        refused=_wrong("messages", "templates", "learn", "marked.txt", "--name", "a", "--network", "mpesa"),
    ),
    "completion": _alone(
        "completion", "bash", empty=TEXT, missing=_wrong("completion", "tcsh"), refused=NOBODY
    ),
    "help": _alone(
        "help", "exit-codes", empty=TEXT, missing=_wrong("help", "cooking"), refused=NOBODY
    ),
    "phones udev-rule": _alone("phones", "udev-rule", empty=TEXT, missing=TEXT, refused=NOBODY),
    "deliveries verify": _alone(
        "deliveries", "verify", "request.txt", "--secret-file", "hook.secret",
        empty=ONE_THING,
        missing=_wrong("deliveries", "verify", "request.txt", "--secret-file", NO_FILE),
        refused=Cell(6, program={"verify": says({**VALID, "valid": False, "problems": ["old"]})}),
        program={"verify": says(VALID)},
    ),
    "phones release": Other(
        ("phones", "release", "zte-front"),
        0,
        DOES,
        Cell(3, E.DEVICE_NOT_FOUND, api={("GET", wire.Path.LOCAL_MODEMS): ok([])}),
        Elsewhere("cli/lines/test_modems.py::test_what_modem_manager_refuses_is_told"),
        {("GET", wire.Path.LOCAL_MODEMS): ok([samples.MODEM])},
    ),
    "lines ussd": Other(
        ("lines", "ussd", samples.METHOD, "*170#"),
        0,
        "a network always says something",
        _no(E.PAYMENT_METHOD_NOT_FOUND, 3, USSD),
        _no(E.USSD_IN_USE, 5, USSD),
        {USSD: ok(samples.USSD)},
        stream=True,
    ),
    "messages import": Other(
        ("messages", "import", "inbox.csv", "--line", "0244124567"),
        0,
        "a file without a message is read, and the sum of it says 0",
        _no(E.PAYMENT_METHOD_NOT_FOUND, 3, IMPORT),
        _no(E.METHOD_HAS_NO_SIM, 5, IMPORT),
        {IMPORT: ok({"messages": [samples.IMPORTED], "dry_run": False})},
        stream=True,
    ),
    "data statement": Other(
        ("data", "statement", "mtn-november.csv"),
        0,
        Elsewhere("cli/books/test_statement.py::test_where_nothing_differs_it_is_0"),
        _wrong("data", "statement", NO_FILE),
        _wrong("data", "statement", "other.csv"),
        {STATEMENT: ok({"entries": [], "noted": True})},
    ),
    "data export": Other(
        ("data", "export", "transactions"),
        0,
        "the line of the columns stands alone",
        _wrong("data", "export", "cheques"),
        _no(E.SESSION_REQUIRED, 4, EXPORT),
        {EXPORT: ok([samples.PAID])},
        stream=True,
    ),
    "backup create": _backup(
        "create", "backup", "create",
        missing=WHOLE_SHOP, refused=_says_no(E.BACKUP_FAILED, 6, "backup create"),
    ),
    "backup list": _backup(
        "list", "backup", "list",
        empty=Cell(0, program={"backup list": says([])}),
        missing="no copy is the empty list",
        refused=_says_no(E.UNAVAILABLE, 1, "backup list"),
    ),
    "backup verify": _backup(
        "verify", "backup", "verify",
        missing=_says_no(E.BACKUP_NOT_FOUND, 3, "backup verify"),
        refused=_says_no(E.BACKUP_FAILED, 6, "backup verify"),
    ),
    "backup prune": _backup(
        "prune", "backup", "prune", "--dry-run",
        missing="no copy is nothing to remove",
        refused=_says_no(E.USAGE, 2, "backup prune"),
    ),
    "restore": Other(
        ("restore", "--dry-run"),
        0,
        DOES,
        _says_no(E.BACKUP_NOT_FOUND, 3, "backup restore"),
        _says_no(E.LOCKED, 10, "backup restore"),
        program={"backup restore": says(COPY)},
        down=0,
    ),
    "data tables": _database("tables", [{"table": "shop", "rows": 1, "columns": 5}]),
    "data schema": _database(
        "schema", [{"table": "shop", "column": "id", "type": "INTEGER", "shown": "yes"}], "shop"
    ),
    "data query": Other(
        ("data", "query", "SELECT 1 AS n"),
        0,
        Cell(0, program={"db query": (NO_ROWS, 0)}),
        _says_no(E.USAGE, 2, "db query"),
        _says_no(E.USAGE, 2, "db query"),
        {("POST", wire.Path.LOCAL_PHONES_SHOWN): ok({"noted": True})},
        {"db query": ({**NO_ROWS, "data": [{"n": 1}], "meta": {"columns": ["n"], "more": False}}, 0)},
        down=0,
    ),
    "data copy": _database("export", {"file": "shop.db", "tables": 53, "rows": 12}, "shop.db"),
    "users password": Other(
        ("users", "password", "--password-file", "pw.txt"),
        0,
        DOES,
        _wrong("users", "password", "--password-file", NO_FILE),
        _no(E.VALIDATION_ERROR, 2, ("POST", wire.Path.LOCAL_PASSWORD)),
        {("POST", wire.Path.LOCAL_PASSWORD): ok({})},
        {"password-set": says({})},
        down=0,
    ),
    "doctor": Other(
        ("doctor",),
        0,
        "there are always checks",
        _wrong("doctor", "plumbing"),
        Cell(
            6,
            api={
                ("GET", wire.Path.LOCAL_DOCTOR): Says(
                    {"success": True, "data": {"ok": False, "checks": [BAD_CHECK]}}
                )
            },
        ),
        {("GET", wire.Path.LOCAL_DOCTOR): Says(DOCTOR)},
        {"doctor": (DOCTOR, 0)},
        down=0,
    ),
    "setup": Other(
        ("setup", "--no-input", "--shop", "Ama", "--password-file", "pw.txt"),
        0,
        DOES,
        _wrong("setup", "--no-input", "--shop", "Ama", "--password-file", NO_FILE),
        _no(E.VALIDATION_ERROR, 2, ("POST", wire.Path.LOCAL_SETUP)),
        {("POST", wire.Path.LOCAL_SETUP): ok(SETUP)},
        {"setup": says(SETUP)},
        down=0,
    ),
    "daemon certificate create": _certificate(
        "create", "shop.lan", missing=_says_no(E.USAGE, 2, "certificate create")
    ),
    "daemon certificate show": _certificate(
        "show", missing=_says_no(E.CERTIFICATE_NOT_FOUND, 3, "certificate show")
    ),
    "daemon certificate export": _certificate(
        "export", "-", missing=_says_no(E.CERTIFICATE_NOT_FOUND, 3, "certificate export")
    ),
    "phones add": Other(
        ("phones", "add", "android", "phone1", "--network", "mtn"),
        0,
        DOES,
        _wrong("phones", "add", "pigeon", "bird"),
        _says_no(E.CONFIG_INVALID, 78, "config add-source"),
        program={"config add-source": says({"name": "phone1", "path": "c", "changed": True})},
        down=0,
    ),
    "phones remove": Other(
        ("phones", "remove", "phone1"),
        0,
        DOES,
        _says_no(E.USAGE, 2, "config remove-source"),
        _says_no(E.UNAVAILABLE, 1, "config remove-source"),
        {("DELETE", wire.Path.LOCAL_SOURCE.format(name="phone1")): ok({"forgotten": True})},
        program={"config remove-source": says({"name": "phone1", "path": "c", "changed": True})},
        down=0,
    ),
    "open --share": Other(
        ("open", "--share", "--yes"),
        0,
        DOES,
        Cell(
            3,
            E.USER_NOT_FOUND,
            ("open", "--share", "--user", "nobody"),
            {LINK: refusal(404, E.USER_NOT_FOUND)},
            SHARED,
        ),
        _says_no(E.UNAVAILABLE, 1, "config set"),
        program={"config get": says(SETTING), "config set": says(SETTING)},
        down=0,
    ),
    "config show": _setting("show"),
    "config get": _setting("get", "http.bind", missing=_says_no(E.USAGE, 2, "config get")),
    "config set": _setting(
        "set", "http.bind", "127.0.0.1:0", missing=_says_no(E.USAGE, 2, "config set")
    ),
    "config edit": _setting("edit"),
    "config validate": _setting("validate"),
    "config path": _alone("config", "path", empty=TEXT, missing=OWN_FILE, refused=NOBODY),
    "daemon install": Other(
        ("daemon", "install", "--print"),
        0,
        DOES,
        "it makes what is not there",
        Elsewhere(
            "cli/service/test_service.py::test_system_service_that_could_not_see_its_program_is_refused"
        ),
        down=0,
        unset=0,
    ),
    "daemon uninstall": Other(
        ("daemon", "uninstall"),
        0,
        DOES,
        "none to remove is what was wanted: that is the row",
        Elsewhere(f"cli/service/test_service.py::{_KEEPER}"),
        down=0,
        unset=0,
    ),
    "daemon logs": Other(
        ("daemon", "logs"),
        0,
        Cell(0, api={("GET", wire.Path.LOCAL_LOGS): Says(NO_LOGS)}),
        FILTER,
        _no(E.SESSION_REQUIRED, 4, ("GET", wire.Path.LOCAL_LOGS)),
        {("GET", wire.Path.LOCAL_LOGS): Says(LOGS)},
        {"logs": (LOGS, 0)},
        down=0,
        stream=True,
    ),
    "daemon upgrade-check": Other(
        ("daemon", "upgrade-check"),
        0,
        "no step to take is an answer like any",
        WHOLE_SHOP,
        _says_no(E.DATABASE_NEWER, 78, "upgrade-check"),
        program={"upgrade-check": says(PLAN)},
        down=0,
    ),
    "daemon run": Other(
        ("daemon", "run"),
        Elsewhere("cli/upkeep/test_daemon.py::test_run_and_demo_become_the_daemon_s_program"),
        ENDLESS,
        WHOLE_SHOP,
        "this process is then the daemon: what it refuses is tested there",
        down=Elsewhere("cli/upkeep/test_daemon.py::test_run_and_demo_become_the_daemon_s_program"),
        unset=Elsewhere("cli/upkeep/test_daemon.py::test_run_and_demo_become_the_daemon_s_program"),
    ),
    "daemon start": Other(
        ("daemon", "start"),
        0,
        DOES,
        WHOLE_SHOP,
        Elsewhere("cli/upkeep/test_daemon.py::test_daemon_that_dies_says_its_last_words"),
        {("GET", wire.Path.LOCAL_STATUS): ok(samples.STATUS)},
        down=Elsewhere("cli/upkeep/test_daemon.py::test_start_waits_for_the_socket_and_names_the_pid"),
    ),
    "daemon restart": Other(
        ("daemon", "restart"),
        Elsewhere("cli/upkeep/test_daemon.py::test_restart_stops_the_old_one_and_starts_a_new_one"),
        DOES,
        WHOLE_SHOP,
        _says_no(E.CONFIG_INVALID, 78, "config validate"),
        program={"config validate": says({"path": "c"})},
        down=Elsewhere("cli/upkeep/test_daemon.py::test_restart_of_a_stopped_daemon_starts_it"),
    ),
    "daemon stop": Other(
        ("daemon", "stop"),
        Elsewhere("cli/upkeep/test_daemon.py::test_stop_waits_until_nobody_listens"),
        DOES,
        WHOLE_SHOP,
        _no(E.SESSION_REQUIRED, 4, ("POST", wire.Path.LOCAL_SHUTDOWN)),
        down=0,
    ),
    "demo": Other(
        ("demo",),
        Elsewhere("cli/upkeep/test_daemon.py::test_run_and_demo_become_the_daemon_s_program"),
        ENDLESS,
        "it makes all that it names",
        "this process is then the demo: what it refuses is tested there",
        down=Elsewhere("cli/upkeep/test_daemon.py::test_run_and_demo_become_the_daemon_s_program"),
        unset=Elsewhere("cli/upkeep/test_daemon.py::test_run_and_demo_become_the_daemon_s_program"),
    ),
}  # fmt: skip
"""Every other command."""
