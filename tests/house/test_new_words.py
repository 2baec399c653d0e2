"""A new reason of a review is two rows and its words, and a new language is one folder: everything else follows.

Both are added to a copy of the program, and the copy is asked.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.markdown import ROOT

ADDED = {
    "daemon/wire.py": ('    NEAR_MISS = "near_miss"\n', '    TWO_SIMS = "two_sims"\n'),
    "daemon/core/payments/reviews.py": (
        "    ReviewReason.NEAR_MISS: ",
        "    ReviewReason.TWO_SIMS: Reason(needs_password=True),\n",
    ),
}
WORDS = {"short": "two SIMs", "why": "Two SIMs have it.", "todo": "Look at both."}
INSIDE = """
import json
from daemon.api.openapi.document import document
from daemon.api.routes import OPERATIONS
from daemon.core.payments.reviews import REASONS, explain
from daemon.dash.web.words import Words
from daemon.pages.assets import Assets
from daemon.runtime import words
from daemon.runtime.config_file import parse_config

config = parse_config('[pages]\\nlanguages = ["tw"]\\n[notices]\\nlanguage = "tw"\\n')
said = explain("two_sims")
tw = Words("tw", words.zone_of(""))
print(json.dumps({
    "languages": words.LANGUAGES,
    "chosen": [*config.pages.languages, config.notices.language],
    "dashboard": [tw("language_of_tw"), tw.told(said.why), tw.number("ago_days", 2)],
    "checkout": Assets.load(["tw"], "", "").words["tw"]["pay_to"],
    "english": str(said.why),
    "asks": REASONS["two_sims"].needs_password,
    "documented": "two_sims" in json.dumps(document(OPERATIONS, "")),
}))
"""


@pytest.mark.slow
def test_a_new_reason_and_a_new_language_need_no_other_place(tmp_path: Path) -> None:
    for name in ("daemon", "parsers"):
        unneeded = shutil.ignore_patterns("__pycache__", "*.svg", "*.png")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=unneeded)
    for path, (before, more) in ADDED.items():
        text = (tmp_path / path).read_text()
        assert text.count(before) == 1
        (tmp_path / path).write_text(text.replace(before, more + before))
    folder = tmp_path / "daemon/words"
    reason = {f"review.two_sims.{part}": words for part, words in WORDS.items()}
    for language in ("en", "fr"):
        add(folder / language / "sentences.json", reason)
    shutil.copytree(folder / "fr", folder / "tw")
    add(folder / "tw/language.json", {"name": "Twi", "plural": "n > 2"})
    add(folder / "tw/dash/frame.json", {"language_of_tw": "Twi kasa"})
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", INSIDE]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "languages": ["en", "fr", "tw"],
        "chosen": ["tw", "tw"],
        "dashboard": ["Twi kasa", "Two SIMs have it.", "il y a 2 jour"],
        "checkout": "Payer à {shop}",
        "english": "Two SIMs have it.",
        "asks": True,
        "documented": True,
    }


def add(path: Path, more: dict[str, str]) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **more}))


def test_a_reason_stands_in_three_files_beside_its_words() -> None:
    found = [
        str(path.relative_to(ROOT))
        for folder in ("daemon", "momo_cli")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".html", ".sql"} and "telco_id_mismatch" in path.read_text().lower()
    ]
    assert found == ["daemon/core/payments/matching.py", "daemon/core/payments/reviews.py", "daemon/wire.py"]
