"""Write the checksums of the schema's steps into `tests/corpus/schema_checksums.txt`: `make checksums`.

`tests/store/test_migrations.py` compares the steps with it. A step that a release has must keep its text: every shop's
database has its checksum, and is refused if it differs. `make checksums RELEASE=0.2.0` writes the version behind each step
that no earlier release has; from then on this script refuses another text for it.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from daemon.store.migrate import Migration, migrations
from tests.house.markdown import ROOT

FILE: Final = ROOT / "tests/corpus/schema_checksums.txt"


def line(step: Migration) -> str:
    """Return the line of a step, as sha256sum writes it."""
    return f"{step.sha256}  {step.version:04d}_{step.name}.sql"


def read(file: Path = FILE) -> dict[str, str]:
    """Return the release of each written line, or an empty string if no release has the step."""
    lines = [written.split() for written in file.read_text().splitlines()]
    return {"  ".join(words[:2]): "".join(words[2:]) for words in lines}


def write(steps: Sequence[Migration], release: str, file: Path = FILE) -> None:
    """Write the lines of all steps; those without a release get `release`, which may be empty.

    Raises:
        SystemExit: a step of a release has another text, or is gone.
    """
    written = read(file)
    now = [line(step) for step in steps]
    for old, version in written.items():
        if version and old not in now:
            raise SystemExit(
                f"{old.split()[1]} is part of {version} and must keep its text: shops have it.\n"
                f"next: git checkout the file, and write the change as step {len(steps) + 1:04d} (CONTRIBUTING.md)"
            )
    file.write_text("".join(f"{one}  {written.get(one) or release}".rstrip() + "\n" for one in now))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--release", default="", help="the version that now has all steps")
    write(migrations(), options.parse_args().release)
