"""The command verify: check the signature of a webhook."""

import base64
from typing import Annotated, Any, Final

from momo_cli import exit_codes
from momo_cli.errors import usage
from momo_cli.frame.command import command
from momo_cli.inputs.files import file_errors
from momo_cli.inputs.parameters import argument, option
from momo_cli.service.daemon_program import run_verb
from momo_cli.show.answer import Answer, dumps, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.text import clean

_SECRETS_MAX: Final = 20


@command("deliveries verify", view=view_of("valid timestamp age_s fresh problems", id="valid"))
def verify(
    terminal: Terminal,
    request: Annotated[str, argument("FILE|-", "The request, or with --headers only its body.")],
    secret_file: Annotated[str, option("FILE", "The signing secret; several: one per line.")],
    headers: Annotated[str | None, option("FILE", "The header lines, `Name: value`.")] = None,
    at: Annotated[
        int | None, option("SECONDS", "When it was received, in Unix seconds; default: now.")
    ] = None,
) -> Answer:
    """Check whether a webhook is genuine.

    Use it for a webhook that your server got. If it is not genuine, the usual mistake that explains it is named. The
    file holds the request as it was received: header lines, an empty line, then the exact bytes of the body. Or give
    the body alone, and the headers with --headers. Needs no daemon and no shop. Exit 6: a receiver must reject it.

    Examples:
        momo deliveries verify request.txt --secret-file hook.secret
        momo deliveries verify body.json --headers headers.txt --secret-file hook.secret --at 1767225610
    """
    body = _bytes(terminal, request, "FILE")
    if headers is None:
        head, body = _split(body)
    else:
        head = _bytes(terminal, headers, "--headers").decode("utf-8", "replace")
    secrets = _bytes(terminal, secret_file, "--secret-file").decode("utf-8", "replace")
    given = {
        "headers": _headers(head),
        "body": base64.b64encode(body).decode(),
        "secrets": secrets.splitlines()[:_SECRETS_MAX],
        "at": at,
    }
    done = run_verb(terminal, "verify", stdin=dumps(given))
    code = exit_codes.OK if done.data["valid"] else exit_codes.FINDINGS
    return Answer(*done.parts, lines=_lines(done.data, terminal), exit_code=code)


def _bytes(terminal: Terminal, path: str, name: str) -> bytes:
    if path == "-":
        return terminal.stdin.buffer.read()
    with file_errors(f"{name}: {path}"), open(path, "rb") as file:  # noqa: PTH123  # pathlib is not needed here
        return file.read()


def _split(raw: bytes) -> tuple[str, bytes]:
    """Split headers and body at the first empty line."""
    for end in (b"\r\n\r\n", b"\n\n"):
        head, found, body = raw.partition(end)
        if found:
            return head.decode("utf-8", "replace"), body
    raise usage("FILE has no empty line between headers and body; or give --headers FILE")


def _headers(text: str) -> dict[str, str]:
    """Return the header lines. A request line before them is left out: it has a space before its first colon."""
    found = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and " " not in name.strip():
            found[name.strip()] = value.strip()
    return found


def _lines(row: dict[str, Any], terminal: Terminal) -> list[str]:
    found = [terminal.style("✗ not verified", "red")]
    if row["valid"]:
        found = [f"{terminal.style('✓ genuine', 'green')}, signed {row['age_s']} s ago"]
    elif row["fits"]:
        found = [terminal.style("! genuine, but not fresh", "yellow")]
    found += [f"  {one['scheme']}: secret {one['secret']}" for one in row["fits"]]
    found += [f"  {clean(problem)}" for problem in row["problems"]]
    return found
