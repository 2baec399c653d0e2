"""The program `momo`."""

import atexit
import gc
import os
import sys


def main() -> int:
    """Run the command line of this process; the value is its exit code."""
    # Imports make no garbage, and a process that ends needs no last collection: both together cost a tenth of the time.
    gc.set_threshold(50_000)
    atexit.register(gc.freeze)
    from momo_cli.frame import run  # noqa: PLC0415  # imported here, so that Ctrl-C during the imports is quiet too

    return run.main(sys.argv[1:], os.environ)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
