"""`set_up`: makes the shop, its keys and its secret once, and is safe to run again."""

import json
from pathlib import Path

import pytest

from daemon import wire
from daemon.core.access.callers import hash_key, parse_key
from daemon.core.errors import Refusal
from daemon.flows.upkeep.setup import SetupRequest, set_up
from daemon.runtime.secrets import Vault
from daemon.store import shop as shops
from daemon.store.access import users
from daemon.store.webhooks import endpoints
from daemon.wire import Mode, Scope
from tests.fakes import new_database
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import FakeEntropy

ASKED = SetupRequest("Ama Provisions", None, "correct horse")


class Machine:
    """A machine without a shop."""

    def __init__(self, folder: Path) -> None:
        self.places = wire.places({"MOMO_HOME": str(folder)}, 0, "/tmp")
        self.clock, self.entropy = FakeClock(), FakeEntropy()
        self.store = new_database.open_store(Path(self.places.database), self.clock.now_us())
        self.vault = Vault(self.places, "file")

    async def set_up(self, request: SetupRequest) -> dict[str, object]:
        return await set_up(self.store, self.clock, self.entropy, self.vault, request)


@pytest.fixture
def machine(tmp_path: Path) -> object:
    made = Machine(tmp_path)
    yield made
    made.store.close()


def statuses(result: dict[str, object]) -> dict[str, str]:
    steps = result["steps"]
    assert isinstance(steps, list)
    return {step["id"]: step["status"] for step in steps}


DONE = {"shop": "done", "password": "done", "keys": "done", "webhook_secret": "done"}


async def test_the_first_run_makes_everything_and_shows_it(machine: Machine) -> None:
    result = await machine.set_up(ASKED)
    assert result["shop"] == {"name": "Ama Provisions", "timezone": "Africa/Accra"}
    assert statuses(result) == {**DONE, "modem": "skipped"}
    live, test = str(result["api_key"]), str(result["test_api_key"])
    for key, mode in ((live, Mode.LIVE), (test, Mode.TEST)):
        parts = parse_key(key)
        assert parts is not None
        assert parts.mode is mode
    rows = await machine.store.read(lambda reader: reader.all("SELECT sha256, mode, scopes FROM api_keys ORDER BY seq"))
    assert [(row[0], row[1]) for row in rows] == [(hash_key(live), "live"), (hash_key(test), "test")]
    assert set(json.loads(rows[0][2])) == set(Scope) - {Scope.KEYS_MANAGE, Scope.BRANCH}


async def test_the_secret_is_sealed_and_the_password_hashed(machine: Machine) -> None:
    from argon2 import PasswordHasher

    result = await machine.set_up(ASKED)
    shop = await machine.store.read(shops.get)
    assert shop is not None
    assert len(bytes.fromhex(shop.account_key)) == 32
    owner = await machine.store.read(users.owner)
    assert owner is not None
    assert owner.name == "owner"
    assert PasswordHasher().verify(owner.password_hash, "correct horse")
    assert owner.password_hash.startswith("$argon2id$")
    [sealed] = await machine.store.read(lambda reader: endpoints.valid_secrets(reader, endpoints.ACCOUNT, 1))
    secret = str(result["webhook_secret"])
    assert secret not in sealed
    assert machine.vault.unseal(sealed, "webhook-secret").decode() == secret


async def test_a_second_run_changes_nothing_and_shows_nothing(machine: Machine) -> None:
    await machine.set_up(ASKED)
    before = await machine.store.read(shops.get)
    again = await machine.set_up(SetupRequest("Other", "Africa/Lagos", "another password"))
    assert again == {
        "shop": {"name": "Ama Provisions", "timezone": "Africa/Accra"},
        "api_key": None,
        "test_api_key": None,
        "webhook_secret": None,
        "steps": again["steps"],
    }
    assert statuses(again) == {**DONE, "modem": "skipped"}
    assert await machine.store.read(shops.get) == before


async def test_everything_that_is_wrong_is_named_and_nothing_is_made(machine: Machine) -> None:
    with pytest.raises(Refusal) as caught:
        await machine.set_up(SetupRequest("", "Mars/Olympus", "short"))
    named = [(entry["field"], entry["code"]) for entry in caught.value.extras["details"]]
    assert named == [("shop", "required"), ("tz", "invalid"), ("password", "too_short")]
    assert await machine.store.read(shops.get) is None
    for name in ("../etc", "\0", "x" * 300):
        with pytest.raises(Refusal):
            await machine.set_up(SetupRequest("Ama", name, "correct horse"))


async def test_check_says_what_is_missing_and_makes_nothing(machine: Machine) -> None:
    result = await machine.set_up(SetupRequest(check=True))
    assert set(statuses(result).values()) == {"needs_action"}
    assert await machine.store.read(shops.get) is None


async def test_locked_secrets_leave_one_step_for_another_run(machine: Machine) -> None:
    key = Path(machine.places.master_key)
    key.write_bytes(b"not a key")
    key.chmod(0o600)
    first = await machine.set_up(ASKED)
    assert statuses(first)["webhook_secret"] == "needs_action"
    assert (first["webhook_secret"], first["api_key"] is None) == (None, False)
    key.unlink()
    second = await machine.set_up(SetupRequest())
    assert statuses(second)["webhook_secret"] == "done"
    assert str(second["webhook_secret"]).startswith("whsec_")
    assert second["api_key"] is None


async def test_keys_that_were_never_shown_are_made_again_and_the_secret_is_shown(machine: Machine) -> None:
    first = await machine.set_up(ASKED)
    again = await machine.set_up(SetupRequest(unshown=True))
    assert again["webhook_secret"] == first["webhook_secret"]
    valid = await machine.store.read(lambda reader: reader.all("SELECT sha256 FROM api_keys WHERE revoked_at IS NULL"))
    shown = {hash_key(str(again[name])) for name in ("api_key", "test_api_key")}
    assert {row[0] for row in valid} == shown
    assert again["api_key"] != first["api_key"]


async def test_keys_that_somebody_uses_stay_although_it_is_not_known_that_they_were_shown(machine: Machine) -> None:
    await machine.set_up(ASKED)
    await machine.store.write(lambda tx: tx.run("UPDATE api_keys SET last_used_at = 1"))
    again = await machine.set_up(SetupRequest(unshown=True))
    assert (again["api_key"], again["test_api_key"]) == (None, None)
    valid = "SELECT COUNT(*) FROM api_keys WHERE revoked_at IS NULL"
    assert await machine.store.read(lambda reader: reader.all(valid)) == [(2,)]
