"""The package under a real systemd, in a Debian root with namespaces and a cgroup of its own. Only with MOMO_TEST_LONG=1.

The other tests of the package run where there is no systemd, and those of the units only verify their files.
"""

import os
import shutil
from pathlib import Path

import pytest

from tests.acceptance.test_debian_package import build
from tests.fakes.clean_root import release
from tests.fakes.real_shop import wait_until
from tests.fakes.systemd_root import SystemdRoot, systemd_root, why_no_systemd

LONG = os.environ.get("MOMO_TEST_LONG") == "1"
SOON_S = 120
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3000),
    pytest.mark.skipif(not LONG, reason="boots a systemd: MOMO_TEST_LONG=1"),
]


def test_the_service_starts_restarts_and_comes_back_under_systemd(tmp_path: Path) -> None:
    if reason := why_no_systemd():
        pytest.skip(reason)
    package = build(tmp_path, release())
    with systemd_root(tmp_path / "root", release()) as root:
        shutil.copy(package, root.folder / "root/momo.deb")
        root.run("apt-get install --yes ./momo.deb")
        assert root.run("systemctl is-enabled momo.service", code=1) == "disabled\n"
        (root.folder / "root/password").write_text("correct horse 42\n")
        root.run("momo setup --no-input --shop Ama --password-file password --http off --service system")
        # Type=notify: it is active only after it said so, and says what it does.
        assert root.run("systemctl is-active momo.service") == "active\n"
        assert root.run("systemctl show -P StatusText momo.service") == "serving\n"
        timers = root.run("systemctl list-timers --no-legend 'momo-*'")
        assert timers.count("momo-") >= 4
        root.run("systemctl start momo-backup.service")
        assert "T" in root.run("momo backup list -o id")

        first = pid(root)
        root.run(f"kill -9 {first}")
        wait_until(lambda: is_new(root, first), SOON_S, "systemd starts it again")
        second = pid(root)
        root.run("apt-get install --yes --reinstall ./momo.deb")
        wait_until(lambda: is_new(root, second), SOON_S, "an upgrade restarts it")

        root.run("apt-get remove --yes momo")
        root.run("systemctl is-active momo.service", code=3)
        assert (root.folder / "var/lib/momo/default/momo.db").exists()
        # An enabled service and its timers are started again with the package.
        root.run("apt-get install --yes ./momo.deb")
        wait_until(lambda: is_new(root, "0"), SOON_S, "it is started again")
        root.run("systemctl is-active momo-backup.timer momo.service")


def pid(root: SystemdRoot) -> str:
    return root.run("systemctl show -P MainPID momo.service").strip()


def is_new(root: SystemdRoot, before: str) -> bool:
    """Say whether the daemon answers, and is another process than before."""
    active = root.tried("systemctl is-active momo.service && momo daemon status")
    return active and pid(root) not in ("0", before)
