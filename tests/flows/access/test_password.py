"""The owner's password: at most five checks in 15 minutes for all callers together, also over a restart."""

import asyncio
from collections import Counter

import pyotp
import pytest
from argon2 import PasswordHasher

from daemon.core.access.callers import ALL_SCOPES, Caller, CallerKind
from daemon.core.errors import Refusal
from daemon.core.limits import SECOND_US
from daemon.flows.access import browser
from daemon.flows.access.users import check, confirm, set_new
from daemon.steps.password import replace
from daemon.store.access import passwords, users
from daemon.store.access.passwords import PASSWORD_WINDOW_US, USER_ATTEMPTS_MAX
from daemon.store.engine import Store
from daemon.wire import ErrorCode, Role
from tests.fakes.shop import OWNER, FakeShop

PASSWORD = "correct horse"
KEY = Caller(CallerKind.KEY, None, ALL_SCOPES, "k", publishable=False, name="key:k")


@pytest.fixture
async def owned(shop: FakeShop) -> FakeShop:
    """A shop with a password and the cheapest hash."""
    hashed = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    row = users.new_row("u", "owner", Role.OWNER, hashed, 0)
    await shop.env.store.write(lambda tx: users.add(tx, row))
    return shop


async def refusal(shop: FakeShop, password: str | None, caller: Caller = OWNER) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await confirm(shop.env, caller, password)
    return caught.value


@pytest.mark.parametrize("password", [None, ""])
async def test_none_at_all_counts_as_no_attempt(owned: FakeShop, password: str | None) -> None:
    for _again in range(7):
        refused = await refusal(owned, password)
        assert (refused.code, refused.extras) == (ErrorCode.INVALID_PASSWORD, {"attempts_remaining": 5})


async def test_many_at_once_are_not_more_than_five(owned: FakeShop) -> None:
    results = await asyncio.gather(*(confirm(owned.env, OWNER, "wrong") for _ in range(9)), return_exceptions=True)
    codes = [result.code for result in results if isinstance(result, Refusal)]
    assert sorted(codes) == ["INVALID_PASSWORD"] * 5 + ["TOO_MANY_ATTEMPTS"] * 4


@pytest.mark.file  # a second process opens the file
async def test_a_restart_forgives_nothing(owned: FakeShop) -> None:
    for _again in range(5):
        await refusal(owned, "wrong")
    again = Store.open(owned.env.store.path, now_us=owned.clock.now_us())
    assert await again.read(lambda reader: reader.value("SELECT COUNT(*) FROM password_attempts"))
    again.close()


async def test_a_clock_that_was_set_back_locks_nobody_out(owned: FakeShop) -> None:
    owned.clock.jump(365 * 24 * 3600)
    for _again in range(5):
        await refusal(owned, "wrong")
    owned.clock.jump(-365 * 24 * 3600)
    await confirm(owned.env, OWNER, PASSWORD)


async def test_a_key_is_no_owner_whatever_it_knows(owned: FakeShop) -> None:
    assert (await refusal(owned, PASSWORD, KEY)).code is ErrorCode.SESSION_REQUIRED
    assert await owned.values("SELECT COUNT(*) FROM password_attempts") == [0]


async def test_a_shop_without_a_sound_hash_lets_nobody_in(shop: FakeShop) -> None:
    assert (await refusal(shop, PASSWORD)).code is ErrorCode.INVALID_PASSWORD
    row = users.new_row("u", "owner", Role.OWNER, "hash", 0)
    await shop.env.store.write(lambda tx: users.add(tx, row))
    assert (await refusal(shop, PASSWORD)).code is ErrorCode.INVALID_PASSWORD


HASH = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


@pytest.fixture
async def owned_limits(shop: FakeShop) -> FakeShop:
    """A shop whose owner has a password and a second factor."""
    row = users.new_row("u", "owner", Role.OWNER, HASH, 0)
    sealed = shop.env.vault.seal(SEED.encode(), "totp-seed")
    await shop.env.store.write(lambda tx: users.add(tx, row))
    await shop.env.store.write(lambda tx: users.set_second_factor(tx, "u", sealed, []))
    return shop


async def counted(shop: FakeShop) -> dict[str, int]:
    """Return how many attempts each counter has."""
    return Counter(await shop.values("SELECT who FROM password_attempts"))


def address(number: int) -> str:
    return f"198.51.100.{number % 250}"


async def dashboard(shop: FakeShop, number: int, password: str = "wrong", name: str = "owner") -> str:
    """Log in from an address with a number; return the code of the refusal, or ""."""
    try:
        await browser.check_password(shop.env, address(number), name, password)
    except Refusal as refusal:
        return str(refusal.code)
    return ""


async def api(shop: FakeShop, number: int, password: str, code: str) -> str:
    """Do the same through the API, with a code of the second factor."""
    who = passwords.client_name(address(number))
    try:
        await check(shop.env, who, "login", password, code=code, login=True)
    except Refusal as refusal:
        return str(refusal.code)
    return ""


async def enter_code(shop: FakeShop, number: int, code: str) -> str:
    """Send a code of the second factor to the dashboard, after the password."""
    user = await shop.env.store.read(users.owner)
    assert user is not None
    try:
        await browser.check_code(shop.env, address(number), user, code)
    except Refusal as refusal:
        return str(refusal.code)
    return ""


@pytest.mark.parametrize("name", ["owner", "nobody"])
async def test_wrong_passwords_for_one_user_from_many_addresses_end(owned_limits: FakeShop, name: str) -> None:
    answers = [await dashboard(owned_limits, number, name=name) for number in range(USER_ATTEMPTS_MAX + 9)]
    assert Counter(answers) == {"INVALID_PASSWORD": USER_ATTEMPTS_MAX, "TOO_MANY_ATTEMPTS": 9}
    assert await dashboard(owned_limits, 200, PASSWORD, name) == "TOO_MANY_ATTEMPTS"
    assert await dashboard(owned_limits, 200, name="another") == "INVALID_PASSWORD"
    owned_limits.clock.advance(PASSWORD_WINDOW_US // SECOND_US)
    assert await dashboard(owned_limits, 200, PASSWORD, "owner") == ""


async def test_one_address_cannot_lock_a_user_out_of_another(owned_limits: FakeShop) -> None:
    for _again in range(2 * USER_ATTEMPTS_MAX):
        await dashboard(owned_limits, 1)
    assert await dashboard(owned_limits, 2, PASSWORD) == ""


async def test_wrong_codes_of_one_user_end_after_five_from_all_addresses(owned_limits: FakeShop) -> None:
    assert [await enter_code(owned_limits, number, "000000") for number in range(3)] == ["SECOND_FACTOR_REQUIRED"] * 3
    answers = [await api(owned_limits, number, PASSWORD, "000000") for number in range(10, 13)]
    assert answers == ["SECOND_FACTOR_REQUIRED"] * 2 + ["TOO_MANY_ATTEMPTS"]
    right = pyotp.TOTP(SEED).at(owned_limits.clock.now_us() // SECOND_US)
    assert await enter_code(owned_limits, 20, right) == "TOO_MANY_ATTEMPTS"


async def test_right_logins_are_not_counted_for_the_user(owned_limits: FakeShop) -> None:
    for number in range(7):
        right = pyotp.TOTP(SEED).at(owned_limits.clock.now_us() // SECOND_US)
        assert await api(owned_limits, number, PASSWORD, right) == ""
        owned_limits.clock.advance(31)
    assert {who.partition(":")[0] for who in await counted(owned_limits)} == {"client"}


async def test_who_changes_the_own_password_gets_no_more_guesses_at_another_users(owned_limits: FakeShop) -> None:
    row = users.new_row("c", "cashier", Role.CASHIER, HASH, 0)
    await owned_limits.env.store.write(lambda tx: users.add(tx, row))
    for number in range(5):
        assert await enter_code(owned_limits, 1, "000000") == "SECOND_FACTOR_REQUIRED"
        assert await dashboard(owned_limits, number + 2) == "INVALID_PASSWORD"
        assert await dashboard(owned_limits, number + 2, name="cashier") == "INVALID_PASSWORD"
    with pytest.raises(Refusal):
        await check(owned_limits.env, passwords.ACCOUNT, "session", "wrong")
    before = await counted(owned_limits)
    cashier = await owned_limits.env.store.read(lambda reader: users.get(reader, "c"))
    assert cashier is not None
    await owned_limits.env.store.write(lambda tx: replace(tx, cashier, HASH, "user:cashier", 1))
    del before["login:cashier"]
    assert await counted(owned_limits) == before
    owner = await owned_limits.env.store.read(users.owner)
    assert owner is not None
    await owned_limits.env.store.write(lambda tx: replace(tx, owner, HASH, "user:owner", 1))
    assert {who.partition(":")[0] for who in await counted(owned_limits)} == {"client"}


async def test_a_new_password_at_the_machine_lets_the_owner_in_from_every_address(owned_limits: FakeShop) -> None:
    for _again in range(5):
        await dashboard(owned_limits, 1)
    assert await dashboard(owned_limits, 1, PASSWORD) == "TOO_MANY_ATTEMPTS"
    await set_new(owned_limits.env.store, owned_limits.clock, "socket:0", PASSWORD, at_machine=True)
    assert await dashboard(owned_limits, 1, PASSWORD) == ""
