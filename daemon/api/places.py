"""What the listeners listen on: addresses, certificates, and the Unix socket's place on the disk."""

import os
import socket
import ssl
import stat
from pathlib import Path

from daemon.core.errors import MomoError


class ListenError(MomoError):
    """An address cannot be listened on; the text says why, for people."""


def tls_context(certificate: str, key: str) -> ssl.SSLContext | None:
    """Return what makes connections TLS, None when no certificate is named.

    Raises:
        ListenError: The files cannot be used; the text names the file.
    """
    if not certificate:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key or None, password=_no_password)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        files = certificate if not key else f"{certificate} and {key}"
        raise ListenError(f"the certificate cannot be used ({files}): {why}") from error
    return context


def _no_password() -> str:
    """Answer where OpenSSL would ask at the terminal and wait for ever."""
    raise ValueError("the key is encrypted; momo needs one without a pass phrase")


def split_address(address: str) -> tuple[str, int]:
    """Split `HOST:PORT`; an IPv6 host stands in brackets.

    Raises:
        ListenError: It is not of that form.
    """
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:
        raise ListenError(f"{address!r} is not HOST:PORT, such as 127.0.0.1:8420")
    return host, int(port)


def make_folder(folder: Path, mode: int) -> None:
    """Make the socket's folder, or see that the one there is ours and gives no more rights than it should."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        # In a shared temporary directory somebody else may have been there first.
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (os.getuid(), 0):
            raise ListenError(f"{folder} belongs to somebody else")
        if stat.S_IMODE(found.st_mode) != mode:
            folder.chmod(mode)
    except OSError as error:
        raise ListenError(f"{folder} cannot be used: {error.strerror}") from error


def remove_dead(path: Path) -> None:
    """Remove a socket that nobody listens on; refuse to touch anything else."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise ListenError(f"{path} is there and is no socket; move it away")
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    probe.settimeout(1.0)
    try:
        probe.connect(str(path))
    except ConnectionRefusedError:
        path.unlink()
    except OSError as error:
        raise ListenError(f"{path} cannot be looked at: {error.strerror}") from error
    else:
        raise ListenError(f"another daemon answers on {path}")
    finally:
        probe.close()
