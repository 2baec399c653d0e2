"""Make any call of the API, as the shop itself: the raw way in, for what has no command.

PATH is what docs/api.md lists, with its query. -d sends a JSON body: as it is, from a file after @,
or from stdin with @-. --include shows the status and the headers first, of an answer that is success. The answer
comes as it is, and one that is not success exits as any command would.
"""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from momo_cli.amounts import read_json
from momo_cli.answer import Answer, Call, View
from momo_cli.client import Client
from momo_cli.errors import Failure, usage
from momo_cli.terminal import Terminal
from momo_cli.values import dumps

EXAMPLES: Final = """\
  momo api GET /v1/transactions?status=PENDING
  momo api POST /v1/transactions/initialize -d '{"amount": "12.50", "phone_number": "0244124567"}'
  momo api PUT /v1/open-collections/endpoints/b91f0c1e-7d2b-4c3d-9e4f-0123456789ab -d @change.json
  momo api GET /healthz --include
"""
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_VIEW: Final = View(fields=())
_OURS: Final = ("host", "content-length", "connection", "transfer-encoding")
"""Headers that belong to the connection, not to the call."""


@dataclass(frozen=True, slots=True)
class Options:
    """The call."""

    method: str
    path: str
    body: Any
    headers: dict[str, str]
    include: bool


def command(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="GET, POST, PUT, PATCH, DELETE.")],
    path: Annotated[str, typer.Argument(metavar="PATH", help="/v1/... and its query.")],
    data: Annotated[
        str | None, typer.Option("-d", "--data", metavar="JSON|@FILE", help="The body.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("-H", "--header-line", metavar="NAME:VALUE", help="A header."),
    ] = None,
    include: Annotated[
        bool, typer.Option("-i", "--include", help="The status and the headers too.")
    ] = False,
) -> Call:
    """Read the flags."""
    verb = method.upper()
    if verb not in METHODS:
        raise usage(f"METHOD: {method!r} is not one of {', '.join(METHODS)}")
    if not path.startswith("/") or not path.isascii() or any(c.isspace() for c in path):
        raise usage(f"PATH: {path!r} is not a path of the API, such as /v1/transactions")
    headers = dict(_header(each) for each in header or ())
    body = None if data is None else read_json(data, "-d")
    return Call(run, Options(verb, path, body, headers, include), _VIEW)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not name or not (name + value).isascii() or not value.isprintable():
        raise usage(f"-H: {text!r} is not NAME: VALUE")
    if name.lower() in _OURS:
        raise usage(f"-H: {name} belongs to the connection")
    return name, value


def run(client: Client, terminal: Terminal, options: Options) -> Answer:
    """Make the call."""
    try:
        reply = client.raw(options.method, options.path, options.body, options.headers)
    except Failure as failure:
        if failure.body:
            failure.shown = _for_people(failure.body) if terminal.human else dumps(failure.body)
        raise
    head = [f"HTTP/1.1 {reply.status}", *(f"{n}: {v}" for n, v in reply.headers), ""]
    text = reply.text.rstrip("\n")
    if terminal.human and reply.body:
        text = _for_people(reply.body)
    shown = [*(head if options.include else ()), *text.splitlines()]
    document = reply.text or dumps({"success": True, "data": None})
    if not reply.body and reply.text:
        document = dumps({"success": True, "data": reply.text})
    return Answer(document=document, verbatim=shown, plain="\n".join(shown))


def _for_people(body: object) -> str:
    return json.dumps(body, ensure_ascii=False, indent=2)
