"""The command api: make any call of the API."""

import json
from typing import Final

from momo_cli.errors import Failure, usage
from momo_cli.frame.command import command
from momo_cli.inputs.parameters import argument, flag, option
from momo_cli.inputs.typed_values import read_json
from momo_cli.show.answer import Answer, document_of, dumps
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_OURS: Final = ("host", "content-length", "connection", "transfer-encoding")
"""Headers of the connection, which the client sets."""


@command("api")
def api(
    client: Client,
    terminal: Terminal,
    method: str = argument("METHOD", "GET, POST, PUT, PATCH, DELETE."),
    path: str = argument("PATH", "/v1/... with its query."),
    data: str | None = option("-d", "--data", "JSON|@FILE", "The body."),
    header: list[str] | None = option("-H", "--header-line", "NAME:VALUE", "A header."),
    include: bool = flag("-i", "--include", "Show the status and the headers too."),
) -> Answer:
    """Make any call of the API.

    The call is made as the shop's owner. PATH is a path of docs/developers/api.md, with its query. -d sends a JSON body: as it is,
    from a file after @, or from stdin with @-. --include shows the status and the headers of a successful response
    first. The response is printed unchanged; an error exits as for any other command.

    Examples:
        momo api GET /v1/transactions?status=PENDING
        momo api POST /v1/transactions/initialize -d '{"amount": "12.50", "phone_number": "0244124567"}'
        momo api PUT /v1/open-collections/endpoints/b91f0c1e-7d2b-4c3d-9e4f-0123456789ab -d @change.json
        momo api GET /healthz --include
    """
    verb = method.upper()
    if verb not in _METHODS:
        raise usage(f"METHOD: {method!r} is not one of {', '.join(_METHODS)}")
    if not path.startswith("/") or not path.isascii() or any(c.isspace() for c in path):
        raise usage(f"PATH: {path!r} is not a path of the API, such as /v1/transactions")
    headers = dict(_header(each) for each in header or ())
    body = None if data is None else read_json(data, "-d")
    try:
        reply = client.raw(verb, path, body, headers)
    except Failure as failure:
        if failure.body:
            failure.shown = _for_people(failure.body) if terminal.human else dumps(failure.body)
        raise
    head = [f"HTTP/1.1 {reply.status}", *(f"{n}: {v}" for n, v in reply.headers), ""]
    text = reply.text.rstrip("\n")
    if terminal.human and reply.body:
        text = _for_people(reply.body)
    shown = [*(head if include else ()), *text.splitlines()]
    document = reply.text or document_of(None)
    if not reply.body and reply.text:
        document = document_of(reply.text)
    return Answer(document, verbatim=shown, plain="\n".join(shown))


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if not colon or not name or not (name + value).isascii() or not value.isprintable():
        raise usage(f"-H: {text!r} is not NAME: VALUE")
    if name.lower() in _OURS:
        raise usage(f"-H: {name} is a header of the connection")
    return name, value


def _for_people(body: object) -> str:
    return json.dumps(body, ensure_ascii=False, indent=2)
