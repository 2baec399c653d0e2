"""Write the checksums of the schema's steps into `tests/corpus/schema_checksums.txt`: `make checksums`.

`tests/store/test_migrations.py` compares the steps with it. A step that a release has must keep its text: every shop's
database has its checksum, and is refused if it differs.
"""

from typing import Final

from daemon.store.migrate import Migration, migrations
from tests.house.markdown import ROOT

FILE: Final = ROOT / "tests/corpus/schema_checksums.txt"


def line(step: Migration) -> str:
    """Return the line of a step, as sha256sum writes it."""
    return f"{step.sha256}  {step.version:04d}_{step.name}.sql"


if __name__ == "__main__":
    FILE.write_text("".join(f"{line(step)}\n" for step in migrations()))
