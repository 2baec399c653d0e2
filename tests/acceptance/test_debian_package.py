"""The Debian package in a clean root: install, set up, upgrade, remove, purge. There is no systemd there.

The root is of this machine's release; with MOMO_TEST_LONG=1 the other releases are tried too.
"""

import contextlib
import os
import pwd
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.clean_root import ROOT, SUITES, CleanRoot, clean_root, release, why_not
from tests.fakes.measured import Watch

MUST = "MOMO_TEST_PACKAGE"
"""With this variable, which .ci/run sets, missing programs fail the test; missing permissions still skip it."""
LONG = os.environ.get("MOMO_TEST_LONG") == "1"
LIMIT_S = 120
"""Time limit from the package to the first simulated payment. The test compares the processor time with it, because
the elapsed time depends on the load of the machine; both are printed."""
WAIT_S = 600
"""For one question of `momo setup`."""
STATUS = 'momo tx show "$(cat /tmp/code)" --get data.status'
PASSWORD = "a long pass phrase"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]


def build(folder: Path, tried: str) -> Path:
    """Build the package of a release for this machine's architecture."""
    arch = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True)
    words = ["--fast", f"--release={tried}", f"--arch={arch.stdout.strip()}", f"--out={folder}"]
    # The tests have a home of their own; pip's settings are in the real one.
    environ = {**os.environ, "HOME": pwd.getpwuid(os.getuid()).pw_dir}
    builder = [sys.executable, str(ROOT / "packaging/deb/build.py"), *words]
    subprocess.run(builder, check=True, env=environ, cwd=ROOT)
    return next(folder.glob("momo_*.deb"))


def earlier(package: Path, folder: Path) -> Path:
    """Return the same package with a lower version."""
    files = folder / "earlier"
    subprocess.run(["dpkg-deb", "--raw-extract", package, files], check=True)
    control = files / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^(Version: .*)$", r"\1~earlier", control.read_text()))
    made = folder / "momo-earlier.deb"
    words = ["dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "--build", str(files), str(made)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return made


def lint(package: Path) -> list[str]:
    """Return lintian's errors."""
    done = subprocess.run(
        ["lintian", "--fail-on=none", "--tag-display-limit=0", package], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("E:")]


def set_up_by_sudo(root: CleanRoot) -> None:
    """Run `momo setup` as a user with the right to use sudo, and answer its questions."""
    screen, slave = os.openpty()
    words = root.argv("exec su - ama --command 'momo setup'")
    with subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True) as process:
        os.close(slave)
        unread = ""
        for question, answer in (
            ("needs root", None),
            ("shop's name?", "Ama Provisions"),
            ("password", PASSWORD),
            ("The same again", PASSWORD),
            ("public https address", ""),
            ("Keep it awake", "n"),
            ("Press Enter to continue", ""),
            ("hilink, android", ""),
            ("gets a webhook", ""),
            ("A folder on a USB stick", ""),
        ):
            while question not in unread:
                assert select.select([screen], [], [], WAIT_S)[0], unread
                unread += os.read(screen, 4096).decode("utf-8", "replace")
            unread = unread.partition(question)[2]
            if answer is not None:
                os.write(screen, f"{answer}\n".encode())
        with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
            while read := os.read(screen, 4096):
                unread += read.decode("utf-8", "replace")
        os.close(screen)
    assert process.returncode == 0, unread
    assert "momo cannot take payments yet: it has no phone with a SIM" in unread


@pytest.fixture
def reason() -> str:
    found = why_not() or ("" if shutil.which("lintian") else "not installed: lintian")
    assert not (found.startswith("not installed") and os.environ.get(MUST)), found
    return found


@pytest.mark.parametrize("tried", SUITES)
def test_the_package_is_installed_set_up_upgraded_removed_and_purged(
    tried: str, tmp_path: Path, reason: str, record_property: Callable[[str, object], None]
) -> None:
    if reason:
        pytest.skip(reason)
    if tried != release() and not LONG:
        pytest.skip("another release than this machine's is tried with MOMO_TEST_LONG=1")
    watch = Watch(record_property)
    package = build(tmp_path, tried)
    watch.ends("build")
    assert lint(package) == []
    watch.ends("lintian")
    with clean_root(tmp_path / "root", tried) as root:
        shutil.copy(earlier(package, tmp_path), root.folder / "root/momo.deb")
        shutil.copy(package, root.folder / "root/newer.deb")
        root.run("useradd --create-home --shell /bin/sh ama && useradd --create-home kofi")
        (root.folder / "etc/sudoers.d/ama").write_text("ama ALL=(ALL) NOPASSWD: ALL\n")

        watch.ends("clean root")

        root.run("apt-get install --yes ./momo.deb")
        spent = watch.ends("install")
        set_up_by_sudo(root)
        paid = root.run(
            "su - ama -c 'code=$(momo init 12.50 --phone 0244765432 --sandbox --get data.svc_code)"
            ' && echo "$code" > /tmp/code && momo simulate payment --order "$code"'
            ' && momo tx show "$code" --get data.status\''
        )
        assert paid.endswith("SUCCESS\n")
        assert spent + watch.ends("setup to the first payment") < LIMIT_S

        everyone_sees_what_they_may(root)
        the_files_are_in_order(root)
        watch.ends("use")
        an_upgrade_restarts_the_daemon(root)
        watch.ends("upgrade")
        removal_keeps_the_shop_and_purge_asks(root)
        watch.ends("remove and purge")


def everyone_sees_what_they_may(root: CleanRoot) -> None:
    assert '"ama"' in root.run("momo config get access.socket_users")
    root.run("su - ama -c 'momo status'")
    assert "socket_users" in root.run("su - kofi -c 'momo status'", code=4)
    # A command that works on the shop's files names sudo in its error, and works with it.
    refused = root.run("su - ama -c 'momo backup create'", code=4)
    assert "next:  sudo momo backup create" in refused
    root.run("su - ama -c 'sudo momo backup create'")
    owners = root.run("find /var/lib/momo /etc/momo /run/momo ! -user momo")
    assert owners == "", "every file of the shop belongs to momo"
    # The owner's secrets are not readable by others.
    assert "Permission denied" in root.run("su - ama -c 'ls /var/lib/momo'", code=2)
    # A demonstration needs no shop.
    root.run("su - kofi -c 'momo demo'")


def the_files_are_in_order(root: CleanRoot) -> None:
    python = "/usr/lib/momo/bin/python3 -I -c"
    where = root.run(f"{python} 'import daemon, huawei_lte_api; print(daemon.__path__[0])'")
    assert re.fullmatch(r"/usr/lib/momo/lib/python3\.\d+/site-packages/daemon\n", where)
    compiled = root.run("find /usr/lib/momo -name '*.pyc' | wc -l")
    assert int(compiled) > 1000
    text = root.run("cat /usr/lib/systemd/system/momo.service")
    assert "ExecStart=/usr/lib/momo/bin/python3 -P -m daemon run --supervised" in text
    for path in (
        "/usr/lib/systemd/system/momo-backup.timer",
        "/usr/lib/udev/rules.d/77-momo-modems.rules",
        "/usr/share/bash-completion/completions/momo",
        "/usr/share/doc/momo/copyright",
    ):
        assert (root.folder / path.lstrip("/")).is_file(), path
    # No path of the machine that built it.
    root.run(f"grep --recursive --files-with-matches --fixed-strings {ROOT} /usr/lib/momo", code=1)
    root.run("grep --recursive --files-with-matches momo-deb- /usr/lib/momo /usr/share/momo*", code=2)


def an_upgrade_restarts_the_daemon(root: CleanRoot) -> None:
    before = root.run("momo daemon status --get data.pid")
    root.run("apt-get install --yes ./newer.deb")
    after = root.run("momo daemon status --get data.pid")
    assert int(before) != int(after)
    assert root.run(STATUS) == "SUCCESS\n"


def removal_keeps_the_shop_and_purge_asks(root: CleanRoot) -> None:
    database = root.folder / "var/lib/momo/default/momo.db"
    root.run("apt-get remove --yes momo")
    assert not (root.folder / "run/momo/momo.sock").exists(), "the daemon was stopped"
    assert database.is_file()
    assert not (root.folder / "usr/lib/momo").exists()
    kept = root.run("apt-get purge --yes momo")  # without a terminal there is no question
    assert "are kept" in kept
    assert database.is_file()

    root.run("apt-get install --yes ./newer.deb")
    root.run("momo daemon start")
    assert root.run(STATUS) == "SUCCESS\n"

    root.run("echo momo momo/purge-shop boolean true | debconf-set-selections")
    root.run("apt-get purge --yes momo")
    assert not database.exists()
    assert not (root.folder / "etc/momo").exists()
