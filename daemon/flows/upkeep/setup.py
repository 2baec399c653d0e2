"""Create the shop, by `momo setup` or in the browser: the owner's password, API keys and webhook secret. Safe to run again."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from daemon.core.access.callers import KEY_SCOPES, Caller, KeyKind, Operation, make_key, require
from daemon.core.errors import FieldError, Refusal, invalid
from daemon.core.ids import new_uuid
from daemon.core.model import Shop
from daemon.core.names import SHOP_NAME_FOR_NOW, shop_name_error
from daemon.core.webhooks.signing import SECRET_BYTES, make_secret
from daemon.env import Env
from daemon.runtime import secrets
from daemon.runtime.secrets import SecretsLocked, SecretsUnsafe, Vault
from daemon.runtime.system import Clock, Entropy
from daemon.store import journal
from daemon.store import shop as shops
from daemon.store.access import users
from daemon.store.engine import Reader, Store, Tx
from daemon.store.lines import devices
from daemon.store.webhooks import endpoints as store_endpoints
from daemon.wire import ErrorCode, Mode, Role

ACCOUNT_KEY_BYTES: Final = 32
SECRET_PURPOSE: Final = "webhook-secret"  # noqa: S105 -- the purpose of the sealed bytes, not a secret
KEY_NAME: Final = "made by setup"
OWNER_NAME: Final = "owner"
"""The name of the first user."""
DEFAULT_TIMEZONE: Final = "Africa/Accra"


class SetupRequest(Struct, frozen=True):
    """Data of the new shop; all of it is optional if the shop exists already.

    With `unshown` an earlier run may have ended before it showed its keys and secret: keys of it that nobody has used are replaced,
    and the secret is shown. With `check` nothing is changed; only the missing steps are reported. With `in_browser` the owner chooses name and
    password on the page of the first run; until then no password fits. Keys are made later, where they can be shown.
    """

    shop: str | None = None
    timezone: str | None = None
    password: str | None = None
    owner_email: str | None = None
    check: bool = False
    in_browser: bool = False
    unshown: bool = False


class _Standing(Struct, frozen=True):
    shop: Shop | None
    has_password: bool
    has_keys: bool
    has_secret: bool
    phones: tuple[str, ...]
    unused_keys: tuple[str, ...]
    """Ids of the keys that an earlier run made, and that nobody has used."""
    sealed: str | None


class _Made(Struct):
    shop: Shop | None = None
    owner: dict[str, Any] | None = None
    api_key: str | None = None
    test_api_key: str | None = None
    webhook_secret: str | None = None
    sealed: str | None = None
    locked: str | None = None


async def set_up(
    store: Store,
    clock: Clock,
    entropy: Entropy,
    vault: Vault,
    request: SetupRequest,
    about_to_make: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Create the missing parts of the shop and report each step.

    `about_to_make` is called before keys or a secret are stored that are shown only once. If the vault is locked, a later run makes the webhook secret.

    Returns:
        `shop`, `api_key`, `test_api_key` and `webhook_secret` (each only in the run that creates it, else None), and
        `steps`: `{id, status: done|skipped|needs_action, detail, fix}`.

    Raises:
        Refusal: VALIDATION_ERROR, naming `shop`, `tz` and `password` if they are wrong.
    """
    standing = await store.read(lambda reader: _look(reader, clock.now_us()))
    if request.check:
        return _result(standing, _Made(), check=True)
    made = await _make(standing, entropy, vault, request, clock.now_us())

    def job(tx: Tx) -> None:
        now = clock.now_us()
        if standing.has_keys and made.api_key is not None:
            for key_id in standing.unused_keys:
                users.revoke_key(tx, key_id, now)
        if made.shop is not None:
            assert made.owner is not None
            shops.add(tx, made.shop)
            users.add(tx, made.owner)
            journal.add(tx, "shop.created", now)
        for key in filter(None, (made.api_key, made.test_api_key)):
            key_id = new_uuid(entropy.bytes(16))
            users.add_key(tx, users.new_key_row(key_id, KEY_NAME, key, KEY_SCOPES, now))
        if made.sealed is not None:
            store_endpoints.add_secret(tx, owner=store_endpoints.ACCOUNT, sealed=made.sealed, now=now)

    if made.api_key is not None or made.webhook_secret is not None:
        await asyncio.to_thread(about_to_make)
    await store.write(job)
    return _result(standing, made, check=False)


def _look(reader: Reader, now: int) -> _Standing:
    owner = users.owner(reader)
    return _Standing(
        shop=shops.get(reader),
        has_password=owner is not None and owner.has_password,
        has_keys=users.keys_exist(reader),
        has_secret=store_endpoints.has_secret(reader, store_endpoints.ACCOUNT),
        phones=tuple(device.name for device in devices.known(reader) if device.present),
        unused_keys=tuple(
            key.id
            for key in users.known_keys(reader)
            if key.name == KEY_NAME and key.last_used_at is None and key.revoked_at is None
        ),
        sealed=next(iter(store_endpoints.valid_secrets(reader, store_endpoints.ACCOUNT, now)), None),
    )


async def _make(standing: _Standing, entropy: Entropy, vault: Vault, request: SetupRequest, now: int) -> _Made:
    made = _Made()
    if standing.shop is None:
        made.shop, made.owner = await _new_shop(request, entropy, now)
    if request.in_browser:
        return made
    if not standing.has_keys or (request.unshown and standing.unused_keys):
        made.api_key = make_key(Mode.LIVE, KeyKind.SECRET, entropy.below)
        made.test_api_key = make_key(Mode.TEST, KeyKind.SECRET, entropy.below)
    if request.unshown and standing.sealed is not None:
        with contextlib.suppress(SecretsLocked, SecretsUnsafe):
            sealed = standing.sealed
            opened = await asyncio.to_thread(vault.unseal, sealed, SECRET_PURPOSE)
            made.webhook_secret = opened.decode()
    if not standing.has_secret:
        secret = make_secret(entropy.bytes(SECRET_BYTES))
        try:
            # A keyring may be slow to answer.
            made.sealed = await asyncio.to_thread(vault.seal, secret.encode(), SECRET_PURPOSE)
            made.webhook_secret = secret
        except (SecretsLocked, SecretsUnsafe) as error:
            made.locked = str(error)
    return made


async def _new_shop(request: SetupRequest, entropy: Entropy, now: int) -> tuple[Shop, dict[str, Any]]:
    wrong = []
    name = (request.shop or (SHOP_NAME_FOR_NOW if request.in_browser else "")).strip()
    if (bad_name := shop_name_error(name)) is not None:
        wrong.append(bad_name)
    timezone = request.timezone or DEFAULT_TIMEZONE
    if not _is_zone(timezone):
        wrong.append(FieldError("tz", "invalid", f"{timezone!r} is not a time zone"))
    problem = None
    if not request.in_browser:
        problem = secrets.password_error("password", request.password)
    if problem is not None:
        wrong.append(problem)
    if wrong:
        raise invalid(wrong)
    hashed = "" if request.in_browser else await secrets.hash_password(request.password or "")
    account_key = entropy.bytes(ACCOUNT_KEY_BYTES).hex()
    shop = Shop(name, timezone, request.owner_email, account_key, now)
    return shop, users.new_row(new_uuid(entropy.bytes(16)), OWNER_NAME, Role.OWNER, hashed, now)


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # noqa: PLC0415 -- only here

    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _result(standing: _Standing, made: _Made, *, check: bool) -> dict[str, Any]:
    shop = standing.shop or made.shop
    steps = [
        _step("shop", shop is not None, "" if shop is None else f'Shop "{shop.name}"', "no shop"),
        _step(
            "password",
            standing.has_password or bool(made.owner and made.owner["password_hash"]),
            "The owner's password is set",
            "no password",
            "momo setup" if shop is None else "momo open",
        ),
        _step("keys", standing.has_keys or made.api_key is not None, "API keys exist", "no keys"),
        _step(
            "webhook_secret",
            standing.has_secret or made.webhook_secret is not None,
            "The account's webhook secret exists",
            made.locked or "no webhook secret",
        ),
        _modem(standing.phones, check=check),
    ]
    return {
        "shop": None if shop is None else {"name": shop.name, "timezone": shop.timezone},
        "api_key": made.api_key,
        "test_api_key": made.test_api_key,
        "webhook_secret": made.webhook_secret,
        "steps": steps,
    }


def _step(
    name: str,
    done: bool,  # noqa: FBT001 -- a fact, not a switch
    detail: str,
    missing: str,
    fix: str = "momo setup",
) -> dict[str, str | None]:
    if done:
        return {"id": name, "status": "done", "detail": detail, "fix": None}
    return {"id": name, "status": "needs_action", "detail": missing, "fix": fix}


def _modem(phones: tuple[str, ...], *, check: bool) -> dict[str, str | None]:
    if phones:
        detail = f"Modem {', '.join(phones)}"
        return {"id": "modem", "status": "done", "detail": detail, "fix": None}
    return {
        "id": "modem",
        "status": "needs_action" if check else "skipped",
        "detail": "No modem yet: plug it in at any time",
        "fix": "momo phones list --wait",
    }


async def begin(env: Env, caller: Caller, shop: str, password: str) -> bool:
    """Name the shop and set the owner's first password; the owner's session stays open.

    Return False if there is one already.

    Raises:
        Refusal: VALIDATION_ERROR on `shop` and `password`; ROLE_REQUIRED.
    """
    require(caller, Operation.MANAGE_USERS)
    session = caller.browser
    if session is None:
        raise Refusal(ErrorCode.SESSION_REQUIRED, "Only a user of the dashboard can do this.")
    name = shop.strip()
    wrong = [shop_name_error(name), secrets.password_error("password", password)]
    if found := [error for error in wrong if error is not None]:
        raise invalid(found)
    kept = await secrets.hash_password(password)
    now = env.clock.now_us()

    def job(tx: Tx) -> bool:
        if not users.set_first_password(tx, session.user_id, kept, now):
            return False
        shops.rename(tx, name)
        users.confirm(tx, session.id, now)
        journal.add(tx, "shop.named", now, actor=caller.name)
        return True

    return await env.store.write(job)
