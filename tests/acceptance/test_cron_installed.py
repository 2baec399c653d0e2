"""Every cron recipe of the documents with an installed momo, a running shop and only cron's own environment."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fakes.crontab import command_of, recipes, run_as_cron, watching
from tests.fakes.installed import build, make_venv
from tests.fakes.real_shop import ROOT, pause

pytestmark = pytest.mark.slow


@dataclass
class Place:
    """One installation with its shop and a running daemon.

    Attributes:
        home: The home folder of its user.
        table: The variables that the crontab sets for any installation: the shop in one folder.
        packaged: A folder that stands for /usr/bin with the momo of a package.
        endpoint: The id of an endpoint.
    """

    home: Path
    table: dict[str, str]
    packaged: Path
    endpoint: str

    def cron(self, command: str, path: str) -> subprocess.CompletedProcess[str]:
        return run_as_cron(command, self.home, {**self.table, "PATH": path})


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    base = tmp_path_factory.mktemp("cron")
    _, wheel = build(base / "build")
    home = base / "home"
    # As pipx and uv tool do it: a venv, and a link in ~/.local/bin.
    program = make_venv(home / ".local/share/momo-shop", wheel) / "momo"
    for folder in (home / ".local/bin", base / "usr/bin"):
        folder.mkdir(parents=True)
        (folder / "momo").symlink_to(program)
    made = Place(home, {"MOMO_HOME": str(home / "shop")}, base / "usr/bin", "")
    path = f"{made.packaged}:/usr/bin:/bin"

    def types(line: str) -> str:
        done = made.cron(line, path)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout.strip()

    (home / "password").write_text("correct horse 42\n")
    types("momo setup --no-input --shop Ama --password-file password --http off")
    spool = base / "spool"
    spool.mkdir(mode=0o700)
    try:
        made.endpoint = types(f"momo endpoints add spool:{spool} --get data.id")
        yield made
    finally:
        types("momo daemon stop")


@pytest.mark.parametrize("installed", ["package", "pipx"])
def test_every_recipe_does_its_work(place: Place, installed: str) -> None:
    path = f"{place.packaged}:/usr/bin:/bin"
    if installed == "pipx":
        # Without its line at the head of the crontab cron does not find momo, as docs/operators/cron.md says.
        assert place.cron("momo --version", "/usr/bin:/bin").returncode == 127
        line = documented_path_line(place)
        path = line.removeprefix("PATH=")
        assert path == f"{place.home}/.local/bin:/usr/bin:/bin"
    for recipe in recipes():
        if "backup" in recipe:
            pause(1.1)  # a backup is named after its second; cron starts no two of them in one
        command = command_of(recipe).replace("ENDPOINT", place.endpoint)
        with watching() as monitor:
            done = place.cron(command.replace("https://hc.example/UUID", monitor.url), path)
        assert done.stdout == "", recipe
        # A shop without a modem is unhealthy, and says so in one error and one next line.
        unhealthy = "--fail-if-unhealthy" in recipe
        assert done.returncode == (6 if unhealthy else 0), (recipe, done.stderr)
        assert [line[:6] for line in done.stderr.splitlines()] == ["error:", "next: "] * unhealthy
        assert len(monitor.asked) == (2 if "--ping" in recipe else 0)


def documented_path_line(place: Place) -> str:
    """Run the command that docs/operators/cron.md gives, in a shell that finds momo as its user's does."""
    text = (ROOT / "docs" / "operators" / "cron.md").read_text()
    command = text.partition("what `")[2].partition("` prints")[0]
    assert command.startswith("echo ")
    done = subprocess.run(
        ["/bin/sh", "-c", command], env={"PATH": f"{place.home}/.local/bin:/usr/bin:/bin"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()
