"""Secrets at rest: sealed with a master key from the system's keyring, from a credential of systemd, or from a 0600 file.

Reading and matching SMS never needs a secret. When the key cannot be had (a keyring that nobody has unlocked),
deliveries wait as `secrets_locked` and everything else goes on.

The file `master.key` always says where the key is: it holds the key itself, or the word `keyring` or `credential`. Without
that word a keyring that is locked today would look like one that never had the key, a second key would be made, and what the
first one sealed would be lost.
"""

import base64
import contextlib
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from daemon.core.errors import MomoError
from daemon.wire import Places

_SERVICE: Final = "momo"
_IN_KEYRING: Final = "keyring"
_IN_CREDENTIAL: Final = "credential"
CREDENTIAL: Final = "momo-master-key"
"""The name that the service's unit loads it by (systemd.exec(5), LoadCredentialEncrypted=)."""
CREDENTIALS: Final = "CREDENTIALS_DIRECTORY"
"""Names the folder of a service's credentials, for its own processes alone."""
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_VERSION: Final = "v1."
_MAKE_WAIT_S: Final = 120.0
"""Setup waits so long for a person to type the keyring's password."""
_FETCH_WAIT_S: Final = 0.5
"""The daemon does not: a keyring that asks for its password answers when it has been typed."""


class SecretsLocked(MomoError):
    """The master key cannot be had now, or does not open what was sealed; the text says why."""


class SecretsElsewhere(SecretsLocked):
    """The key is a credential of the service, and this process is none of the service's."""


class SecretsUnsafe(SecretsLocked):
    """The key file can be read by others; the text says what to type."""


class Vault:
    """Seals and opens secrets (AES-256-GCM); the purpose is bound to each, so that none can pose as another."""

    def __init__(self, places: Places, store: str, credentials: str = "") -> None:
        self._places = places
        self._store = store
        self._credential = Path(credentials) / CREDENTIAL if credentials else None
        self._file = Path(places.master_key)
        self._key: bytes | None = None
        self._keyring = _Keyring(places.home)

    @classmethod
    def open(cls, places: Places, store: str, credentials: str = "") -> Self:
        """Return the vault of a shop; the key is fetched when it is first needed.

        Args:
            places: Where the shop's things are.
            store: `[secrets] store`, where a new key is made: `auto` (the credential when the service has one; the file
                when the home is self-contained or there is no keyring; else the keyring), `keyring` or `file`. A key that
                exists stays where it is.
            credentials: The folder of the service's credentials, "" outside of a service.
        """
        return cls(places, store, credentials)

    def seal(self, plain: bytes, purpose: str) -> str:
        """Return `plain` sealed for one purpose, as text. Makes the master key when there has never been one.

        Raises:
            SecretsLocked: There is no key and none can be made.
        """
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 -- not on the idle path

        # Straight from the kernel, not from `system.Entropy`: a nonce of a fake would void the cipher.
        nonce = os.urandom(_NONCE_BYTES)
        box = AESGCM(self._master_key(make=True)).encrypt(nonce, plain, purpose.encode())
        return _VERSION + base64.b64encode(nonce + box).decode()

    def unseal(self, sealed: str, purpose: str) -> bytes:
        """Return what was sealed.

        Raises:
            SecretsLocked: The key cannot be had, or is not the one this was sealed with.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 -- not on the idle path
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 -- the same

        key = self._master_key(make=False)
        try:
            raw = base64.b64decode(sealed.removeprefix(_VERSION), validate=True)
            return AESGCM(key).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], purpose.encode())
        except (InvalidTag, ValueError) as error:
            raise SecretsLocked("the master key does not open this secret") from error

    def problem(self) -> str | None:
        """Return why the key cannot be had now, None when it can."""
        try:
            self._master_key(make=False)
        except SecretsLocked as error:
            return str(error)
        return None

    def locked(self) -> bool:
        """Say whether the key cannot be had now."""
        return self.problem() is not None

    def _master_key(self, *, make: bool) -> bytes:
        if self._key is None:
            text = self._read_file()
            if text is None:
                self._key = self._made(make=make)
            elif text == _IN_CREDENTIAL:
                self._key = _key_of(self._read_credential(), f"the credential {CREDENTIAL}")
            elif text == _IN_KEYRING:
                self._key = _key_of(self._keyring.fetch(make=False), "the keyring's entry")
            else:
                self._key = _key_of(text, f"the key file {self._file}")
        return self._key

    def _read_file(self) -> str | None:
        """Return the key, or the word that names the keyring, or None when no key was ever made."""
        try:
            fd = os.open(self._file, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SecretsLocked(f"the key file cannot be read: {error}") from error
        with os.fdopen(fd, encoding="ascii", errors="replace") as file:
            # The rights of the file that is open, not of whatever has that name a moment later.
            if stat.S_IMODE(os.fstat(fd).st_mode) & 0o077:
                raise SecretsUnsafe(
                    f"{self._file} can be read by others; type: chmod 600 {self._file}"
                )
            return file.read(1024).strip()

    def _read_credential(self) -> str:
        """Return the key that systemd opened for this service; whose rights are systemd's own affair."""
        if self._credential is None:
            raise SecretsElsewhere(
                f"the master key is a credential of the service (momo.service, {CREDENTIAL}), and nobody else has it"
            )
        try:
            return self._credential.read_text(encoding="ascii", errors="replace").strip()
        except OSError as error:
            raise SecretsLocked(
                f"systemd gave this service no credential {CREDENTIAL}: {error.strerror}"
            ) from error

    def _made(self, *, make: bool) -> bytes:
        if not make:
            raise SecretsLocked(f"there is no master key: {self._file} is missing")
        if self._store == "auto" and self._credential is not None and self._credential.exists():
            key = _key_of(self._read_credential(), f"the credential {CREDENTIAL}")
            self._write_file(_IN_CREDENTIAL)
            return key
        if self._store == "keyring" or (self._store == "auto" and not self._places.self_contained):
            try:
                text = self._keyring.fetch(make=True)
            except SecretsLocked:
                # `auto`: nothing has been sealed yet, so a machine without a keyring keeps its key in the file.
                if self._store == "keyring":
                    raise
            else:
                key = _key_of(text, "the keyring's entry")
                self._write_file(_IN_KEYRING)
                return key
        self._write_file(_new_key())
        text = self._read_file() or ""
        return _key_of(text, f"the key file {self._file}")

    def _write_file(self, text: str) -> None:
        """Make the 0600 file, whole and on the disk, or not at all; one that is there already stays.

        Raises:
            SecretsLocked: The file cannot be written.
        """
        new = self._file.with_name(f"{self._file.name}.{threading.get_native_id()}.new")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            new.unlink(missing_ok=True)
            fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, text.encode() + b"\n")
                os.fsync(fd)
            finally:
                os.close(fd)
            with contextlib.suppress(FileExistsError):
                # link(2) refuses an existing name, which rename(2) would overwrite.
                os.link(new, self._file)
            new.unlink()
            _sync_folder(self._file.parent)
        except OSError as error:
            raise SecretsLocked(f"the key file cannot be written: {error}") from error


class _Keyring:
    """The system's keyring, asked from a thread: while it waits for its password the daemon goes on reading SMS."""

    def __init__(self, account: str) -> None:
        self._account = account
        self._lock = threading.Lock()
        self._asking: threading.Thread | None = None
        self._answer: str | None = None
        self._why = ""

    def fetch(self, *, make: bool) -> str:
        """Return the key as text; makes it when told to and there is none.

        Raises:
            SecretsLocked: The keyring is absent, locked, empty, or still asking for its password.
        """
        with self._lock:
            if self._answer is None and (self._asking is None or not self._asking.is_alive()):
                self._why = "the keyring is waiting for its password"
                self._asking = threading.Thread(
                    target=self._ask, args=(make,), name="keyring", daemon=True
                )
                self._asking.start()
            asking = self._asking
        if asking is not None:
            asking.join(_MAKE_WAIT_S if make else _FETCH_WAIT_S)
        if self._answer is None:
            raise SecretsLocked(self._why)
        return self._answer

    def _ask(self, make: bool) -> None:  # noqa: FBT001 -- a thread's target takes its arguments by position
        try:
            import keyring  # noqa: PLC0415 -- 11 MB and 130 ms, not on the idle path

            self._answer = _in_keyring(
                keyring.get_password, keyring.set_password, self._account, make=make
            )
        except SecretsLocked as error:
            self._why = str(error)
        except Exception as error:  # noqa: BLE001 -- backends are plug-ins and raise what they like; none may stop us
            self._why = f"the keyring cannot be used: {error}"


def _in_keyring(
    get: Callable[[str, str], str | None],
    put: Callable[[str, str, str], None],
    account: str,
    *,
    make: bool,
) -> str:
    text = get(_SERVICE, account)
    if text is None and make:
        put(_SERVICE, account, _new_key())
        # Read again: some backends take a password and keep nothing (keyring's `null`).
        text = get(_SERVICE, account)
    if text is None:
        raise SecretsLocked("the keyring holds no key for this shop")
    return text


def _new_key() -> str:
    return base64.b64encode(os.urandom(_KEY_BYTES)).decode()


def _key_of(text: str, where: str) -> bytes:
    with contextlib.suppress(ValueError):
        key = base64.b64decode(text, validate=True)
        if len(key) == _KEY_BYTES:
            return key
    raise SecretsLocked(f"{where} does not hold a key")


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
