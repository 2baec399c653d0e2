"""The help topics, and the pages of the commands: man pages and those of the documentation are generated from them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from daemon.error_table import ERRORS as SPECS
from daemon.wire import ErrorCode
from momo_cli.errors import ERRORS, RECONCILE_EXITS, as_clause
from momo_cli.exit_codes import EXIT_CODES
from momo_cli.frame.command_table import COMMANDS, PANELS
from momo_cli.frame.tree import load

_ENVIRONMENT: Final = """\
Environment variables. A flag wins over a variable, a variable over config.toml.

  MOMO_HOME       one folder that holds everything of one shop
  MOMO_SOCKET     the daemon's socket (--socket)
  MOMO_PROFILE    the name of a shop of this user (--profile); ignored with MOMO_HOME
  MOMO_OUTPUT     table, plain, json, ndjson, csv or id (-o)
  MOMO_TIMEOUT    time limit of a call, such as 30s (--timeout)
  MOMO_TZ         time zone of the times on the screen and in flags (--tz)
  MOMO_NO_INPUT   1: never ask (--no-input)
  MOMO_NO_COLOR   1: no colour (--no-color); NO_COLOR does the same
  MOMO_DEBUG      1: show the calls on the socket (--debug)
  MOMO_PAGER      the pager for lists longer than the screen, cat for none; default: PAGER, then less

Honoured: NO_COLOR FORCE_COLOR TERM COLUMNS PAGER LESS LC_ALL LC_CTYPE LANG XDG_DATA_HOME XDG_STATE_HOME
XDG_CONFIG_HOME XDG_RUNTIME_DIR. No variable holds a secret, on purpose."""

_FORMATTING: Final = """\
The result goes to stdout; messages, hints and questions go to stderr.

  on a terminal     a table, or a few lines; through a pager when it is longer than the screen
  in a pipe         what people read (status, today, report, doctor, lines, tx show, review show, setup) keeps its
                    form; the rest is tab-separated with a header line; nothing cut, no colour
  --json            one JSON document, success or failure: the API's own body
                    (commands that keep running, such as tx watch and list --all, write one per line)
  -o ndjson         one JSON document per line, each with "type"
  -o csv            comma-separated with a header, for a spreadsheet: a cell that looks like a formula
                    (=, +, -, @) begins with an apostrophe; programs should read ndjson or plain
  -o id             ids only
  --plain           tab-separated without a header line, everywhere

  --header, --no-header   a header line for plain and csv
  --fields A,B            choose and order the columns of table, plain, csv, ndjson; no header line in a pipe
  --get PATH              one value, raw: momo init 12 --phone 0244124567 --get data.svc_code
  --sandbox               the sandbox: its own phones, numbers and payments, without real money
  -q, --quiet             no messages; one error line and one next line if it fails
  -v                      show the calls on the socket
  --debug                 also show headers and bodies, with secrets, numbers, names and texts
                          masked, and the traceback of an internal error
  --no-color              no colour (also NO_COLOR, TERM=dumb)
  --no-input, -y          never ask; answer yes
  --password-stdin        for commands with --password-file: the same as --password-file -
  --socket PATH, --profile NAME    another daemon, another shop
  --ping URL              report to a monitor of cron jobs: URL/start, then URL or URL/fail
  --wait-lock TIME        wait for another run of the same bulk command, instead of exit 10
  --timeout TIME          time limit of a call, default 30s; 0 is no limit
  --utc, --tz NAME        time zone of the times on the screen and in flags; default: the shop's
  --absolute              times of day instead of "4m ago"

These flags may stand anywhere on the line. Words after -- are never read as flags.
In every form but the table, money is a decimal string and times are UTC with Z."""

_FILES: Final = """\
With MOMO_HOME, one folder holds everything:

  config.toml   settings              momo.db       the database
  run/momo.sock the socket            log/          the daemon's log
  state/        crash files, locks    master.key    key of the sealed secrets, mode 0600
  momo.ballast  16 MB that are freed when the disk is full
  messages/     the message journal: every SMS as it came, a file per month
  templates/    your own wordings     tls/          the shop's own certificate authority
  state/idem.ndjson             idempotency keys of the last 100 payment requests, to repeat a call safely

Without it, for each user and profile (NAME is "default" unless --profile is given):

  ~/.config/momo/NAME.toml            settings           (XDG_CONFIG_HOME)
  ~/.local/share/momo/NAME/momo.db    database           (XDG_DATA_HOME)
  ~/.local/state/momo/NAME/           log, state         (XDG_STATE_HOME)
  /run/user/UID/momo/momo.sock        socket             (XDG_RUNTIME_DIR)

The socket is searched for in this order: --socket, MOMO_SOCKET, the places above, /run/momo.
A socket path of over 107 bytes becomes momo-UID/ in the temporary directory."""

_CRON: Final = """\
Commands suit cron: with --quiet they print nothing when all is well, else one error line and one next
line, and they never ask a question without a terminal.

  */10 * * * *  momo status --fail-if-unhealthy --quiet
  0 * * * *     momo deliveries list --status failed --fail-if-any --quiet
  0 * * * *     momo review list --fail-if-any --quiet

Cron finds programs in /usr/bin and /bin only. If the program is elsewhere (command -v momo), begin the crontab with
a line such as PATH=/usr/local/bin:/usr/bin:/bin, with the folder of momo; cron expands neither ~ nor $HOME.

In a script:

  momo reconcile "$REF" "$TXID" --json > out.json
  case $? in
    0) release_goods ;;  3) try_again_in_a_minute ;;  5) refuse_and_call_manager ;;  *) alert ;;
  esac"""


class Topic(NamedTuple):
    """One topic: its text, and the members that `--json` adds."""

    text: Callable[[], str]
    data: Callable[[], dict[str, Any]]


def error_message(code: ErrorCode) -> str:
    """Return the message of an error code as the command line shows it: this program's own, else the daemon's."""
    return ERRORS[code].sentence or as_clause(SPECS[code].message)


def _exit_codes() -> str:
    lines = ["Exit codes. Treat an unknown code as a failure; codes are only ever added.", ""]
    lines += [f"  {row.code:>3}  {row.name:<12} {row.meaning}" for row in EXIT_CODES]
    lines += ["", "Every error code, and its exit code:", ""]
    for code, row in ERRORS.items():
        lines.append(f"  {code:<29} {row.exit_code:>3}  {error_message(code)}")
    differs = "momo reconcile differs, so that 3 means only that the payment has not arrived yet:"
    lines += ["", differs, ""]
    lines += [f"  {code:<29} {exit_code:>3}" for code, exit_code in RECONCILE_EXITS.items()]
    return "\n".join(lines)


def _exit_data() -> dict[str, Any]:
    errors = []
    for code, row in ERRORS.items():
        fact = {"code": code, "exit_code": row.exit_code, "message": error_message(code)}
        errors.append({**fact, "next": row.next})
    return {"exit_codes": [row._asdict() for row in EXIT_CODES], "errors": errors}


def _errors() -> str:
    lines = ["The meaning of each error, and the commands to type next.", ""]
    for code, row in ERRORS.items():
        lines += [f"  {code} (exit {row.exit_code})", f"      {error_message(code)}"]
        lines += [f"      next: {command}" for command in row.next]
    return "\n".join(lines)


TOPICS: Final[dict[str, Topic]] = {
    "exit-codes": Topic(_exit_codes, _exit_data),
    "errors": Topic(_errors, dict),
    "environment": Topic(lambda: _ENVIRONMENT, dict),
    "formatting": Topic(lambda: _FORMATTING, dict),
    "files": Topic(lambda: _FILES, dict),
    "cron": Topic(lambda: _CRON, dict),
}
"""Every topic, in the order in which `momo help` lists them."""


_ABOUT: Final = (
    "momo collects mobile-money payments with a phone or a USB modem at the shop. "
    "This program talks to the shop's daemon, which reads the phones and records the payments."
)
_TYPES: Final = {"integer": "N", "integer range": "N", "float": "N", "float range": "N"}
Said = tuple[str, str]
"""A flag or argument as it is typed, and its help."""


class CommandPage(NamedTuple):
    """One command."""

    name: str
    summary: str
    usage: str
    about: tuple[str, ...]
    arguments: tuple[Said, ...]
    options: tuple[Said, ...]
    examples: tuple[str, ...]


def page(name: str) -> CommandPage:
    """Return one command's page; imports its module."""
    command: Any = load(name)
    params = command.params
    arguments = [p for p in params if p.param_type_name == "argument"]
    words = [_word(p) for p in arguments]
    about = (command.help or "").split("\n\n")[1:]
    return CommandPage(
        name,
        COMMANDS[name].summary,
        " ".join(["momo", name, "[FLAGS]", *words]),
        tuple(" ".join(part.split()) for part in about),
        tuple((_word(p), p.help or "") for p in arguments),
        tuple((_option(p), p.help or "") for p in params if p.param_type_name == "option"),
        tuple(line.removeprefix("  ") for line in command.examples.splitlines() if line.strip()),
    )


def _word(param: Any) -> str:
    shown = str(param.metavar or param.name.upper())
    if "] " in shown:  # the metavar marks the optional parts itself
        return shown
    bare = shown.strip("[].") or shown
    many = "..." if param.nargs == -1 else ""
    return f"{bare}{many}" if param.required else f"[{bare}]{many}"


def _option(param: Any) -> str:
    names = ", ".join([*param.opts, *param.secondary_opts])
    if param.is_flag:
        return names
    shown = str(param.metavar or _TYPES.get(param.type.name, "TEXT"))
    return f"{names}{shown}" if shown.startswith("[=") else f"{names} {shown}"


def man_pages() -> Iterator[tuple[str, str]]:
    """Yield the file name and the text of each man page: man(7), as mandoc and groff read it."""
    yield "momo.1", _overview()
    for name in COMMANDS:
        title = f"momo-{name.replace(' ', '-')}"
        found = page(name)
        lines = [_title(title), ".SH NAME", _roff(f"{title} - {found.summary}")]
        lines += [".SH SYNOPSIS", _roff(found.usage)]
        if found.about:
            lines.append(".SH DESCRIPTION")
            for i, part in enumerate(found.about):
                lines += [*([".PP"] if i else []), _roff(part)]
        for heading, rows in (("ARGUMENTS", found.arguments), ("FLAGS", found.options)):
            if rows:
                lines.append(f".SH {heading}")
                for words, said in rows:
                    lines += _tagged(words, said)
        lines += [".SH EXAMPLES", *_verbatim(found.examples)]
        lines += [".SH SEE ALSO", ".BR momo (1)"]
        yield f"{title}.1", ("\n".join(lines) + "\n")


def _overview() -> str:
    lines = [_title("momo"), ".SH NAME", "momo \\- mobile-money payments at a shop"]
    lines += [".SH SYNOPSIS", ".B momo", _roff("COMMAND [FLAGS] [ARGUMENTS]")]
    lines += [".SH DESCRIPTION", _roff(_ABOUT)]
    for panel in PANELS:
        lines.append(f".SH {_roff(panel).upper()}")
        for name, info in COMMANDS.items():
            if info.panel == panel:
                lines += _tagged(f"momo {name}", info.summary + ".")
    for topic, heading in (("formatting", "OUTPUT"), ("environment", "ENVIRONMENT")):
        lines += [f".SH {heading}", *_verbatim(TOPICS[topic].text().splitlines())]
    lines.append(".SH EXIT STATUS")
    for row in EXIT_CODES:
        lines += _tagged(str(row.code), f"{row.name}: {row.meaning}.")
    for topic, heading in (("files", "FILES"), ("cron", "CRON")):
        lines += [f".SH {heading}", *_verbatim(TOPICS[topic].text().splitlines())]
    return "\n".join(lines) + "\n"


def _title(name: str) -> str:
    return f'.TH {name.upper().replace("-", chr(92) + "-")} 1 "" "momo" "momo"'


def _tagged(tag: str, said: str) -> list[str]:
    return [".TP", f".B {_roff(tag)}", _roff(said) or "\\&"]


def _verbatim(lines: Sequence[str]) -> list[str]:
    return [".nf", *(_roff(line) or "\\&" for line in lines), ".fi"]


def _roff(text: str) -> str:
    """Escape characters that roff would read as commands."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return f"\\&{text}" if text[:1] in (".", "'") else text
