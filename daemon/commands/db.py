"""Command `db`: read-only SQL over the shop's own database, for `momo data`. The daemon need not run."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from daemon.commands.output import need_shop, print_json
from daemon.open_shop import EXIT_OK, StartError, refuse_on_server
from daemon.runtime.system import SystemClock, SystemEntropy
from daemon.store.upkeep.operator_sql import OperatorSql, SqlRefused, open_for_operator
from daemon.wire import ErrorCode, Places


def db_command(options: argparse.Namespace, places: Places) -> int:
    """Run the command; `query` reads its statement from stdin, so that no other user sees it in the list of processes."""
    refuse_on_server(places, os.environ, "use psql, as a role that may only read")
    need_shop(Path(places.database).is_file())
    token = SystemEntropy().bytes(8).hex()
    try:
        with open_for_operator(places.database, SystemClock().monotonic, token, show_phones=options.show_phones) as sql:
            print_json({"success": True, **_do(options, sql)})
    except SqlRefused as error:
        raise StartError(ErrorCode.USAGE, str(error), "momo data schema") from error
    except OSError as error:
        raise StartError(ErrorCode.UNAVAILABLE, f"{options.name}: {error.strerror}", "momo data copy --help") from error
    return EXIT_OK


def _do(options: argparse.Namespace, sql: OperatorSql) -> dict[str, Any]:
    match options.what:
        case "tables":
            return {"data": sql.tables()}
        case "schema":
            return {"data": sql.columns(options.name)}
        case "export":
            os.close(os.open(options.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            try:
                copied = sql.export(options.name)
            except BaseException:
                Path(options.name).unlink(missing_ok=True)
                raise
            return {"data": {"file": options.name, "tables": len(copied), "rows": sum(copied.values())}}
        case _:
            values = dict(each.split("=", 1) for each in options.value)
            found = sql.query(sys.stdin.read(), values, options.limit)
            return {"data": found.rows, "meta": {"columns": found.columns, "more": found.more}}
