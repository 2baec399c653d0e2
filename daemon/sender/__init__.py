"""Everything that is sent to others: webhooks, calls to a hub, orders to a phone, and notices to the owner."""

import sys
from typing import cast

# `import httpx` loads its command-line program too, with rich, click and pygments: 8 MB. None means: not installed.
# It stands here because no module of this package can be imported before it.
cast("dict[str, object]", sys.modules).setdefault("httpx._main", None)
