"""Users of the dashboard of a test shop: with a password, logged in, and as forms that post by themselves."""

import re
from dataclasses import dataclass
from typing import Any

import httpx
from argon2 import PasswordHasher

from daemon.core.access.sessions import cookie_name, form_token
from daemon.flows.access import browser
from daemon.store.access import users
from daemon.wire import Role
from tests.fakes.api import OWNER_ID, FakeApi
from tests.fakes.browser import Visit

PASSWORD = "correct horse"
HASH = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
"""As cheap as can be."""
_TOKEN = re.compile(r'name="form_token" value="([0-9a-f.]+)"')


@dataclass
class Person:
    """One user, logged in, as a program that can post anything.

    Attributes:
        token: The token in the cookie.
    """

    api: FakeApi
    name: str
    role: Role
    token: str
    client: httpx.AsyncClient

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.client.get(path, headers=headers)

    async def post(
        self, path: str, form: dict[str, Any] | None = None, *, form_token_: str | None = None, **headers: str
    ) -> httpx.Response:
        """Post a form with a right token, or with the given one ("" is none)."""
        token = self.form_token(path) if form_token_ is None else form_token_
        fields = {**(form or {}), **({"form_token": token} if token else {})}
        sent = {"Origin": self.api.base_url, **headers}
        return await self.client.post(path, data=fields, headers=sent)

    def form_token(self, path: str) -> str:
        nonce = self.api.shop.env.entropy.bytes(16)
        return form_token(self.token, path, nonce)


def cookie_of(api: FakeApi) -> str:
    """Return the name of the cookie of the shop."""
    return cookie_name(api.shop.env.home, secure=False)


async def add_user(api: FakeApi, role: Role, name: str | None = None, branch_id: str | None = None) -> str:
    """Add a user with `PASSWORD`, or give it to the owner; return the name."""
    env = api.shop.env
    name = name or str(role)
    now = env.clock.now_us()
    if role is Role.OWNER:
        await env.store.write(lambda tx: users.set_password(tx, OWNER_ID, HASH, now))
        return "owner"
    row = users.new_row(env.new_id(), name, role, HASH, now, branch_id)
    await env.store.write(lambda tx: users.add(tx, row))
    return name


async def log_in(api: FakeApi, role: Role, name: str | None = None, *, branch_id: str | None = None) -> Person:
    """Add a user and log in."""
    env = api.shop.env
    known = await add_user(api, role, name, branch_id)
    user = await env.store.read(lambda reader: users.named(reader, known))
    assert user is not None
    token = await browser.open_session(env, user, "127.0.0.1", "test", "password")
    client = await api.client()
    client.event_hooks = {}
    client.cookies.set(cookie_of(api), token, domain="127.0.0.1", path="/dash")
    return Person(api, known, role, token, client)


async def as_user(visit: Visit, person: Person) -> None:
    """Give a browser window the session of a person."""
    await visit.context.add_cookies(
        [{"name": cookie_of(person.api), "value": person.token, "domain": "127.0.0.1", "path": "/dash"}]
    )


def token_in(html: str) -> str:
    """Return the token of the last form of a page."""
    return str(_TOKEN.findall(html)[-1])
