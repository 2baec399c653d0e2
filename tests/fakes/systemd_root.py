"""A Debian root with a running systemd, in namespaces and a cgroup of its own; it ends with its block."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.fakes import clean_root
from tests.fakes.real_shop import wait_until

_PACKAGES: Final = "systemd,systemd-sysv,dbus,udev"
_BOOT_S: Final = 120
_DEVICES: Final = "null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0"
_BOOT: Final = f"""\
set -e
echo $$ > "$2/cgroup.procs"
exec unshare --fork --kill-child --pid --mount --uts --ipc --net --cgroup sh -e -c '
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t sysfs sysfs "$1/sys"
mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
for place in run tmp dev; do mount -t tmpfs tmpfs "$1/$place"; done
for made in {_DEVICES}; do
  name=${{made%%:*}} rest=${{made#*:}}
  mknod -m 666 "$1/dev/$name" c "${{rest%:*}}" "${{rest#*:}}"
done
mkdir "$1/dev/pts" "$1/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
ln -s pts/ptmx "$1/dev/ptmx"
touch "$1/dev/console"
exec chroot "$1" /usr/bin/env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system
' sh "$1"
"""


def why_no_systemd() -> str:
    """Return why this machine cannot have such a root; "" if it can."""
    if reason := clean_root.why_not():
        return reason
    place = _cgroups()
    if place is None or not os.access(place, os.W_OK):
        return "no cgroup2 hierarchy that can be written"
    return ""


def _cgroups() -> Path | None:
    """Return where the unified hierarchy is mounted."""
    mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    return next((Path(words[1]) for words in mounts if words[2] == "cgroup2"), None)


class SystemdRoot:
    """A booted root.

    Attributes:
        folder: Its files.
    """

    def __init__(self, folder: Path, pid: int) -> None:
        self.folder = folder
        self._pid = pid

    def _argv(self, command: str) -> list[str]:
        enter = ["nsenter", f"--target={self._pid}", "--pid", "--mount", "--uts", "--ipc", "--net", "--root", "--wd"]
        environ = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"]
        shell = ["TERM=xterm", "DEBIAN_FRONTEND=noninteractive", "sh", "-c", f"cd /root && {command}"]
        return [*enter, "/usr/bin/env", "-i", *environ, *shell]

    def _done(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._argv(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=600, check=False,
        )  # fmt: skip

    def run(self, command: str, *, code: int = 0) -> str:
        """Run a shell command to its end and return its output; its exit code must be `code`."""
        done = self._done(command)
        assert done.returncode == code, f"{command}\n{done.stdout}"
        return done.stdout

    def tried(self, command: str) -> bool:
        """Run a shell command and return whether it succeeded."""
        return self._done(command).returncode == 0


@contextmanager
def systemd_root(folder: Path, release: str) -> Iterator[SystemdRoot]:
    """Make and boot a root of that Debian release; at the end all its processes are killed and its files deleted."""
    above = _cgroups()
    assert above is not None
    group = above / f"momo-test-{os.getpid()}"
    made = clean_root.made(clean_root.SUITES[release], _PACKAGES)
    subprocess.run(["cp", "--archive", made, folder], check=True)
    (folder / "etc/dpkg/dpkg.cfg.d/fast").write_text("force-unsafe-io\n")
    group.mkdir()
    try:
        with subprocess.Popen(
            ["sh", "-c", _BOOT, "sh", str(folder), str(group)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as boot:  # fmt: skip
            try:
                pid = wait_until(lambda: _child(boot.pid), _BOOT_S, "the namespace is there")
                root = SystemdRoot(folder, pid)
                # `degraded` is enough: a container has no console.
                up = "systemctl is-system-running | grep -qE 'running|degraded'"
                wait_until(lambda: root.tried(up), _BOOT_S, "systemd has booted")
                yield root
            finally:
                boot.kill()  # unshare ends its child, the namespace's init, and with it everything inside
    finally:
        _remove(group)
        shutil.rmtree(folder, ignore_errors=True)


def _child(pid: int) -> int | None:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(found[0]) if found else None


def _remove(group: Path) -> None:
    """Remove the cgroup with those that systemd made in it, when their last processes have gone."""

    def gone() -> bool:
        for folder, _, _ in os.walk(group, topdown=False):
            try:
                Path(folder).rmdir()
            except OSError:
                return False
        return True

    wait_until(gone, _BOOT_S, "the processes of the root have ended")
