"""Commands `config`: show, change and validate the settings, and `logs`: show the log."""

import argparse
import json
import os
from typing import Any

from daemon.commands.output import print_json
from daemon.open_shop import EXIT_OK, StartError
from daemon.runtime import config_file, log
from daemon.runtime.config_file import ConfigError
from daemon.wire import ErrorCode, Places


def config_command(options: argparse.Namespace, places: Places) -> int:
    """Run the command, for `momo config`; it needs no daemon."""
    data: Any
    try:
        match options.what:
            case "show":
                data = config_file.show_settings(places, os.environ)
            case "get":
                data = config_file.get_setting(places, os.environ, options.key)
            case "validate":
                data = config_file.validate_settings(places, os.environ, options.key or None)
            case "add-source":
                data = config_file.add_source(places, json.loads(options.key))
            case "remove-source":
                data = config_file.remove_source(places, options.key)
            case "add-hilink":
                data = _add_hilink(places, options.key)
            case action:
                value = options.value if action == "set" else None
                data = config_file.change_setting(places, options.key, value)
    except ConfigError as error:
        wrong = isinstance(error, config_file.WrongValue)
        following = f"momo config get {options.key}" if wrong else "momo config edit"
        raise StartError(ErrorCode.CONFIG_INVALID, str(error), following) from error
    except config_file.NoSuchKey as error:
        raise StartError(ErrorCode.USAGE, str(error), "momo config show") from error
    except (config_file.CannotEdit, OSError) as error:
        raise StartError(ErrorCode.UNAVAILABLE, str(error), "momo config edit") from error
    print_json({"success": True, "data": data})
    return EXIT_OK


def _add_hilink(places: Places, url: str) -> dict[str, Any]:
    """Add a HiLink source, if a stick answers at its address."""
    from daemon.modem.hilink import answers_as_stick  # noqa: PLC0415 -- only for this verb

    if not answers_as_stick(url):
        raise config_file.CannotEdit(
            f"no HiLink stick answers at {url}; plug it in, and see that its page opens in a browser"
        )
    return config_file.add_hilink(places, url)


def logs_command(options: argparse.Namespace, places: Places) -> int:
    """Print the log's rows, for `momo daemon logs` without a daemon; `momo` has checked the flags."""
    wanted = log.LogFilter(
        since=options.since,
        level=options.level or log.LEVELS[0],
        component=options.component,
        lines=int(options.lines or 200),
        after=options.after,
    )
    rows, cursor = log.read(places.log, wanted)
    print_json({"success": True, "data": rows, "meta": {"cursor": cursor}})
    return EXIT_OK
