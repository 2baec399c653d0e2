"""Give the owner a password, with no daemon running."""

import argparse
import asyncio
import os

from daemon import wire
from daemon.core.errors import Refusal
from daemon.doors import EXIT_CONFIG, EXIT_OK, EXIT_USAGE, StartError, open_doors
from daemon.flows.password import set_new
from daemon.system import SystemClock
from daemon.verbs.say import password, print_json


def run(_options: argparse.Namespace, places: wire.Places) -> int:
    """Set the password that stands on stdin."""
    return asyncio.run(_run(places))


async def _run(places: wire.Places) -> int:
    clock = SystemClock()
    doors = open_doors(places, os.environ, clock)
    try:
        await set_new(doors.store, clock, f"local:{os.getuid()}", password("-"))
    except Refusal as refusal:
        code = EXIT_CONFIG if refusal.code is wire.ErrorCode.NOT_SET_UP else EXIT_USAGE
        raise StartError(
            refusal.code, code, refusal.message, "momo password set --password-file FILE"
        ) from refusal
    finally:
        doors.close()
    print_json({"success": True, "data": {"changed": True}})
    return EXIT_OK
