"""`make release`: the files of a release, made twice from one commit."""

import hashlib
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.clean_root import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a release is made of a commit"),
    pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="dpkg-deb is not installed"),
]
LONG = os.environ.get("MOMO_TEST_LONG") == "1"


def release(clone: Path, out: Path, umask: int, zone: str, seed: str) -> subprocess.CompletedProcess[str]:
    """Make a release of a clone on a machine with these settings: of one Debian package, with MOMO_TEST_LONG=1 of all four."""
    # The tests have a home of their own; pip's settings are in the real one.
    environ = {**os.environ, "HOME": pwd.getpwuid(os.getuid()).pw_dir}
    environ |= {"TZ": zone, "PYTHONHASHSEED": seed}
    words = [sys.executable, "packaging/release.py", "--out", str(out)]
    return subprocess.run(
        words if LONG else [*words, "--fast"],
        cwd=clone, env=environ, umask=umask, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone") / "momo"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    return folder


def test_two_builds_of_one_commit_are_the_same_to_the_byte(clone: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "a/longer/path/momo"
    elsewhere.parent.mkdir(parents=True)
    shutil.copytree(clone, elsewhere, symlinks=True)
    first, second = tmp_path / "first", tmp_path / "second"
    for done in (release(clone, first, 0o022, "UTC", "1"), release(elsewhere, second, 0o077, "Asia/Tokyo", "2")):
        assert done.returncode == 0, done.stderr
    files = {path.name: path.read_bytes() for path in first.iterdir()}
    assert {path.name: path.read_bytes() for path in second.iterdir()} == files

    ends = ("SHA256SUMS", ".notes", ".cdx.json", ".deb", "-py3-none-any.whl", ".tar.gz")
    assert {end for end in ends for name in files if name.endswith(end)} == set(ends)
    assert len(files) == (len(ends) + 3 if LONG else len(ends))
    sums = "".join(
        f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()) if name != "SHA256SUMS"
    )
    assert files["SHA256SUMS"].decode() == sums

    (name,) = (name for name in files if name.endswith(".cdx.json"))
    bill = json.loads(files[name])
    listed = {(each["name"], each["version"]) for each in bill["components"]}
    pinned = set(re.findall(r"^([\w.-]+)==(\S+)", (clone / "requirements/extras.txt").read_text(), re.MULTILINE))
    assert pinned - listed == {pin for pin in pinned if pin[0] in {"packaging", "pip", "setuptools"}}
    assert listed <= pinned
    assert all(each["hashes"] for each in bill["components"])


def test_a_release_is_made_of_a_commit_into_an_empty_folder(clone: Path, tmp_path: Path) -> None:
    (tmp_path / "old.whl").touch()
    done = release(clone, tmp_path, 0o022, "UTC", "1")
    assert done.returncode != 0
    assert "is not empty" in done.stderr

    with (clone / "README.md").open("a") as file:
        file.write("a change\n")
    done = release(clone, tmp_path / "new", 0o022, "UTC", "1")
    assert done.returncode != 0
    assert "without a commit" in done.stderr
    assert not (tmp_path / "new").exists()
