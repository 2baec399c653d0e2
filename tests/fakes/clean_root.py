"""A clean Debian root, made with debootstrap, in namespaces of its own: no network, no systemd, no process of outside."""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_KEPT: Final = ROOT / "build/clean-root"
"""Debian's own packages only, so it is made once and copied for each test."""
SUITES: Final = {"12": "bookworm", "13": "trixie"}
"""The Debian releases that packages are made for."""
_NEEDED: Final = ("debootstrap", "dpkg-deb", "nsenter", "unshare")
_INCLUDED: Final = "adduser,ca-certificates,python3,sudo"
"""Packages that momo's package needs, and sudo, because the tests' roots have no network."""
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_WAIT_S: Final = 900
"""For one command. A machine with other work may need minutes for an installation."""
_PROBE: Final = (
    "mount -t tmpfs tmpfs {0} && mknod {0}/null c 1 3 && echo tried > {0}/null && "
    "mkdir {0}/pts && mount -t devpts -o newinstance devpts {0}/pts && chroot / true"
)
"""Commands that test the permissions for making and running a root."""
_INIT: Final = """\
import fcntl, signal, socket, struct, subprocess, sys
up = struct.pack("16sh22x", b"lo", 0x41)
fcntl.ioctl(socket.socket(), 0x8914, up)  # SIOCSIFFLAGS, IFF_UP and IFF_RUNNING
points = "newinstance,ptmxmode=0666,mode=620"
subprocess.run(["mount", "-t", "devpts", "-o", points, "devpts", sys.argv[1] + "/dev/pts"], check=True)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans need no waiting
print("ready", flush=True)
sys.stdin.read()
"""


def why_not() -> str:
    """Return why this machine cannot have such a root; "" if it can."""
    facts = platform.freedesktop_os_release()
    if facts.get("ID") != "debian":
        return "this machine is no Debian"
    if os.geteuid() != 0:
        return "only root can make a clean root"
    path = f"{os.environ.get('PATH', '')}:{_PATH}"
    missing = [name for name in _NEEDED if shutil.which(name, path=path) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    with tempfile.TemporaryDirectory(prefix="momo-probe-") as folder:
        # These mounts, as all of this file, are in a mount namespace of their own and end with it.
        words = ["unshare", "--fork", "--pid", "--mount", "--net", "--mount-proc", "sh", "-c"]
        tried = subprocess.run([*words, _PROBE.format(folder)], capture_output=True, check=False)
    if tried.returncode == 0:
        return ""
    said = tried.stderr.decode("utf-8", "replace").strip()
    return f"not permitted here: namespaces, mounts and devices of its own ({said})"


def release() -> str:
    """Return the number of this machine's Debian release, such as 12."""
    return platform.freedesktop_os_release()["VERSION_ID"]


class CleanRoot:
    """A running root.

    Attributes:
        folder: Its files.
    """

    def __init__(self, folder: Path, pid: int) -> None:
        self.folder = folder
        self._pid = pid

    def argv(self, command: str) -> list[str]:
        """Return the command line that runs a shell command in the root, as its root, with a login's environment."""
        enter = ["nsenter", f"--target={self._pid}", "--pid", "--mount", "--net"]
        environ = [f"PATH={_PATH}", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"]
        shell = ["/usr/bin/env", "-i", *environ, "TERM=xterm", "sh", "-c", f"cd /root && {command}"]
        return [*enter, "chroot", str(self.folder), *shell]

    def run(self, command: str, *, code: int = 0) -> str:
        """Run a shell command to its end and return its output; its exit code must be `code`."""
        done = subprocess.run(
            self.argv(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_WAIT_S,
            check=False,
        )
        text = done.stdout.decode("utf-8", "replace")
        assert done.returncode == code, f"{command}\n{text}"
        return text


@contextmanager
def clean_root(folder: Path, release: str) -> Iterator[CleanRoot]:
    """Make and run a root of that Debian release in the folder; at the end all its processes are killed and its files deleted.

    Its mounts exist in its own mount namespace only, so outside of it the folder holds plain files.
    """
    words: Sequence[str] = [
        "unshare", "--fork", "--kill-child", "--pid", "--mount", "--net",
        f"--mount-proc={folder}/proc", sys.executable, "-c", _INIT, str(folder),
    ]  # fmt: skip
    try:
        subprocess.run(["cp", "--archive", made(SUITES[release]), folder], check=True)
        # The files are thrown away, so dpkg need not wait until the disk has them.
        (folder / "etc/dpkg/dpkg.cfg.d/fast").write_text("force-unsafe-io\n")
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as unshare:
            assert unshare.stdin is not None
            assert unshare.stdout is not None
            assert unshare.stdout.readline() == b"ready\n"
            children = Path(f"/proc/{unshare.pid}/task/{unshare.pid}/children").read_text()
            try:
                yield CleanRoot(folder, int(children))
            finally:
                unshare.stdin.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def made(suite: str, more: str = "") -> Path:
    """Return the root that is copied, with more packages if given; make it if there is none yet."""
    kept = _KEPT / (f"{suite}-{more.replace(',', '-')}" if more else suite)
    included = f"{_INCLUDED},{more}" if more else _INCLUDED
    if not kept.exists():
        _KEPT.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=_KEPT, prefix=f"{suite}-"))
        draft.chmod(0o755)
        # debootstrap mounts /proc and /sys in the new root; if it is killed, they end with its namespace.
        words = ["unshare", "--fork", "--kill-child", "--pid", "--mount", "--mount-proc"]
        words += ["debootstrap", "--variant=minbase", f"--include={included}", suite, str(draft)]
        environ = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{_PATH}"}
        done = subprocess.run([*words, _mirror()], check=False, env=environ, capture_output=True, text=True)
        assert done.returncode == 0, f"debootstrap failed:\n{done.stdout[-2000:]}{done.stderr}"
        for archive in (draft / "var/cache/apt/archives").glob("*.deb"):
            archive.unlink()
        try:
            draft.rename(kept)
        except OSError:  # another run was faster
            shutil.rmtree(draft)
    return kept


def _mirror() -> str:
    """Return the address from which this machine's apt gets its own suite; the other suites are there too."""
    suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
    words = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    found = (line.split() for line in done.stdout.splitlines())
    return next(uri for uri, name in found if name == suite)
