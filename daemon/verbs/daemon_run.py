"""Run the daemon in the foreground."""

import argparse
import asyncio
import faulthandler
import os
import sys
from pathlib import Path

from daemon import crash, wire
from daemon.app import RunOptions, serve
from daemon.doors import EXIT_CONFIG, EXIT_FAILED, StartError
from daemon.system import SystemClock, loop_factory
from parsers.when import from_us
from privacy.faults import fault


def run(options: argparse.Namespace, places: wire.Places) -> int:
    """Serve until told to stop; a fault of ours is written down masked."""
    # A supervisor that misses our pings sends SIGABRT; the log then shows where every thread stood.
    faulthandler.enable()
    if not Path(places.database).exists():
        # Nothing is made here: an empty database would look like a shop whose daemon is down.
        raise StartError(
            wire.ErrorCode.NOT_SET_UP, EXIT_CONFIG, "there is no shop here yet", "momo setup"
        )
    crash.mask_threads()
    run = RunOptions(
        http=options.http,
        insecure_http=options.insecure_http,
        modems=None if options.modem is None else tuple(options.modem),
        log_json=options.log_json,
        supervised=options.supervised,
        simulated_phone=options.simulated_phone,
    )
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(serve(run, places, os.environ))
    except (StartError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 -- the last one who can: whatever it is, it is written down masked
        written = crash.write(places, error, from_us(SystemClock().now_us()))
        print(f"error: {fault(error)}  [INTERNAL_ERROR]", file=sys.stderr)
        told = (
            "momo logs"
            if written is None
            else f"momo doctor --bundle FILE.tar.gz takes {written} along"
        )
        print(f"next:  {told}", file=sys.stderr)
        return EXIT_FAILED
