"""The owner's password: at most five checks in 15 minutes for all callers together, also over a restart."""

import asyncio

import pytest
from argon2 import PasswordHasher

from daemon.core.access.callers import ALL_SCOPES, Caller, CallerKind
from daemon.core.errors import Refusal
from daemon.flows.access.users import confirm
from daemon.store.access import users
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


async def test_the_right_password_is_enough(owned: FakeShop) -> None:
    await confirm(owned.env, OWNER, PASSWORD)


async def test_a_wrong_one_says_how_many_are_left_and_is_written_down(owned: FakeShop) -> None:
    for left in (4, 3):
        refused = await refusal(owned, PASSWORD + " ")
        assert (refused.code, refused.extras) == (
            ErrorCode.INVALID_PASSWORD,
            {"attempts_remaining": left},
        )
    assert (
        await owned.values("SELECT type, actor FROM events WHERE type LIKE 'password%'")
        == [("password.wrong", "socket:0")] * 2
    )


@pytest.mark.parametrize("password", [None, ""])
async def test_none_at_all_counts_as_no_attempt(owned: FakeShop, password: str | None) -> None:
    for _again in range(7):
        refused = await refusal(owned, password)
        assert (refused.code, refused.extras) == (
            ErrorCode.INVALID_PASSWORD,
            {"attempts_remaining": 5},
        )


async def test_right_ones_count_too_and_the_sixth_waits(owned: FakeShop) -> None:
    for _again in range(5):
        await confirm(owned.env, OWNER, PASSWORD)
        owned.clock.advance(60)
    refused = await refusal(owned, PASSWORD)
    assert (refused.code, refused.extras, refused.headers) == (
        ErrorCode.TOO_MANY_ATTEMPTS,
        {"retry_after": 600},
        {"Retry-After": "600"},
    )
    owned.clock.advance(599)
    assert (await refusal(owned, PASSWORD)).extras == {"retry_after": 1}
    owned.clock.advance(1)
    await confirm(owned.env, OWNER, PASSWORD)
    assert (await refusal(owned, PASSWORD)).extras == {"retry_after": 60}


async def test_many_at_once_are_not_more_than_five(owned: FakeShop) -> None:
    results = await asyncio.gather(
        *(confirm(owned.env, OWNER, "wrong") for _ in range(9)), return_exceptions=True
    )
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
