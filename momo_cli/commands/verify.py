"""Say whether a webhook that your server got is genuine, and if not, which usual mistake explains it.

The file holds the request as it came: header lines, an empty line, then the body to the byte. Or give the
body alone, and the headers with --headers. Needs no daemon and no shop. Exit 6: a receiver must not take it.
"""

import base64
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from momo_cli import exits
from momo_cli.answer import Answer, Call, Field, View
from momo_cli.client import Client
from momo_cli.errors import usage
from momo_cli.process import ask
from momo_cli.terminal import Terminal
from momo_cli.text import clean
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo verify request.txt --secret-file hook.secret
  momo verify body.json --headers headers.txt --secret-file hook.secret --at 1767225610
"""
_SECRETS_MAX: Final = 20
VIEW: Final = View(
    fields=(Field("valid"), Field("timestamp"), Field("age_s"), Field("fresh"), Field("problems")),
    id="valid",
)


@dataclass(frozen=True, slots=True)
class Options:
    """The flags of `momo verify`."""

    request: str
    headers: str | None
    secret_file: str
    at: int | None


def command(
    request: Annotated[
        str, typer.Argument(metavar="FILE|-", help="The request, or with --headers its body.")
    ],
    secret_file: Annotated[
        str, typer.Option(metavar="FILE", help="The signing secret; one a line if several.")
    ],
    headers: Annotated[
        str | None, typer.Option(metavar="FILE", help="The header lines, `Name: value`.")
    ] = None,
    at: Annotated[
        int | None, typer.Option(metavar="SECONDS", help="When it came, in Unix seconds; or now.")
    ] = None,
) -> Call:
    """Read the flags."""
    return Call(run, Options(request, headers, secret_file, at), VIEW)


def run(client: Client, terminal: Terminal, options: Options) -> Answer:  # noqa: ARG001  # every run has this signature
    """Read the files, and have them looked at by the program that signs."""
    body = _bytes(terminal, options.request, "FILE")
    if options.headers is None:
        head, body = _split(body)
    else:
        head = _bytes(terminal, options.headers, "--headers").decode("utf-8", "replace")
    secrets = _bytes(terminal, options.secret_file, "--secret-file").decode("utf-8", "replace")
    given = {
        "headers": _headers(head),
        "body": base64.b64encode(body).decode(),
        "secrets": secrets.splitlines()[:_SECRETS_MAX],
        "at": options.at,
    }
    done = ask(terminal, "verify", stdin=dumps(given))
    row: dict[str, Any] = done.body["data"]
    return Answer(
        document=done.text,
        rows=[row],
        lines=_lines(row, terminal),
        exit_code=exits.OK if row["valid"] else exits.FINDINGS,
    )


def _bytes(terminal: Terminal, path: str, name: str) -> bytes:
    if path == "-":
        return terminal.stdin.buffer.read()
    try:
        with open(path, "rb") as file:  # noqa: PTH123  # pathlib is not needed here
            return file.read()
    except OSError as problem:
        raise usage(f"{name}: {path}: {problem.strerror}") from None


def _split(raw: bytes) -> tuple[str, bytes]:
    """Part headers and body at the first empty line."""
    for end in (b"\r\n\r\n", b"\n\n"):
        head, found, body = raw.partition(end)
        if found:
            return head.decode("utf-8", "replace"), body
    raise usage("FILE has no empty line between headers and body; or give --headers FILE")


def _headers(text: str) -> dict[str, str]:
    """Read header lines; a request line before them has no colon in its first word."""
    found = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and " " not in name.strip():
            found[name.strip()] = value.strip()
    return found


def _lines(row: dict[str, Any], terminal: Terminal) -> list[str]:
    found = []
    if row["valid"]:
        found.append(f"{terminal.style('✓ genuine', 'green')}, signed {row['age_s']} s ago")
    elif row["fits"]:
        found.append(f"{terminal.style('! genuine, but not fresh', 'yellow')}")
    else:
        found.append(f"{terminal.style('✗ not verified', 'red')}")
    found += [f"  {one['scheme']}: secret {one['secret']}" for one in row["fits"]]
    found += [f"  {clean(problem)}" for problem in row["problems"]]
    return found
