"""`--ping URL`: tell a watcher of cron jobs that a run began, and how it ended; it tells you when nothing comes.

The way of Healthchecks and its kin: GET `URL/start`, then `URL` when all went well, else `URL/fail?exit=CODE`. A
watcher that cannot be reached is told in one line and changes nothing else.
"""

import contextlib
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from momo_cli.errors import usage

PING_S: Final = 10.0


def checked(url: str) -> str:
    """Return the address as it may be asked.

    Raises:
        Failure: USAGE: it is no http or https address.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise usage(f"--ping: {url!r} is no address such as https://hc.example/UUID")
    return url


def ping(url: str, step: str, warn: Callable[[str], None], exit_code: int = 0) -> None:
    """Tell the watcher one thing: `start` or `end`."""
    import urllib.error  # noqa: PLC0415  # only this flag needs HTTP over TCP
    import urllib.request  # noqa: PLC0415 -- loaded only when it is needed

    parts = urlsplit(url)
    path, query = parts.path.rstrip("/"), parts.query
    if step == "start":
        path += "/start"
    elif exit_code:
        path += "/fail"
        query = f"{query}&exit={exit_code}".lstrip("&")
    target = urlunsplit((parts.scheme, parts.netloc, path, query, ""))
    request = urllib.request.Request(target, headers={"User-Agent": "momo-cli"})  # noqa: S310  # http(s), see checked
    try:
        with contextlib.closing(urllib.request.urlopen(request, timeout=PING_S)) as answer:  # noqa: S310 -- http(s) only, see above
            answer.read(1024)
    except (OSError, ValueError, urllib.error.URLError) as problem:
        why = getattr(problem, "reason", problem)
        warn(f"warning: --ping: {parts.hostname} did not take it: {why}")
