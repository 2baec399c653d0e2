"""Show, change and check the settings."""

import argparse
import os
from typing import Any

from daemon import settings, wire
from daemon.config import ConfigError
from daemon.doors import EXIT_CONFIG, EXIT_FAILED, EXIT_OK, EXIT_USAGE, StartError
from daemon.verbs.say import print_json


def run(options: argparse.Namespace, places: wire.Places) -> int:
    """Show, change or check the settings, for `momo config`; no daemon is asked, none need run."""
    data: Any
    try:
        match options.what:
            case "show":
                data = settings.show(places, os.environ)
            case "get":
                data = settings.get(places, os.environ, options.key)
            case "validate":
                data = settings.validate(places, os.environ, options.key or None)
            case what:
                value = options.value if what == "set" else None
                data = settings.change(places, options.key, value)
    except ConfigError as error:
        raise StartError(
            wire.ErrorCode.CONFIG_INVALID, EXIT_CONFIG, str(error), "momo config edit"
        ) from error
    except settings.NoSuchKey as error:
        raise StartError(
            wire.ErrorCode.USAGE, EXIT_USAGE, str(error), "momo config show"
        ) from error
    except (settings.CannotEdit, OSError) as error:
        raise StartError(
            wire.ErrorCode.UNAVAILABLE, EXIT_FAILED, str(error), "momo config edit"
        ) from error
    print_json({"success": True, "data": data})
    return EXIT_OK
