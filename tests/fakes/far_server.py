"""A PostgreSQL server that is reached over a `SlowLine`: a program at the line's far end forwards its TCP port to the server's socket.

The hub's connections are TCP of the kernel, through both namespaces, so a cut line is silent for it, as a lost network is.
"""

import subprocess
import sys
from typing import Final, Self

from tests.fakes.postgresql import Cluster
from tests.fakes.slow_line import SlowLine

END: Final = 1
PORT: Final = 5432
_FORWARD: Final = """
import asyncio, sys

async def pump(source, target):
    while data := await source.read(1 << 16):
        target.write(data)
        await target.drain()
    target.close()

async def serve(reader, writer):
    there_reader, there_writer = await asyncio.open_unix_connection(sys.argv[3])
    await asyncio.gather(pump(reader, there_writer), pump(there_reader, writer), return_exceptions=True)

async def main():
    async with await asyncio.start_server(serve, sys.argv[1], int(sys.argv[2])) as server:
        print("ready", flush=True)
        await server.serve_forever()

asyncio.run(main())
"""


class FarServer:
    """One database of `cluster`, at the far end of `line`. A context manager.

    Attributes:
        near_url: Its address for this process, on the server's own socket.
        url: Its address for a program at the other end of the line.
    """

    def __init__(self, line: SlowLine, cluster: Cluster) -> None:
        self.near_url = cluster.new_database()
        name = self.near_url.removeprefix("postgresql:///").partition("?")[0]
        self.url = f"postgresql://momo@{line.address(END)}:{PORT}/{name}"
        path = str(cluster.folder / f".s.PGSQL.{PORT}")
        self._program = subprocess.Popen(
            [*line.enter(END), sys.executable, "-c", _FORWARD, line.address(END), str(PORT), path],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self) -> Self:
        assert self._program.stdout is not None
        assert self._program.stdout.readline() == b"ready\n", "it did not start"
        return self

    def __exit__(self, *_exc: object) -> None:
        self._program.kill()
        self._program.communicate()
