"""The commands about the database: read-only SQL over the shop's own tables."""

from typing import Annotated, Final

from daemon.wire import Path
from momo_cli.errors import usage
from momo_cli.frame.command import command
from momo_cli.inputs.files import STDIN, read_text
from momo_cli.inputs.parameters import argument, option
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import BY_RESULT, Answer, Field, Head, View, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client
from momo_cli.text import at, clean

_ROWS_MAX: Final = 100_000
_ShowPhones = Annotated[
    bool, option("--show-phones", "Whole phone numbers; noted in the journal by the daemon.")
]
_TABLES_VIEW: Final = view_of(
    "table rows columns",
    Head("TABLE", lambda row, _: clean(row.get("table"))),
    Head("ROWS", lambda row, _: f"{row.get('rows'):,}", right=True),
    Head("COLUMNS", lambda row, _: clean(row.get("columns")), right=True),
    id="table",
)
_SCHEMA_VIEW: Final = view_of(
    "table column type shown",
    Head("TABLE", lambda row, _: clean(row.get("table"))),
    Head("COLUMN", lambda row, _: clean(row.get("column"))),
    Head("TYPE", lambda row, _: clean(row.get("type") or "")),
    Head("SHOWN", lambda row, _: clean(row.get("shown"))),
    id="column",
)


@command("data tables", view=_TABLES_VIEW)
def tables(terminal: Terminal) -> Answer:
    """List the tables of the shop's database.

    They can be read with momo data query. Their columns: momo data schema TABLE. The daemon need not run.

    Examples:
        momo data tables
        momo data tables --json
    """
    return Answer(*run_verb(terminal, "db", "tables", "--json").parts)


@command("data schema", view=_SCHEMA_VIEW)
def schema(
    terminal: Terminal,
    table: Annotated[str | None, argument("[TABLE]", "A table; default: all.")] = None,
) -> Answer:
    """List the columns of a table.

    Amounts (..._minor) are whole pesewas, times (..._at) microseconds since 1970 in UTC, ids are text. SHOWN is `no` for
    secrets, which cannot be read, and `masked` for columns in which phone numbers are masked without --show-phones.

    Examples:
        momo data schema payments
        momo data schema --fields table,column
    """
    return Answer(*run_verb(terminal, "db", "schema", *_named(table), "--json").parts)


@command("data query", view=BY_RESULT)
def query(
    client: Client,
    terminal: Terminal,
    sql: Annotated[str, argument("SQL|-", "One SELECT; - reads it from stdin.")],
    value: Annotated[
        list[str] | None,
        option("-p", "--value", "NAME=VALUE", "The value of :NAME in the SQL; a text."),
    ] = None,
    limit: Annotated[int, option("At most N rows.", min=1, max=_ROWS_MAX)] = 1_000,
    show_phones: _ShowPhones = False,
) -> Answer:
    """Read the shop's database with SQL.

    Only one SELECT of SQLite, of at most 10 seconds, which changes nothing; the shop works on meanwhile. Secrets cannot
    be read. Phone numbers are masked, also inside texts, and different numbers stay different: 024 *** 4567 #2.
    --show-phones shows them, and needs the daemon, which notes it in the journal. docs/scripts.md has useful queries.

    Examples:
        momo data query 'SELECT status, COUNT(*) AS n FROM transactions GROUP BY status'
        momo data query 'SELECT * FROM transactions WHERE svc_code = :code' -p code=7KQ2MX --json
        momo data query 'SELECT payer_phone, amount_minor FROM payments' --show-phones -o csv
        momo data query - < month.sql
    """
    given = list(value or ())
    for each in given:
        if "=" not in each:
            raise usage(f"-p: {each!r} is not NAME=VALUE")
    statement = read_text(terminal, STDIN) if sql == STDIN else sql
    flags = [f"--limit={limit}", *(f"--value={each}" for each in given)]
    flags += _shown_phones(client, "query", show_phones)
    done = run_verb(terminal, "db", "query", *flags, "--json", stdin=statement)
    columns = [clean(name) for name in at(done.body, "meta.columns") or ()]
    more = at(done.body, "meta.more")
    return Answer(
        *done.parts,
        view=View(tuple(Field(name) for name in columns), id=columns[0] if columns else ""),
        empty="No rows.",
        notes=[f"There are more rows; --limit shows up to {_ROWS_MAX:,}."] if more else [],
    )


@command("data copy", view=view_of("file tables rows", id="file"))
def export(
    client: Client,
    terminal: Terminal,
    file: Annotated[str, argument("FILE.db", "The new SQLite file.")],
    show_phones: _ShowPhones = False,
) -> Answer:
    """Copy the tables into an SQLite file for other programs.

    The copy has what momo data query shows: no secrets, and masked phone numbers without --show-phones. It is no backup:
    for that there is momo backup create. The file must not exist.

    Examples:
        momo data copy shop.db
        momo data copy shop.db --show-phones
    """
    flags = _shown_phones(client, "copy", show_phones)
    done = run_verb(terminal, "db", "export", file, *flags, "--json")
    said = f"{terminal.tick} {done.data['rows']:,} rows of {done.data['tables']} tables are in {clean(file)}."
    return Answer(*done.parts, lines=[said])


def _named(table: str | None) -> list[str]:
    return [] if table is None else [table]


def _shown_phones(client: Client, what: str, show_phones: bool) -> list[str]:
    """Return the flag of the verb; the daemon notes it first, or the command fails."""
    if not show_phones:
        return []
    client.call("POST", Path.LOCAL_PHONES_SHOWN, body={"command": f"data {what}"})
    return ["--show-phones"]
