"""The steps of packaging/Containerfile, run one by one in a copy of this machine's root.

No container engine is needed: an overlay in a mount namespace keeps this machine unchanged, `chroot` runs each step. The base image is not
tried: this machine's Python and programs stand for it. With MOMO_TEST_LONG=1 the pinned libraries are installed from the
package index, as the file says; else those of the tests are used.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.fakes.installed import LIBRARIES
from tests.fakes.real_shop import ROOT, wait_until

pytestmark = pytest.mark.slow
FILE = ROOT / "packaging" / "Containerfile"
LONG = os.environ.get("MOMO_TEST_LONG") == "1"
PYTHON = Path(sys.executable).resolve()
PATH = f"{PYTHON.parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


def steps(text: str) -> list[tuple[str, str]]:
    """Return each instruction and its words."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert not [line for line in lines if line.endswith("\\")], "one line for each step"
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


@dataclass
class Container:
    """A root that begins as this machine's."""

    folder: Path
    environ: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})
    user: str = "root"
    place: str = "/"
    said: dict[str, str] = field(default_factory=dict)
    holder: "subprocess.Popen[str] | None" = None

    @property
    def root(self) -> Path:
        """The root as this process reaches it: its mounts exist in the namespace of the holder only."""
        assert self.holder is not None
        return Path(f"/proc/{self.holder.pid}/root{self.folder}/root")

    def mount(self) -> None:
        for name in ("root", "upper", "work"):
            (self.folder / name).mkdir(parents=True)
        options = f"lowerdir=/,upperdir={self.folder}/upper,workdir={self.folder}/work"
        mounts = (
            f"mount -t overlay overlay -o {options} {self.folder}/root && "
            f"mount --bind /dev {self.folder}/root/dev && mount --bind /proc {self.folder}/root/proc && "
            "echo mounted && read -r _"
        )
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", mounts],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self.holder.stdout is not None
        if self.holder.stdout.readline() != "mounted\n":
            pytest.skip("no overlay can be mounted here")
        # The tests' Python and libraries may be in root's own folder, which those of the image are not.
        for folder in (*PYTHON.parents, *Path(LIBRARIES).parents):
            if folder != Path("/"):
                self.inside(f"chmod a+rx {folder}")

    def end(self) -> None:
        """End the holder, and with it the namespace and its mounts."""
        if self.holder is not None:
            self.holder.communicate("")
            assert not (self.folder / "root" / "dev").exists()

    def words(self, command: list[str]) -> list[str]:
        assert self.holder is not None
        given = [f"{name}={value}" for name, value in self.environ.items()]
        moved = f'cd {self.place} && exec "$@"'
        return [
            "nsenter", f"--target={self.holder.pid}", "--mount",
            "chroot", f"--userspec={self.user}", f"{self.folder}/root", "/usr/bin/env", "-i", *given,
            "/bin/sh", "-c", moved, "sh", *command,
        ]  # fmt: skip

    def inside(self, command: str) -> str:
        done = subprocess.run(
            self.words(["/bin/sh", "-c", command]), capture_output=True, text=True, timeout=500, check=False
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def copies(self, words: list[str]) -> None:
        if words[0].startswith("--from="):
            return  # both stages share this root
        *sources, target = words
        for source in sources:
            path = self.root / target.lstrip("/")
            if target.endswith("/"):
                path /= source
            path.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, path, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, path)

    def runs(self, command: str) -> None:
        if "--require-hashes" in command and not LONG:
            (folder,) = (self.root / "usr/lib/momo/lib").glob("python*/site-packages")
            # Before the setuptools that venv of Python 3.11 brings.
            line = f"import sys; sys.path.insert(0, {LIBRARIES!r})\n"
            (folder / "libraries.pth").write_text(line)
            return
        self.inside(command)

    def build(self, text: str) -> None:
        for instruction, rest in steps(text):
            match instruction:
                case "RUN":
                    self.runs(rest)
                case "COPY":
                    self.copies(shlex.split(rest))
                case "ENV":
                    self.environ |= dict(pair.split("=", 1) for pair in shlex.split(rest))
                case "USER":
                    self.user = rest
                case "WORKDIR":
                    (self.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
                    self.place = rest
                case "FROM":
                    self.user, self.place = "root", "/"
                case "VOLUME" | "STOPSIGNAL" | "HEALTHCHECK" | "ENTRYPOINT" | "CMD":
                    self.said[instruction] = rest
                case _:
                    pytest.fail(f"the test does not know {instruction}")


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount and chroot")
    made = Container(tmp_path / "container")
    try:
        made.mount()
        yield made
    finally:
        made.end()


def test_the_steps_make_a_shop_that_runs_without_root_and_is_healthy(container: Container) -> None:
    container.build(FILE.read_text())
    assert container.user == "momo"
    assert container.said["VOLUME"] == container.environ["MOMO_HOME"] == "/shop"
    entry = json.loads(container.said["ENTRYPOINT"])
    health = json.loads(re.sub(r"^.*?CMD ", "", container.said["HEALTHCHECK"]))

    def healthy() -> bool:
        return subprocess.run(container.words(health), capture_output=True, check=False).returncode == 0

    # `podman run -it --rm ... momo setup`; the end of that container ends its daemon.
    container.inside("printf 'correct horse 42\\n' > /shop/password")
    container.inside(
        shlex.join([*entry, "setup", "--no-input", "--shop", "Ama", "--password-file", "/shop/password"])
        + f" && {shlex.join(entry)} daemon stop"
    )
    assert not healthy()

    process = subprocess.Popen(
        container.words([*entry, *json.loads(container.said["CMD"]), "--http", "off", "--no-modem"])
    )
    try:
        wait_until(healthy, 60, "the health check")
        assert Path(f"/proc/{process.pid}").stat().st_uid != 0
        assert (container.root / "shop/momo.db").stat().st_uid == Path(f"/proc/{process.pid}").stat().st_uid
    finally:
        process.terminate()  # STOPSIGNAL
        assert process.wait(60) == 0
    assert not healthy()


def test_every_library_is_pinned_by_hash_and_momo_itself_is_not_downloaded() -> None:
    installs = [rest for word, rest in steps(FILE.read_text()) if word == "RUN" and " pip install " in rest]
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert "-r requirements/extras.txt" in installs[0]
    assert "--no-index" in installs[1]
    assert "--no-build-isolation" in installs[1]
