"""The program `momo`."""

import os
import sys


def main() -> int:
    """Run the command line of this process; the value is its exit code."""
    from momo_cli.frame import run  # noqa: PLC0415  # imported here, so that Ctrl-C during the imports is quiet too

    return run.main(sys.argv[1:], os.environ)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
