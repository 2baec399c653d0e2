"""Command `move`: copy the shop's database from its file to a PostgreSQL server, and use it there from the next start."""

import argparse
import os
from pathlib import Path

from daemon.commands.output import need_shop, print_json
from daemon.core.errors import Unavailable
from daemon.open_shop import EXIT_OK, StartError, open_home
from daemon.runtime import config_file
from daemon.runtime.config_file import ConfigError
from daemon.runtime.system import SystemClock
from daemon.store import open_store
from daemon.wire import ErrorCode, Places


def move_command(options: argparse.Namespace, places: Places) -> int:
    """Run the command, for `momo hub init --database`; the daemon must be stopped."""
    need_shop(Path(places.database).is_file())
    home = open_home(places, os.environ)
    try:
        if home.config.store.url:
            raise StartError(
                ErrorCode.CONFIG_INVALID,
                "this shop is on a server already, see store.url in the settings",
                "momo config get store.url",
            )
        config_file.change_setting(places, "store.url", options.url, dry_run=True)
        copied = open_store.copy_to_server(places.database, options.url, SystemClock().now_us())
        config_file.change_setting(places, "store.url", options.url)
    except ConfigError as error:
        raise StartError(ErrorCode.CONFIG_INVALID, str(error), "momo hub init --help") from error
    except (open_store.DriverMissing, open_store.NotCopied, Unavailable) as error:
        raise StartError(
            ErrorCode.UNAVAILABLE,
            f"nothing was copied: {error}",
            error.next_step if isinstance(error, open_store.NotCopied) else "momo hub init --help",
        ) from error
    finally:
        home.lock.release()
    data = {
        "rows": copied.rows,
        "payments": copied.payments,
        "amount_minor": copied.amount_minor,
        "kept": places.database,
        "changed": True,
    }
    print_json({"success": True, "data": data})
    return EXIT_OK
