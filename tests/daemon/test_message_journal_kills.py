"""The process is killed while it appends, rotates, erases, prunes and copies: no reported part is lost or torn."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from daemon.runtime.message_journal import MessageJournal, SecondFolder
from tests.core.messages.test_message_journal import KEY
from tests.fakes.real_shop import ROOT, pause
from tests.fakes.seed import seed
from tests.fakes.tiers import share

ERASED_EVERY = 7

WRITER = f"""
import sys
from pathlib import Path
from daemon.runtime.message_journal import MessageJournal, SecondFolder
from tests.core.messages.test_message_journal import KEY, part

MONTH_US = 32 * 86_400_000_000
journal = MessageJournal(Path(sys.argv[1]), KEY, SecondFolder(sys.argv[2]))
number = int(sys.argv[3])
while True:
    number += 1
    journal.append([part(number)], number // 50 * MONTH_US)
    if number % {ERASED_EVERY} == 0:
        journal.erase({{part(number).key}})
    print(number, flush=True)
    if number % 3 == 0:
        journal.copy_to_second()
    if number % 100 == 0:
        journal.fetch_back()
"""


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("number", range(share(20, least=2)))
def test_what_was_reported_is_there_after_a_kill(tmp_path: Path, number: int) -> None:
    rng = random.Random(seed() + number)
    home, stick = tmp_path / "home", tmp_path / "stick"
    home.mkdir()
    stick.mkdir()
    reported = 0
    for _ in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(home), str(stick), str(reported)],
            cwd=ROOT, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline(), "it has begun"
        pause(rng.uniform(0, 0.3))
        process.kill()
        said = process.stdout.read().split()
        process.wait()
        process.stdout.close()
        reported = int(said[-1]) if said else reported + 1
        journal = MessageJournal(home, KEY, SecondFolder(str(stick)))
        there = {one.received_at for one in journal.backward()}
        wanted = {one for one in range(1, reported + 1) if one % ERASED_EVERY}
        assert wanted - there == set()
        assert there - wanted <= {reported + 1}, "the part that was under way"
        assert journal.unreadable() <= 1, "the torn line"
        journal.copy_to_second()
        assert journal.second.why == ""
