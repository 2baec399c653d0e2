"""Play one payment from SMS to webhook."""

import argparse
import re
import signal
from pathlib import Path

from rich.console import Console

from daemon import wire
from daemon.demo.story import DemoOptions, tell


def run(options: argparse.Namespace, _places: wire.Places) -> int:
    """Tell the story, or draw it into a picture."""
    # Ctrl-C ends the demo, not this program's clean-up.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if not options.picture:
            demo = DemoOptions(options.keep, options.phone, tuple(options.fault))
            return tell(demo, Console(highlight=False))
        console = Console(highlight=False, record=True, width=100, force_terminal=True)
        code = tell(DemoOptions(), console)
        svg = console.export_svg(title="momo demo")
        # The picture must load nothing from anywhere; a reader's own fixed-width font will do.
        svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)
        Path(options.picture).write_text(svg, encoding="utf-8")
    except KeyboardInterrupt:
        return 130
    return code
