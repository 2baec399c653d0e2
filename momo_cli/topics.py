"""The help topics: what is true of every command. The tables are made from the code."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from momo_cli.errors import ERRORS, RECONCILE_EXITS
from momo_cli.exits import EXIT_CODES

_ENVIRONMENT: Final = """\
Environment variables. A flag wins over a variable, a variable over config.toml.

  MOMO_HOME       one folder that holds everything of one shop
  MOMO_SOCKET     the daemon's socket (--socket)
  MOMO_PROFILE    which shop of this user (--profile); ignored with MOMO_HOME
  MOMO_OUTPUT     table, plain, json, ndjson, csv or id (-o)
  MOMO_TIMEOUT    limit of a call, such as 30s (--timeout)
  MOMO_TZ         zone of the times on the screen and in flags (--tz)
  MOMO_NO_INPUT   1: never ask (--no-input)
  MOMO_NO_COLOR   1: no colour (--no-color); NO_COLOR does the same
  MOMO_DEBUG      1: show what passes on the socket (--debug)
  MOMO_PAGER      shows lists that are longer than the screen; cat is none; else PAGER, else less

Honoured: NO_COLOR FORCE_COLOR TERM COLUMNS PAGER LESS LC_ALL LC_CTYPE LANG XDG_DATA_HOME XDG_STATE_HOME
XDG_CONFIG_HOME XDG_RUNTIME_DIR. There is none for secrets, on purpose."""

_FORMATTING: Final = """\
What goes to stdout is what you asked for; messages, hints and questions go to stderr.

  on a terminal     a table, or a few lines; through a pager when it is longer than the screen
  in a pipe         tab-separated, no header, nothing cut, no colour
  --json            one JSON document, success or failure: the API's own body
                    (commands that go on, such as tx watch and list --all, write one per line)
  -o ndjson         one JSON document per line, each with "type"
  -o csv            comma-separated with a header, for a spreadsheet: a cell that it would take for a
                    formula (=, +, -, @) begins with an apostrophe; programs read ndjson or plain
  -o id             ids only
  --plain           what a pipe gets, also on a terminal

  --header, --no-header   a header line for plain and csv
  --fields A,B            choose and order the columns of table, plain, csv, ndjson
  --get PATH              one value, raw: momo init 12 --phone 0244124567 --get data.svc_code
  -q, --quiet             no messages; one error line and one next line if it fails
  -v                      more: the calls on the socket
  --debug                 all of it: headers and bodies too, with secrets, numbers, names and texts
                          masked; and the trace of a fault
  --no-color              no colour (also NO_COLOR, TERM=dumb)
  --no-input, -y          never ask; answer yes
  --password-stdin        where there is --password-file: the same as --password-file -
  --socket PATH, --profile NAME    another daemon, another shop
  --ping URL              tell a watcher of cron jobs: URL/start, then URL or URL/fail
  --wait-lock TIME        wait for another run of the same bulk command, instead of exit 10
  --timeout TIME          limit of a call, 30s if not said; 0 is for ever
  --utc, --tz NAME        zone of the times on the screen and in flags; the shop's if not said
  --absolute              times of day instead of "4m ago"

These go anywhere on the line. Words after -- are taken as they are.
Money is a decimal string, times are UTC with Z, in every form but the table."""

_FILES: Final = """\
With MOMO_HOME, one folder holds everything:

  config.toml   settings              momo.db       the database
  run/momo.sock the socket            log/          the daemon's log
  state/        crash notes, locks    master.key    key of the sealed secrets, mode 0600
  momo.ballast  16 MB that are given back when the disk is full
  state/idem.ndjson             keys of the last 100 orders that were asked for, to repeat a call safely

Without it, for each user and profile (NAME is "default" unless said):

  ~/.config/momo/NAME.toml            settings           (XDG_CONFIG_HOME)
  ~/.local/share/momo/NAME/momo.db    database           (XDG_DATA_HOME)
  ~/.local/state/momo/NAME/           log, state         (XDG_STATE_HOME)
  /run/user/UID/momo/momo.sock        socket             (XDG_RUNTIME_DIR)

The socket is searched for in this order: --socket, MOMO_SOCKET, the places above, /run/momo.
A socket path of over 107 bytes becomes momo-UID/ in the temporary directory."""

_CRON: Final = """\
Commands are made for cron: silent with --quiet when all is well, one error line and one next line
when not, and never a question without a terminal.

  */10 * * * *  momo status --fail-if-unhealthy --quiet
  0 * * * *     momo deliveries list --status failed --fail-if-any --quiet
  0 * * * *     momo review list --fail-if-any --quiet

In a script:

  momo reconcile "$REF" "$TXID" --json > out.json
  case $? in
    0) release_goods ;;  3) try_again_in_a_minute ;;  5) refuse_and_call_manager ;;  *) alert ;;
  esac"""


class Topic(NamedTuple):
    """One topic: its text, and what `--json` adds to it."""

    text: Callable[[], str]
    data: Callable[[], dict[str, Any]]


def _exit_codes() -> str:
    lines = [
        "Exit codes. Treat one that you do not know as a failure; codes are only ever added.",
        "",
    ]
    lines += [f"  {row.code:>3}  {row.name:<12} {row.meaning}" for row in EXIT_CODES]
    lines += ["", "Every error code, and the exit code that it gives:", ""]
    lines += [f"  {code:<29} {row.exit_code:>3}  {row.sentence}" for code, row in ERRORS.items()]
    lines += [
        "",
        "momo reconcile differs, so that 3 means one thing only, not here yet:",
        "",
    ]
    lines += [f"  {code:<29} {exit_code:>3}" for code, exit_code in RECONCILE_EXITS.items()]
    return "\n".join(lines)


def _exit_data() -> dict[str, Any]:
    return {
        "exit_codes": [row._asdict() for row in EXIT_CODES],
        "errors": [
            {
                "code": code,
                "exit_code": row.exit_code,
                "message": row.sentence,
                "next": row.next,
            }
            for code, row in ERRORS.items()
        ],
    }


def _errors() -> str:
    lines = ["What the errors mean, and what to type next.", ""]
    for code, row in ERRORS.items():
        lines += [f"  {code} (exit {row.exit_code})", f"      {row.sentence}"]
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
"""Every topic, in the order in which they are named."""
