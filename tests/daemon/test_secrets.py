import asyncio
import os
import queue
import stat
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import keyring
import keyring.backends.fail
import pytest
from argon2 import Type, extract_parameters
from hypothesis import given
from hypothesis import strategies as st
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from daemon.runtime import secrets
from daemon.runtime.secrets import CREDENTIAL, SecretsElsewhere, SecretsLocked, SecretsUnsafe, Vault
from daemon.wire import Places

REAL_HASH = secrets._hash
"""Read before the tests begin, which have a cheaper one."""


class FakeKeyring(KeyringBackend):
    """A keyring in memory that can be locked, lose passwords, or be slow."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # keyring has no annotations
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False
        self.forgetful = False
        self.answering = threading.Event()
        self.answering.set()

    def get_password(self, service: str, username: str) -> str | None:
        self.answering.wait(10)
        if self.locked:
            raise KeyringLocked("nobody has logged in")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if not self.forgetful:
            self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def ring() -> Iterator[FakeKeyring]:
    before = keyring.get_keyring()
    fake = FakeKeyring()
    keyring.set_keyring(fake)
    yield fake
    fake.answering.set()
    keyring.set_keyring(before)


@pytest.fixture
def desktop(places: Places) -> Places:
    """The places of a shop without `MOMO_HOME`: the keyring is asked first."""
    return replace(places, self_contained=False)


def key_file(places: Places) -> Path:
    return Path(places.master_key)


def test_sealed_secret_opens_in_another_process_s_vault(places: Places) -> None:
    sealed = Vault(places, "auto").seal(b"whsec_abc", "webhook-secret")
    assert Vault(places, "auto").unseal(sealed, "webhook-secret") == b"whsec_abc"
    assert "whsec" not in sealed


def test_sealing_twice_gives_two_texts(places: Places) -> None:
    vault = Vault(places, "auto")
    assert vault.seal(b"same", "p") != vault.seal(b"same", "p")


def test_secret_of_one_purpose_cannot_pose_as_another(places: Places) -> None:
    vault = Vault(places, "auto")
    sealed = vault.seal(b"whsec_abc", "webhook-secret")
    with pytest.raises(SecretsLocked, match="does not open"):
        vault.unseal(sealed, "smtp-password")


def test_key_file_is_for_its_owner_alone_and_leaves_nothing_beside_it(places: Places) -> None:
    Vault(places, "auto").seal(b"x", "p")
    file = key_file(places)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [entry.name for entry in file.parent.iterdir()] == ["master.key"]


def test_key_file_is_private_whatever_the_umask(places: Places) -> None:
    before = os.umask(0)
    try:
        Vault(places, "auto").seal(b"x", "p")
    finally:
        os.umask(before)
    assert stat.S_IMODE(key_file(places).stat().st_mode) == 0o600
    assert stat.S_IMODE(key_file(places).parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_key_file_that_others_can_read_is_refused_with_what_to_type(places: Places, mode: int) -> None:
    sealed = Vault(places, "auto").seal(b"x", "p")
    key_file(places).chmod(mode)
    with pytest.raises(SecretsUnsafe) as caught:
        Vault(places, "auto").unseal(sealed, "p")
    assert str(caught.value).endswith(f"type: chmod 600 {places.master_key}")


@pytest.mark.parametrize("content", [b"", b"\n", b"short", b"!" * 44, b"\xff\xfe", b"A" * 5000])
def test_damaged_key_file_is_named_and_left_as_it_is(places: Places, content: bytes) -> None:
    vault = Vault(places, "auto")
    sealed = vault.seal(b"x", "p")
    key_file(places).write_bytes(content)
    other = Vault(places, "auto")
    for act in (lambda: other.unseal(sealed, "p"), lambda: other.seal(b"y", "p")):
        with pytest.raises(SecretsLocked, match="does not hold a key"):
            act()
    assert key_file(places).read_bytes() == content


def test_lost_key_file_is_said_and_no_new_key_is_made_by_reading(places: Places) -> None:
    sealed = Vault(places, "auto").seal(b"x", "p")
    key_file(places).unlink()
    vault = Vault(places, "auto")
    with pytest.raises(SecretsLocked, match="missing"):
        vault.unseal(sealed, "p")
    assert vault.locked()
    assert not key_file(places).exists()


def test_another_key_does_not_open_it(places: Places) -> None:
    sealed = Vault(places, "auto").seal(b"x", "p")
    key_file(places).unlink()
    other = Vault(places, "auto")
    other.seal(b"y", "p")
    with pytest.raises(SecretsLocked, match="does not open"):
        other.unseal(sealed, "p")


def test_two_that_make_the_key_at_once_end_with_one(places: Places) -> None:
    vaults = [Vault(places, "file") for _ in range(8)]
    sealed: list[str] = []
    threads = [threading.Thread(target=lambda vault=vault: sealed.append(vault.seal(b"x", "p"))) for vault in vaults]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    last = Vault(places, "file")
    assert [last.unseal(text, "p") for text in sealed] == [b"x"] * 8


def test_self_contained_home_never_asks_the_keyring(places: Places, ring: FakeKeyring) -> None:
    Vault(places, "auto").seal(b"x", "p")
    assert not ring.kept


def test_self_contained_home_uses_the_keyring_when_told(places: Places, ring: FakeKeyring) -> None:
    sealed = Vault(places, "keyring").seal(b"x", "p")
    assert len(ring.kept) == 1
    assert key_file(places).read_text() == "keyring\n"
    assert Vault(places, "keyring").unseal(sealed, "p") == b"x"


def test_desktop_keeps_its_key_in_the_keyring(desktop: Places, ring: FakeKeyring) -> None:
    sealed = Vault(desktop, "auto").seal(b"x", "p")
    assert key_file(desktop).read_text() == "keyring\n"
    assert Vault(desktop, "auto").unseal(sealed, "p") == b"x"


def test_machine_without_a_keyring_keeps_its_key_in_the_file(desktop: Places, ring: FakeKeyring) -> None:
    keyring.set_keyring(keyring.backends.fail.Keyring())  # type: ignore[no-untyped-call]  # keyring has no annotations
    sealed = Vault(desktop, "auto").seal(b"x", "p")
    assert Vault(desktop, "auto").unseal(sealed, "p") == b"x"
    assert len(key_file(desktop).read_text().strip()) == 44


def test_keyring_that_is_demanded_but_absent_is_an_error(desktop: Places, ring: FakeKeyring) -> None:
    keyring.set_keyring(keyring.backends.fail.Keyring())  # type: ignore[no-untyped-call]  # keyring has no annotations
    with pytest.raises(SecretsLocked, match="the keyring cannot be used"):
        Vault(desktop, "keyring").seal(b"x", "p")
    assert not key_file(desktop).exists()


def test_keyring_that_keeps_nothing_is_not_trusted(desktop: Places, ring: FakeKeyring) -> None:
    ring.forgetful = True
    sealed = Vault(desktop, "auto").seal(b"x", "p")
    assert len(key_file(desktop).read_text().strip()) == 44
    assert Vault(desktop, "auto").unseal(sealed, "p") == b"x"


def test_locked_keyring_locks_the_secrets_and_never_gets_a_second_key(desktop: Places, ring: FakeKeyring) -> None:
    sealed = Vault(desktop, "auto").seal(b"x", "p")
    ring.locked = True
    vault = Vault(desktop, "auto")
    with pytest.raises(SecretsLocked, match="nobody has logged in"):
        vault.unseal(sealed, "p")
    with pytest.raises(SecretsLocked):
        vault.seal(b"y", "p")
    assert vault.locked()
    ring.locked = False
    assert vault.unseal(sealed, "p") == b"x"
    assert not vault.locked()


def test_keyring_that_waits_for_its_password_does_not_hold_the_daemon_up(desktop: Places, ring: FakeKeyring) -> None:
    sealed = Vault(desktop, "auto").seal(b"x", "p")
    ring.answering.clear()
    vault = Vault(desktop, "auto")
    assert vault.problem() == "the keyring is waiting for its password"
    asking = [thread for thread in threading.enumerate() if thread.name == "keyring"]
    assert len(asking) == 1
    ring.answering.set()
    asking[0].join()
    assert vault.unseal(sealed, "p") == b"x"


def test_key_that_is_read_once_is_kept(places: Places) -> None:
    vault = Vault(places, "auto")
    sealed = vault.seal(b"x", "p")
    key_file(places).unlink()
    assert vault.unseal(sealed, "p") == b"x"


@pytest.mark.parametrize("sealed", ["", "v1.", "v1.AAAA", "v1.!", "v2.AAAA", "v1." + "A" * 64])
def test_what_is_not_sealed_does_not_open(places: Places, sealed: str) -> None:
    vault = Vault(places, "auto")
    vault.seal(b"x", "p")
    with pytest.raises(SecretsLocked):
        vault.unseal(sealed, "p")


@given(plain=st.binary(max_size=200), flip=st.integers(0, 10_000))
def test_one_flipped_bit_is_noticed(tmp_path_factory: pytest.TempPathFactory, plain: bytes, flip: int) -> None:
    import base64

    home = tmp_path_factory.getbasetemp() / "flip"
    vault = Vault(Places(str(home), "", "", "", "", "", "", str(home / "master.key"), True), "file")
    sealed = vault.seal(plain, "p")
    raw = bytearray(base64.b64decode(sealed.removeprefix("v1.")))
    raw[flip // 8 % len(raw)] ^= 1 << flip % 8
    with pytest.raises(SecretsLocked):
        vault.unseal("v1." + base64.b64encode(raw).decode(), "p")
    assert vault.unseal(sealed, "p") == plain


def test_folder_that_cannot_be_written_is_a_clear_error(places: Places, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    vault = Vault(replace(places, master_key=str(blocked / "master.key")), "file")
    with pytest.raises(SecretsLocked, match="cannot be"):
        vault.seal(b"x", "p")


def test_a_password_is_hashed_by_argon2id_at_the_cost_of_rfc_9106() -> None:
    found = extract_parameters(REAL_HASH("correct horse"))
    assert (found.type, found.memory_cost, found.time_cost) == (Type.ID, 65_536, 3)


class SlowHash:
    """Stands in for the comparison of a password; each one lasts until it is let go."""

    def __init__(self) -> None:
        self.begun: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.let_go = threading.Semaphore(0)

    def fits(self, kept: str, password: str) -> bool:
        self.begun.put(password)
        assert self.let_go.acquire(timeout=10)
        return kept == password

    async def next_begun(self) -> str:
        return await asyncio.to_thread(self.begun.get, timeout=10)


async def test_one_password_is_hashed_at_a_time_and_nothing_else_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = SlowHash()
    monkeypatch.setattr(secrets, "_fits", hashes.fits)
    logins = [asyncio.create_task(secrets.verify_password("b", each)) for each in "abc"]
    assert await hashes.next_begun() == "a"
    await asyncio.gather(*(asyncio.to_thread(len, "") for _ in range(40)))
    assert hashes.begun.empty()
    for _each in logins:
        hashes.let_go.release()
    assert await asyncio.gather(*logins) == [False, True, False]


async def test_a_caller_that_went_away_is_not_hashed_for(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = SlowHash()
    monkeypatch.setattr(secrets, "_fits", hashes.fits)
    logins = [asyncio.create_task(secrets.verify_password("c", each)) for each in "abc"]
    assert await hashes.next_begun() == "a"
    logins[1].cancel()
    await asyncio.wait([logins[1]])
    hashes.let_go.release()
    assert await hashes.next_begun() == "c"
    hashes.let_go.release()
    assert await logins[2]


def credentials(tmp_path: Path, key: str) -> str:
    """Return a folder of credentials as systemd makes it: readable, and not to be written."""
    folder = tmp_path / "credentials"
    folder.mkdir()
    (folder / CREDENTIAL).write_text(key)
    (folder / CREDENTIAL).chmod(0o440)
    return str(folder)


def test_a_key_that_was_moved_into_the_service_s_credentials_opens_what_it_sealed(
    places: Places, tmp_path: Path
) -> None:
    sealed = Vault(places, "auto").seal(b"x", "p")
    folder = credentials(tmp_path, key_file(places).read_text())
    key_file(places).write_text("credential\n")
    assert Vault(places, "auto", folder).unseal(sealed, "p") == b"x"
    # Outside the service there is no key, and none is made.
    outside = Vault(places, "auto")
    for act in (lambda: outside.unseal(sealed, "p"), lambda: outside.seal(b"y", "p")):
        with pytest.raises(SecretsElsewhere, match="only the service can read it"):
            act()
    assert key_file(places).read_text() == "credential\n"
    (tmp_path / "credentials" / CREDENTIAL).unlink()
    with pytest.raises(SecretsLocked, match=f"no credential {CREDENTIAL}: No such file"):
        Vault(places, "auto", folder).unseal(sealed, "p")


def test_a_service_that_has_a_credential_makes_it_the_key_of_a_new_shop(places: Places, tmp_path: Path) -> None:
    desktop = replace(places, self_contained=False)
    Vault(replace(desktop, master_key=str(tmp_path / "other")), "file").seal(b"x", "p")
    folder = credentials(tmp_path, (tmp_path / "other").read_text())
    sealed = Vault(desktop, "auto", folder).seal(b"x", "p")
    assert key_file(desktop).read_text() == "credential\n"
    assert Vault(desktop, "auto", folder).unseal(sealed, "p") == b"x"


def test_a_key_in_its_file_stays_the_key_whatever_credential_there_is(places: Places, tmp_path: Path) -> None:
    sealed = Vault(places, "auto").seal(b"x", "p")
    folder = credentials(tmp_path, "A" * 43 + "=")
    assert Vault(places, "auto", folder).unseal(sealed, "p") == b"x"
