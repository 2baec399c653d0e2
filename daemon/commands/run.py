"""Commands `run`: the daemon in the foreground, and `demo`: one payment from SMS to webhook."""

import argparse
import asyncio
import faulthandler
import gc
import os
import signal
import sys
from typing import Final

from daemon.app import RunOptions, serve
from daemon.open_shop import EXIT_AGAIN, EXIT_FAILED, StartError, is_set_up
from daemon.runtime import files
from daemon.runtime.system import SystemClock, loop_factory, raise_open_files_max, use_one_heap
from daemon.wire import ErrorCode, Places
from parsers.masking import describe_error
from parsers.times import from_us

GC_OBJECTS: Final = 5_000
"""New objects before a garbage collection. With 700, as by default, it took a tenth of the processor time of a call."""


def run_command(options: argparse.Namespace, places: Places) -> int:
    """Run the daemon until it is stopped; write a masked crash file for an unexpected error."""
    # systemd sends SIGABRT if heartbeats stop; faulthandler then logs the stack of every thread.
    faulthandler.enable()
    if not is_set_up(places, os.environ):
        # Do not create a database here: an empty one would look like a shop with a stopped daemon.
        raise StartError(ErrorCode.NOT_SET_UP, "there is no shop here yet", "momo setup")
    files.mask_threads()
    raise_open_files_max()
    use_one_heap()
    # The loaded modules stay: collections need not look through it, and cycles are too rare to look for them every 700 objects.
    gc.freeze()
    gc.set_threshold(GC_OBJECTS, 20, 20)
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
            code = runner.run(serve(run, places, os.environ))
    except (StartError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 -- the last handler: any error goes to the crash file
        written = files.write(places, error, from_us(SystemClock().now_us()))
        print(f"error: {describe_error(error)}  [INTERNAL_ERROR]", file=sys.stderr)
        next_step = "momo daemon logs"
        if written is not None:
            print(f"the details are in {written}", file=sys.stderr)
            next_step = "momo doctor --bundle momo-doctor.tar.gz"
        print(f"next:  {next_step}", file=sys.stderr)
        return EXIT_FAILED
    if code == EXIT_AGAIN and not options.supervised:
        # Nobody else starts it again: it becomes a new program in the same process, with the same arguments.
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 -- our own arguments
    return code


def demo_command(options: argparse.Namespace, _places: Places) -> int:
    """Run the demo."""
    from rich.console import Console  # noqa: PLC0415 -- the daemon itself never needs it

    from daemon.demo.story import run_demo  # noqa: PLC0415 -- the same

    # SIGTERM ends the demo as Ctrl-C does, so that the clean-up runs.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run_demo(Console(highlight=False), keep=options.keep)
    except KeyboardInterrupt:
        return 130
