"""The guides' blocks of commands, run unchanged in a clean clone, up to the first simulated payment.

Only downloads are replaced: the clone's `.venv` sees the packages of this one. Its `momo` is the clone's own. A block
that needs hardware or money is marked (`tests/house/test_guides.py` finds one that is not).
"""

import os
import subprocess
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon import wire
from tests.house.markdown import GUIDES, ROOT, blocks

GUIDE_S = 240

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean clone of the committed files, with a `.venv` as `make` makes it."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    folder = tmp_path_factory.mktemp("clean") / "momo"
    done = subprocess.run(
        ["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", str(folder)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = folder / ".venv"
    venv.create(made, symlinks=True, with_pip=False)
    here, there = (sysconfig.get_path("purelib", vars=base) for base in ({}, _base(made)))
    Path(there, "clone.pth").write_text(f"{folder}\n{here}\n")
    momo = made / "bin/momo"
    momo.write_text(f"#!{made}/bin/python\nimport sys\nfrom momo_cli.__main__ import main\nsys.exit(main())\n")
    momo.chmod(0o755)
    (made / ".runtime").touch()
    return folder


def _base(made: Path) -> dict[str, str]:
    return {"base": str(made), "platbase": str(made)}


@pytest.fixture
def home(clone: Path, tmp_path: Path) -> Iterator[Path]:
    """A home folder; a daemon that a guide left running in it is stopped."""
    yield tmp_path
    put_away(clone, tmp_path)


def put_away(clone: Path, home: Path) -> None:
    """Stop the daemons of a home folder, by the command itself."""
    for shop in home.glob("momo-*/run"):
        stop = [str(clone / ".venv/bin/momo"), "daemon", "stop"]
        environ = {"HOME": str(home), "MOMO_HOME": str(shop.parent)}
        subprocess.run(stop, env=environ, check=False, timeout=60)


def run(guide: str, clone: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Run a guide's blocks in one shell; the first command that fails ends it."""
    wanted = [block for block in blocks(guide) if block.kind == "sh"]
    script = "set -eu -o pipefail\n"
    for block in wanted:
        script += f"printf '\\n--- line {block.line}\\n'\n{block.text}"
    return subprocess.run(
        ["bash", "-c", script], cwd=clone, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=GUIDE_S, check=False,
        env={"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.name)
def test_commands_of_a_guide_work_as_they_stand_in_a_clean_clone(guide: Path, clone: Path, home: Path) -> None:
    text = (clone / guide.relative_to(ROOT)).read_text()
    done = run(text, clone, home)
    assert done.returncode == 0, done.stdout + done.stderr
    begun = [line for line in done.stdout.splitlines() if line.startswith("--- line ")]
    assert len(begun) == sum(block.kind == "sh" for block in blocks(text)), "every block was run"
    assert "Paid, recorded, and sent to the shop's software." in done.stdout
    assert "Traceback" not in done.stderr
    if guide.name == "getting-started.md":
        for answer in ("SUCCESS", "PARTIAL", "PENDING", "near_miss", "unknown_sender"):
            assert answer in done.stdout, answer
        assert '"status":"SUCCESS"' in done.stdout.replace(" ", ""), "the API's order is paid"
        assert list(home.glob("momo-*")) == [], "it was put away"


BREAKS_OFF = """\
```sh
. .venv/bin/activate
export MOMO_HOME=~/momo-x
echo "a long pass phrase" > ~/password
momo setup --no-input --shop X --password-file ~/password --http off
```
```sh
momo no-such-command
```
```sh
echo not reached
```
"""


@pytest.mark.slow
def test_a_guide_with_a_wrong_command_fails_and_leaves_no_daemon(clone: Path, home: Path) -> None:
    done = run(BREAKS_OFF, clone, home)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "not reached" not in done.stdout
    # The home folder's path may be too long for a socket, which is then elsewhere.
    places = wire.places({"MOMO_HOME": str(home / "momo-x")}, os.getuid(), "/tmp")
    socket = Path(places.socket)
    assert socket.exists(), "the daemon runs on"
    put_away(clone, home)
    assert not socket.exists()
