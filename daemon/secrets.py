"""Secrets at rest: sealed with a master key from the system's keyring, else from a 0600 file.

Reading and matching SMS never needs a secret. When the key cannot be had (a keyring that nobody has unlocked),
deliveries wait as `secrets_locked` and everything else goes on.
"""

import base64
import contextlib
import os
import stat
from pathlib import Path
from typing import Final, Self

from daemon.core.errors import MomoError
from daemon.wire import Places

_SERVICE: Final = "momo"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_VERSION: Final = "v1."


class SecretsLocked(MomoError):
    """The master key cannot be had now, or does not open what was sealed."""


class SecretsUnsafe(MomoError):
    """The key file can be read by others; the text says what to type."""


class Vault:
    """Seals and opens secrets (AES-256-GCM); the purpose is bound to each, so that none can pose as another."""

    def __init__(self, places: Places, store: str) -> None:
        self._places = places
        self._store = store
        self._key: bytes | None = None

    @classmethod
    def open(cls, places: Places, store: str) -> Self:
        """Return the vault of a shop; the key is fetched when it is first needed.

        Args:
            places: Where the shop's things are.
            store: `[secrets] store`: `auto` (the keyring, or the file when the home is self-contained), `keyring`
                or `file`.
        """
        return cls(places, store)

    def seal(self, plain: bytes, purpose: str) -> str:
        """Return `plain` sealed for one purpose, as text.

        Raises:
            SecretsLocked: There is no key and none can be made.
        """
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 -- 5 MB, not on the idle path

        nonce = os.urandom(_NONCE_BYTES)
        box = AESGCM(self._master_key(make=True)).encrypt(nonce, plain, purpose.encode())
        return _VERSION + base64.b64encode(nonce + box).decode()

    def unseal(self, sealed: str, purpose: str) -> bytes:
        """Return what was sealed.

        Raises:
            SecretsLocked: The key cannot be had, or is not the one this was sealed with.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 -- 5 MB, not on the idle path
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 -- the same

        key = self._master_key(make=False)
        try:
            raw = base64.b64decode(sealed.removeprefix(_VERSION), validate=True)
            return AESGCM(key).decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], purpose.encode())
        except (InvalidTag, ValueError) as error:
            raise SecretsLocked("the master key does not open this secret") from error

    def locked(self) -> bool:
        """Say whether the key cannot be had now."""
        try:
            self._master_key(make=False)
        except SecretsLocked:
            return True
        return False

    def _master_key(self, *, make: bool) -> bytes:
        if self._key is None:
            self._key = self._find(make=make)
        return self._key

    def _find(self, *, make: bool) -> bytes:
        if self._in_file():
            return self._from_file(make=make)
        try:
            return self._from_keyring(make=make)
        except SecretsLocked:
            # `auto`: a machine without a keyring keeps its key in the file, once made there for ever.
            if self._store == "keyring" or (
                not make and not Path(self._places.master_key).exists()
            ):
                raise
            return self._from_file(make=make)

    def _in_file(self) -> bool:
        if self._store == "keyring":
            return False
        return (
            self._store == "file"
            or self._places.self_contained
            or Path(self._places.master_key).exists()
        )

    def _from_file(self, *, make: bool) -> bytes:
        path = Path(self._places.master_key)
        if make and not path.exists():
            _write_new(path, base64.b64encode(os.urandom(_KEY_BYTES)) + b"\n")
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & 0o077:
                raise SecretsUnsafe(f"{path} can be read by others; type: chmod 600 {path}")
            key = base64.b64decode(path.read_bytes().strip(), validate=True)
        except (OSError, ValueError) as error:
            raise SecretsLocked(f"the key file {path} cannot be read: {error}") from error
        if len(key) != _KEY_BYTES:
            raise SecretsLocked(f"the key file {path} does not hold a key")
        return key

    def _from_keyring(self, *, make: bool) -> bytes:
        import keyring  # noqa: PLC0415 -- 11 MB and 130 ms, not on the idle path
        import keyring.errors  # noqa: PLC0415 -- the same

        account = self._places.home
        try:
            text = keyring.get_password(_SERVICE, account)
            if text is None and make:
                text = base64.b64encode(os.urandom(_KEY_BYTES)).decode()
                keyring.set_password(_SERVICE, account, text)
        except (keyring.errors.KeyringError, RuntimeError, OSError) as error:
            raise SecretsLocked(f"the keyring cannot be used: {error}") from error
        if text is None:
            raise SecretsLocked("the keyring holds no key for this shop")
        with contextlib.suppress(ValueError):
            key = base64.b64decode(text, validate=True)
            if len(key) == _KEY_BYTES:
                return key
        raise SecretsLocked("the keyring's entry is not a key")


def _write_new(path: Path, content: bytes) -> None:
    """Make a 0600 file that is whole and on the disk, or not there at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, content)
        os.fsync(fd)
    finally:
        os.close(fd)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
