"""The real API of a small shop on a TCP port and a Unix socket, with clients for each kind of caller."""

import asyncio
import functools
import json
import ssl
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from starlette import routing

from daemon import wire
from daemon.api import routes
from daemon.api.http.envelope import Application
from daemon.api.http.listeners import Listeners
from daemon.api.http.service import Hooks
from daemon.core.access.callers import KEY_SCOPES, KeyKind, hash_key, make_key
from daemon.core.lines.modem_health import ModemHealth
from daemon.core.messages.post import PostedSource
from daemon.core.model import Shop
from daemon.dash.entry import Dashboard, Machine
from daemon.env import Env
from daemon.pages.routes import PayRoutes
from daemon.runtime.config import Config
from daemon.store import shop as shops
from daemon.store.access import users
from daemon.store.engine import Store, Tx
from daemon.wire import Mode, Role, Scope
from tests.fakes.entropy import FakeEntropy
from tests.fakes.openapi_check import OpenApiCheck, openapi_check
from tests.fakes.shop import FakeShop

OWNER_ID = "11111111-1111-4111-8111-111111111111"
PUBLIC = "93.184.215.14"
# httpx looks for this optional package in each request, and each new application compiles its paths: together a quarter of the
# time of a quick test.
sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]  # this is how Python marks a module as missing
routing.compile_path = functools.cache(routing.compile_path)
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Shared by all clients: httpx otherwise makes a context per client, which takes longer than the test."""
ANSWER_S = 30.0
"""A limit so that a test ends; httpx's default of 5 seconds is too short on a busy machine."""
PAY_TO = {"network": "mtn", "provider": "momo_mtn", "phone_number": "+233244124567", "account_name": "Ama"}
"""The number of the shop's SIM, as a customer is told it."""
REQUEST_ID = r"req_[0-9a-f]{32}"


@dataclass
class FakeLog:
    """Record log entries."""

    lines: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def error(self, event: str, **fields: Any) -> None:
        self.lines.append((event, fields))


@dataclass
class FakeResolver:
    """Resolve the two names in `names`; raise OSError for every other name."""

    names: dict[str, Sequence[str]] = field(
        default_factory=lambda: {"shop.example": [PUBLIC], "inside.example": ["10.0.0.7"]}
    )
    asked: list[str] = field(default_factory=list)
    answers: asyncio.Event | None = None
    """If set, each look-up waits for this event."""

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        assert port > 0
        self.asked.append(host)
        if self.answers is not None:
            await self.answers.wait()
        if host not in self.names:
            raise OSError(host)
        return self.names[host]


class FakeApi:
    """A running API."""

    application: Application
    openapi: OpenApiCheck
    """Checks every response against the OpenAPI document."""

    def __init__(self, shop: FakeShop, listeners: Listeners, home: Path) -> None:
        self.shop = shop
        self.listeners = listeners
        self.home = home
        self.log = FakeLog()
        self.resolver = FakeResolver()
        self.stops = self.restarts = 0
        self.phones: list[ModemHealth] = []
        self.posted: dict[str, PostedSource] = {}
        self.inspected: list[str] = []
        self._entropy = FakeEntropy(7)
        self._stack = AsyncExitStack()
        self._serving: asyncio.Task[None]
        self.live: httpx.AsyncClient
        self.test: httpx.AsyncClient
        self.local: httpx.AsyncClient

    @property
    def base_url(self) -> str:
        return f"http://{self.listeners.http_address}"

    @property
    def socket_path(self) -> str:
        return wire.places({"MOMO_HOME": str(self.home)}, 0, "/tmp").socket

    async def serve(self) -> None:
        """Begin to serve."""

        def stop() -> None:
            self.stops += 1

        await self.listeners.bind()
        env = self.shop.env
        places = wire.places({"MOMO_HOME": str(self.home)}, 0, "/tmp")
        channels = ("email",) if env.config.smtp.host else ()
        machine = Machine(self.log, lambda: self.phones, places, channels, self.resolver, self.inspect, self.restart)
        hooks = Hooks(
            on_shutdown=stop,
            phone_states=lambda: self.phones,
            inspect=self.inspect,
            resolver=self.resolver,
            log=self.log,
            channels=channels,
            pages=PayRoutes(env),
            dash=Dashboard(env, machine),
            posted=self.posted.get,
        )
        self.application = routes.build(env, hooks)
        self.openapi = openapi_check(self.application.operations)
        self._serving = asyncio.create_task(self.listeners.serve(self.application))
        await self.listeners.ready()

    async def end(self) -> None:
        """Serve no longer."""
        await self.listeners.stop()
        await self._serving

    async def start_again(self) -> None:
        """Serve as a new process does: nothing is left but the database and the settings; the address is the same."""
        address, before = self.listeners.http_address, self.shop.env
        await self.end()
        before.store.close()
        store = Store.open(str(self.home / "momo.db"), now_us=before.clock.now_us())
        self.shop.env = Env(
            store,
            before.clock,
            before.entropy,
            before.config,
            before.vault,
            account_key=before.account_key,
            http_address=before.http_address,
            free_bytes=before.free_bytes,
        )
        self.listeners = Listeners(socket_path=self.socket_path, http=address)
        await self.serve()

    async def open(self) -> None:
        self.live = await self.client(await self.key())
        self.test = await self.client(await self.key(Mode.TEST))
        self.local = await self._enter(
            httpx.AsyncClient(
                transport=httpx.AsyncHTTPTransport(uds=self.socket_path, verify=NO_TLS),
                base_url=f"http://{wire.SOCKET_HOST}",
                timeout=ANSWER_S,
            )
        )

    async def close(self) -> None:
        await self._stack.aclose()

    def restart(self) -> None:
        self.restarts += 1

    async def inspect(self, device_id: str) -> bool:
        """Act as a phone's health check: return whether a phone with this ID is connected."""
        self.inspected.append(device_id)
        return any(phone.device_id == device_id for phone in self.phones)

    async def client(self, key: str | None = None) -> httpx.AsyncClient:
        """Return a client over TCP."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return await self._enter(
            httpx.AsyncClient(base_url=self.base_url, headers=headers, verify=NO_TLS, timeout=ANSWER_S)
        )

    async def _enter(self, client: httpx.AsyncClient) -> httpx.AsyncClient:
        client.event_hooks = {"response": [self.openapi.check]}
        return await self._stack.enter_async_context(client)

    async def key(self, mode: Mode = Mode.LIVE, *scopes: Scope, kind: KeyKind = KeyKind.SECRET, **changes: Any) -> str:
        """Make an API key, with all scopes if none are given."""
        key = make_key(mode, kind, self._entropy.below)
        now = self.shop.clock.now_us()
        row = {
            "id": self.shop.env.new_id(),
            "name": "test",
            "mode": mode,
            "kind": kind,
            "hint": key[-4:],
            "sha256": hash_key(key),
            "scopes": json.dumps(sorted(scopes or KEY_SCOPES)),
            "created_at": now,
            "expires_at": None,
            "revoked_at": None,
            "last_used_at": None,
            "last_used_from": None,
            "branch_id": None,
        }
        await self.shop.env.store.write(lambda tx: users.add_key(tx, row | changes))
        return key


@asynccontextmanager
async def running(
    folder: Path, config: Config | None = None, *, line: bool = True, **listening: Any
) -> AsyncIterator[FakeApi]:
    """Run the API of a new shop that has one phone with one SIM and, with `line`, one MTN number."""
    shop = await FakeShop.make(folder, config, line=line)
    await shop.env.store.write(lambda tx: _open_shop(tx, shop.clock.now_us()))
    places = wire.places({"MOMO_HOME": str(folder)}, 0, "/tmp")
    listeners = Listeners(socket_path=places.socket, http="127.0.0.1:0", **listening)
    made = FakeApi(shop, listeners, folder)
    await made.serve()
    await made.open()
    try:
        yield made
    finally:
        await made.close()
        await made.end()
        made.shop.close()


def _open_shop(tx: Tx, now: int) -> None:
    shops.add(tx, Shop("Ama Provisions", "Africa/Accra", None, "6b" * 32, now))
    users.add(tx, users.new_row(OWNER_ID, "owner", Role.OWNER, "hash", now))
