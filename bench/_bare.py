"""A minimal Starlette server for comparison in `api.py`: one insert under the same group commit, and one look-up.

    python bench/_bare.py DATABASE

Prints `ready PORT`. It uses the same uvicorn, uvloop, httptools and writer thread, without keys, rules or an envelope
of its own: JSON in, JSON out.
"""

import asyncio
import socket
import sys
import time

import _figures  # noqa: F401 - finds the daemon
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from daemon.runtime.system import SystemEntropy
from daemon.store.engine import Reader, Store, Tx

ENTROPY = SystemEntropy()
TABLE = "CREATE TABLE IF NOT EXISTS bare (id TEXT PRIMARY KEY, amount TEXT, phone_number TEXT) STRICT"
INSERT = "INSERT INTO bare (id, amount, phone_number) VALUES (:id, :amount, :phone_number)"
SELECT = "SELECT id, amount, phone_number FROM bare WHERE id = :id"


def application(store: Store) -> Starlette:
    """Make the application."""

    async def create(request: Request) -> Response:
        row = {"id": ENTROPY.bytes(16).hex(), **await request.json()}

        def insert(tx: Tx) -> None:
            tx.run(INSERT, row)

        await store.write(insert)
        return JSONResponse({"success": True, "data": row}, 201)

    async def look(request: Request) -> Response:
        key = {"id": request.path_params["id"]}

        def find(reader: Reader) -> tuple[str, ...] | None:
            return reader.one(SELECT, key)

        row = await store.read(find)
        if row is None:
            return JSONResponse({"success": False}, 404)
        names = ("id", "amount", "phone_number")
        return JSONResponse({"success": True, "data": dict(zip(names, row, strict=True))})

    return Starlette(routes=[Route("/rows", create, methods=["POST"]), Route("/rows/{id}", look)])


async def serve(path: str) -> None:
    """Serve until killed."""
    store = Store.open(path, now_us=time.time_ns() // 1_000)
    await store.write(lambda tx: tx.run(TABLE))
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        application(store),
        log_level="critical",
        access_log=False,
        lifespan="off",
        interface="asgi3",
        http="httptools",
        ws="none",
        proxy_headers=False,
        server_header=False,
    )
    print(f"ready {listening.getsockname()[1]}", flush=True)
    await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    uvloop.install()
    asyncio.run(serve(sys.argv[1]))
