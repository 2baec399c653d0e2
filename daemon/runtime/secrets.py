"""Secrets sealed with a master key, and the owner's password hash.

The key is in the system's keyring, a systemd credential, or a file with mode 0600. Reading and matching SMS never needs a
secret. While the key is not available (a locked keyring), deliveries wait as `secrets_locked`, and everything else
continues.

The file `master.key` always shows where the key is: it contains the key itself, or the word `keyring` or `credential`.
Without that word, a locked keyring would look like one without a key; a second key would be made, and secrets sealed with
the first one would be lost. Passwords are hashed by argon2id, with the library's parameters and salt.
"""

import asyncio
import base64
import contextlib
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from daemon.core.errors import FieldError, MomoError
from daemon.core.text import Text
from daemon.runtime.files import sync
from daemon.wire import Places

PASSWORD_CHARACTERS_MIN: Final = 10
PASSWORD_CHARACTERS_MAX: Final = 1024
"""argon2id takes any length; this is far above any real pass phrase."""
CREDENTIAL: Final = "momo-master-key"
"""Name of the credential in the service's unit file (systemd.exec(5), LoadCredentialEncrypted=)."""
CREDENTIALS: Final = "CREDENTIALS_DIRECTORY"
"""Environment variable with the folder of the service's credentials; only its own processes can read it."""
_SERVICE: Final = "momo"
_KEYRING_WORD: Final = "keyring"
_CREDENTIAL_WORD: Final = "credential"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_VERSION: Final = "v1."
_MAKE_WAIT_S: Final = 120.0
"""Seconds that setup waits for the keyring's password to be typed."""
_FETCH_WAIT_S: Final = 0.5
"""Seconds that the daemon waits; it asks a locked keyring again later."""
_HASHING: Final = ThreadPoolExecutor(1, thread_name_prefix="momo-password")
"""One thread: a hash takes 64 MiB, so many logins at once would exceed the service's MemoryMax."""


class SecretsLocked(MomoError):
    """The master key is not available now, or does not open the secret; the text is the reason."""


class SecretsElsewhere(SecretsLocked):
    """The key is a credential of the service, and this process does not belong to the service."""


class SecretsUnsafe(SecretsLocked):
    """Other users can read the key file; the text has the command to type."""


class Vault:
    """Seals and opens secrets with AES-256-GCM; the purpose is authenticated, so one secret cannot replace another."""

    def __init__(self, places: Places, store: str, credentials: str = "") -> None:
        """Create it; the key is fetched on first use, and an existing key stays where it is.

        `store` is the place of a new key: `auto` (the credential if the service has one; the file if the home is
        self-contained or there is no keyring; else the keyring), `keyring` or `file`. `credentials` is the folder of
        the service's credentials, "" outside a service.
        """
        self._places = places
        self._store = store
        self._credential = Path(credentials) / CREDENTIAL if credentials else None
        self._file = Path(places.master_key)
        self._key: bytes | None = None
        self._keyring = _Keyring(places.home)

    def seal(self, plain: bytes, purpose: str) -> str:
        """Return `plain` sealed for one purpose, as text. Makes the master key if none was ever made.

        Raises:
            SecretsLocked: The key is not available and cannot be made.
        """
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 -- not on the idle path

        # From the kernel, not from `system.Entropy`: a repeated nonce from a test fake would break the cipher.
        nonce = os.urandom(_NONCE_BYTES)
        box = AESGCM(self._master_key(make=True)).encrypt(nonce, plain, purpose.encode())
        return _VERSION + base64.b64encode(nonce + box).decode()

    def unseal(self, sealed: str, purpose: str) -> bytes:
        """Return the sealed bytes.

        Raises:
            SecretsLocked: The key is not available, or is not the one that sealed the secret.
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
        """Return why the key is not available now, or None if it is."""
        try:
            self._master_key(make=False)
        except SecretsLocked as error:
            return str(error)
        return None

    def locked(self) -> bool:
        """Return whether the key is not available now."""
        return self.problem() is not None

    def _master_key(self, *, make: bool) -> bytes:
        if self._key is None:
            text = self._read_file()
            if text is None:
                self._key = self._first_key(make=make)
            elif text == _CREDENTIAL_WORD:
                self._key = _key_of(self._read_credential(), f"the credential {CREDENTIAL}")
            elif text == _KEYRING_WORD:
                self._key = _key_of(self._keyring.fetch(make=False), "the keyring's entry")
            else:
                self._key = _key_of(text, f"the key file {self._file}")
        return self._key

    def _read_file(self) -> str | None:
        """Return the text of the key file: the key, or `keyring` or `credential`; None if no key was ever made."""
        try:
            fd = os.open(self._file, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SecretsLocked(f"the key file cannot be read: {error}") from error
        with os.fdopen(fd, encoding="ascii", errors="replace") as file:
            # Check the open file: another file could take its name meanwhile.
            if stat.S_IMODE(os.fstat(fd).st_mode) & 0o077:
                raise SecretsUnsafe(f"other users can read {self._file}; type: chmod 600 {self._file}")
            return file.read(1024).strip()

    def _read_credential(self) -> str:
        """Return the key from the credential that systemd opened for this service; systemd controls its permissions."""
        if self._credential is None:
            raise SecretsElsewhere(
                f"the master key is a credential of momo.service ({CREDENTIAL}); only the service can read it"
            )
        try:
            return self._credential.read_text(encoding="ascii", errors="replace").strip()
        except OSError as error:
            raise SecretsLocked(f"systemd gave this service no credential {CREDENTIAL}: {error.strerror}") from error

    def _first_key(self, *, make: bool) -> bytes:
        if not make:
            raise SecretsLocked(f"there is no master key: {self._file} is missing")
        if self._store == "auto" and self._credential is not None and self._credential.exists():
            key = _key_of(self._read_credential(), f"the credential {CREDENTIAL}")
            self._write_file(_CREDENTIAL_WORD)
            return key
        if self._store == "keyring" or (self._store == "auto" and not self._places.self_contained):
            try:
                text = self._keyring.fetch(make=True)
            except SecretsLocked:
                # `auto`: no secret is sealed yet, so without a keyring the key goes to the file.
                if self._store == "keyring":
                    raise
            else:
                key = _key_of(text, "the keyring's entry")
                self._write_file(_KEYRING_WORD)
                return key
        self._write_file(_new_key())
        text = self._read_file() or ""
        return _key_of(text, f"the key file {self._file}")

    def _write_file(self, text: str) -> None:
        """Write the file with mode 0600 atomically and durably; keep an existing file.

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
            sync(self._file.parent)
        except OSError as error:
            raise SecretsLocked(f"the key file cannot be written: {error}") from error


class _Keyring:
    """The system's keyring, used in a thread: the daemon keeps reading SMS while the keyring waits for its password."""

    def __init__(self, account: str) -> None:
        self._account = account
        self._lock = threading.Lock()
        self._asking: threading.Thread | None = None
        self._answer: str | None = None
        self._why = ""

    def fetch(self, *, make: bool) -> str:
        """Return the key as text; with `make`, create a missing one.

        Raises:
            SecretsLocked: The keyring is missing, locked, empty, or still waiting for its password.
        """
        with self._lock:
            if self._answer is None and (self._asking is None or not self._asking.is_alive()):
                self._why = "the keyring is waiting for its password"
                self._asking = threading.Thread(target=self._ask, args=(make,), name="keyring", daemon=True)
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

            text = keyring.get_password(_SERVICE, self._account)
            if text is None and make:
                keyring.set_password(_SERVICE, self._account, _new_key())
                # Read it back: some backends discard passwords (keyring's `null`).
                text = keyring.get_password(_SERVICE, self._account)
            self._why = "the keyring has no key for this shop"
            self._answer = text
        except Exception as error:  # noqa: BLE001 -- backends are plug-ins and may raise any error
            self._why = f"the keyring cannot be used: {error}"


def _new_key() -> str:
    return base64.b64encode(os.urandom(_KEY_BYTES)).decode()


def _key_of(text: str, where: str) -> bytes:
    with contextlib.suppress(ValueError):
        key = base64.b64decode(text, validate=True)
        if len(key) == _KEY_BYTES:
            return key
    raise SecretsLocked(f"{where} does not hold a key")


def password_error(field: str, password: str | None) -> FieldError | None:
    """Return the error of a new password, or None if it is acceptable.

    `field` is the name of the field for the error.
    """
    if not password:
        return FieldError(field, "required", Text("field.password.required"))
    if len(password) < PASSWORD_CHARACTERS_MIN:
        text = Text("field.password.too_short", least=PASSWORD_CHARACTERS_MIN)
        return FieldError(field, "too_short", text)
    if len(password) > PASSWORD_CHARACTERS_MAX:
        text = Text("field.password.too_long", most=PASSWORD_CHARACTERS_MAX)
        return FieldError(field, "too_long", text)
    return None


async def hash_password(password: str) -> str:
    """Return the hash of a password. It takes tenths of a second on purpose, so it runs in a thread."""
    return await asyncio.get_running_loop().run_in_executor(_HASHING, _hash, password)


async def verify_password(kept: str, password: str) -> bool:
    """Return whether the password matches the hash. A password over the maximum length is refused without hashing."""
    if len(password) > PASSWORD_CHARACTERS_MAX:
        return False
    return await asyncio.get_running_loop().run_in_executor(_HASHING, _fits, kept, password)


def _hash(password: str) -> str:
    from argon2 import PasswordHasher  # noqa: PLC0415 -- only used with a password

    return PasswordHasher().hash(password)


def _fits(kept: str, password: str) -> bool:
    from argon2 import PasswordHasher  # noqa: PLC0415 -- only used with a password
    from argon2.exceptions import Argon2Error, InvalidHashError  # noqa: PLC0415 -- the same

    try:
        return PasswordHasher().verify(kept, password)
    except (Argon2Error, InvalidHashError):
        return False
