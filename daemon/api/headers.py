"""Read a header of a request."""

from starlette.types import Scope


def header(scope: Scope, name: bytes) -> str | None:
    """Return a header of a request, None when it is not there; `name` is in lower case."""
    for key, value in scope["headers"]:
        if key == name:
            text: str = value.decode("latin-1")
            return text
    return None
