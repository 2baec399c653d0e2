"""The repository names no private machine, and every installed package is pinned."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from daemon.wire import VERSION

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ("requirements/runtime.txt", "requirements/dev.txt")
MACHINE = re.compile(
    r"(?<![\w.~$})])/(?:work|workspace|opt|mnt|srv|root|home|Users)/\w"
    r"|find[-]links|index[-]url|extra[-]index"
)
"""Paths that exist on one developer's machine only."""
NO_INDEX = re.compile("--no-emit-(?:find[-]links|index[-]url)")
"""Marks a line that may contain such a host."""
REGISTRY = re.compile(
    r"\b(?:pypi|pythonhosted|npmjs|yarnpkg|crates|rubygems|packagist|anaconda|(?:proxy|sum)[.]golang)"
    r"[.](?:org|com|io)\b",
    re.IGNORECASE,
)
"""Hosts of package registries; the choice of registry is up to the installer."""
DOCUMENT = re.compile(r"(?<![\w$.{])((?:[\w.-]+/)*[\w-]+\.md)\b|\bdocs/decisions/(\d{4})(?![\w-])")
"""The name of a document, and a decision by its number alone."""
CODE = {".py", ".sql", ".toml", ".json", ".js", ".css", ".html", ".sh", ".txt", ".service", ".timer"}
EXAMPLES = {"test_guides.py": {"docs/none.md", "x.md"}}
"""Documents that a test makes up."""
SECTION = re.compile(r"\.md,? (?:section|rule)s? \d|\bissue #?\d|\((?:\w+ )?rules? \d")
"""A place in a paper: our documents have headings, not numbers."""


def committed() -> list[Path]:
    """Return every text file that is committed, or would be with the next commit."""
    try:
        done = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
            text=True,
        )
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in done.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and path.suffix not in {".png", ".db"}]


def test_no_file_names_a_machine_or_an_index() -> None:
    found = []
    for path in committed():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            text = NO_INDEX.sub("", line)
            if MACHINE.search(text) or REGISTRY.search(text):
                found.append(f"{path.relative_to(ROOT)}:{number}")
    assert found == []


def test_every_document_that_the_code_names_is_in_the_repository() -> None:
    paths = committed()
    names = {path.name for path in paths}
    decisions = {path.name[:4] for path in paths if path.parent.name == "decisions"}
    found = []
    for path in paths:
        if path.suffix not in CODE or path == Path(__file__):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            unknown = [
                document or decision
                for document, decision in DOCUMENT.findall(line)
                if (Path(document).name not in names if document else decision not in decisions)
            ]
            if document_made_by_a_test := EXAMPLES.get(path.name):
                unknown = [name for name in unknown if name not in document_made_by_a_test]
            if unknown or SECTION.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert found == []


@pytest.mark.parametrize("text", ["rules.md section 4", "(rule 3)", "see issue 12", "as plan.md, rule 6 says"])
def test_a_place_in_a_paper_is_recognised(text: str) -> None:
    assert SECTION.search(text)


def test_the_hosts_of_registries_are_known() -> None:
    for host in (
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("static", "crates", "io"),
        ("proxy", "golang", "org"),
        ("conda", "anaconda", "org"),
    ):
        assert REGISTRY.search(f"see https://{'.'.join(host)}/project/x"), host
    assert not REGISTRY.search("pins of pypi packages are in requirements/; go to shop.example.org")


def pins(name: str) -> dict[str, set[str]]:
    """Return package -> its versions in one set of requirements; two where Pythons differ."""
    found: dict[str, set[str]] = {}
    text = (ROOT / name).read_text()
    for package, version in re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", text, re.MULTILINE):
        found.setdefault(package, set()).add(version)
    return found


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_pin_has_hashes_and_says_nothing_else(name: str) -> None:
    text = (ROOT / name).read_text()
    entries = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    assert len(entries) == sum(map(len, pins(name).values()))
    for entry in entries:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry.splitlines()[0]
    assert "://" not in text
    assert not re.search(r"^-", text, re.MULTILINE)


def test_both_sets_agree_on_every_version() -> None:
    runtime, dev = pins(REQUIREMENTS[0]), pins(REQUIREMENTS[1])
    assert {name: dev.get(name) for name in runtime} == runtime


def test_every_requirement_of_the_project_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = project["project"]["dependencies"]
    names = {re.split(r"[<>=;! ]", line)[0].lower() for line in wanted}
    assert names <= set(pins(REQUIREMENTS[0]))
    for_tests = project["dependency-groups"]["dev"]
    assert {re.split(r"[<>=;! ]", line)[0].lower() for line in for_tests} <= set(pins(REQUIREMENTS[1]))


def test_make_says_what_each_target_is_for() -> None:
    text = (ROOT / "Makefile").read_text()
    for target in ("demo", "check", "test", "test-slow", "bench", "constraints", "clean"):
        assert re.search(rf"^{target}:.*## \S", text, re.MULTILINE), target


def test_the_program_names_the_version_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["version"] == VERSION


@pytest.mark.parametrize(
    ("fails", "leaves", "says"),
    [
        pytest.param("import ensurepip", "", "apt install python3-venv", id="no venv module"),
        pytest.param("-m venv", "mkdir -p .venv/bin; touch .venv/bin/python;", "no space left", id="the disk is full"),
    ],
)
def test_a_virtual_environment_that_cannot_be_made_leaves_nothing_behind(
    tmp_path: Path, fails: str, leaves: str, says: str
) -> None:
    """Half an environment would be taken for a whole one after the reader has mended the cause."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *"{fails}"*) {leaves} echo no space left >&2; exit 1 ;; esac\n'
        f'exec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    (tmp_path / "requirements").mkdir()
    for name in ("requirements/runtime.txt", "pyproject.toml"):
        (tmp_path / name).touch()
    done = subprocess.run(
        ["make", "demo", f"PYTHON={python}"], check=False, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert says in done.stderr
    assert not (tmp_path / ".venv").exists()
