"""Commands and folders of this machine as webhook targets, with real processes and real files."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from daemon.core.webhooks.delivery import AttemptOutcome, AttemptResult, DeliveryError, classify
from daemon.sender import local_targets
from daemon.sender.live_receivers import LiveReceivers
from daemon.sender.local_targets import (
    LocalKind,
    LocalTarget,
    LocalTargetError,
    Targets,
    check_local_target,
    parse_local_target,
)
from tests.fakes.each import each
from tests.fakes.sender import FakeSender, answered

HEADERS = {"webhook-id": "ocl_" + "a" * 24, "X-Svc-Delivery": "d-1", "X-Svc-Event": "e"}
BODY = '{"webhook_id":"ocl_a","payer":"Kofi Ɔsei"}'.encode()
Script = Callable[[str], str]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    # The user's umask may let the group write.
    tmp_path.chmod(0o700)
    return tmp_path


@pytest.fixture
def script(home: Path) -> Script:
    """Return a function that writes a shell script and returns its address."""

    def write(text: str) -> str:
        path = home / "command"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o700)
        return f"exec:{path}"

    return write


async def post(url: str, home: Path, *, timeout_s: float = 10.0, body: bytes = BODY) -> AttemptOutcome:
    targets = Targets(FakeSender(lambda _url: answered(204), []), LiveReceivers(), home=str(home), timeout_s=timeout_s)
    return await targets.post(url, HEADERS, body)


async def test_a_command_gets_the_body_the_headers_and_nothing_of_ours(
    home: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOMO_SECRET", "ours")
    outcome = await post(script("cat > body; env > env; pwd > pwd; echo taken"), home)
    assert (outcome.status_code, outcome.response_body, outcome.error_code) == (200, "taken\n", None)
    assert (home / "body").read_bytes() == BODY
    assert (home / "pwd").read_text().strip() == str(home)
    given = dict(line.split("=", 1) for line in (home / "env").read_text().splitlines())
    assert given["HTTP_WEBHOOK_ID"] == HEADERS["webhook-id"]
    assert given["HTTP_X_SVC_DELIVERY"] == "d-1"
    assert given["CONTENT_LENGTH"] == str(len(BODY))
    shells_own = {"PWD", "SHLVL", "_", "OLDPWD"}
    assert set(given) - shells_own == {
        "PATH", "LANG", "CONTENT_LENGTH",
        "HTTP_WEBHOOK_ID", "HTTP_X_SVC_DELIVERY", "HTTP_X_SVC_EVENT",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("ends", "result", "said"),
    [
        ("exit 0", AttemptResult.DELIVERED, None),
        ("exit 1", AttemptResult.SERVER_ERROR, "the command ended with exit code 1"),
        ("exit 64", AttemptResult.SERVER_ERROR, "the command ended with exit code 64"),
        ("exit 65", AttemptResult.REFUSED, "the command ended with exit code 65"),
        ("exit 75", AttemptResult.SERVER_ERROR, "the command ended with exit code 75"),
        ("exit 127", AttemptResult.SERVER_ERROR, "the command ended with exit code 127"),
        ("kill -9 $$", AttemptResult.SERVER_ERROR, "the command ended by signal 9"),
    ],
)
async def test_only_exit_65_is_final_and_only_0_is_delivered(
    home: Path, script: Script, ends: str, result: AttemptResult, said: str | None
) -> None:
    outcome = await post(script(ends), home)
    assert classify(outcome) is result
    assert outcome.error_message == said
    assert outcome.connected, "it is never our link's fault"


async def test_a_command_need_not_read_its_input(home: Path, script: Script) -> None:
    outcome = await post(script("exit 0"), home, body=b"x" * 1_000_000)
    assert outcome.status_code == 200


async def test_eight_kib_of_what_it_says_are_kept_and_the_rest_blocks_nobody(home: Path, script: Script) -> None:
    outcome = await post(script("yes | head -c 1000000; echo oops >&2"), home)
    assert outcome.status_code == 200
    assert len(outcome.response_body) == 8 * 1024


async def test_its_time_ends_it_and_all_that_it_started(home: Path, script: Script) -> None:
    url = script("echo begun; sleep 60 & echo $! > child; sleep 60")
    for timeout_s in (0.5, 2.0, 8.0):
        async with asyncio.timeout(timeout_s + 5):
            outcome = await post(url, home, timeout_s=timeout_s)
        if (home / "child").exists() and (home / "child").read_text():
            break  # else a busy machine had not even started it
    assert outcome.error_code is DeliveryError.TIMEOUT
    assert classify(outcome) is AttemptResult.TIMEOUT
    assert outcome.response_body == "begun\n"
    await gone(int((home / "child").read_text()))


async def test_what_it_leaves_behind_ends_with_it(home: Path, script: Script) -> None:
    outcome = await post(script("sleep 60 & echo $! > child"), home)
    assert outcome.status_code == 200
    await gone(int((home / "child").read_text()))


async def test_our_own_stop_ends_it(home: Path, script: Script) -> None:
    attempt = asyncio.create_task(post(script("echo $$ > child; exec sleep 60"), home))
    for _ in range(500):
        if (home / "child").exists() and (home / "child").read_text():
            break
        await asyncio.sleep(0.01)
    attempt.cancel()
    await asyncio.gather(attempt, return_exceptions=True)
    await gone(int((home / "child").read_text()))


async def gone(pid: int) -> None:
    """Wait until a process runs no more (a zombie does not)."""
    for _ in range(500):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{pid} still runs")


async def test_a_broken_command_is_tried_again(home: Path) -> None:
    path = home / "command"
    path.write_text("#!/no/such/interpreter\n")
    path.chmod(0o700)
    outcome = await post(f"exec:{path}", home)
    assert classify(outcome) is AttemptResult.SERVER_ERROR
    assert outcome.error_message == "the command cannot be run: No such file or directory"


async def test_trust_is_judged_at_every_attempt(home: Path, script: Script) -> None:
    url = script("touch ran")
    (home / "command").chmod(0o722)
    outcome = await post(url, home)
    assert outcome.error_code is DeliveryError.BLOCKED_ADDRESS
    assert outcome.error_message == f"others may write to {home}/command: chmod go-w {home}/command"
    assert not (home / "ran").exists()


def test_what_others_could_have_put_there_is_refused(home: Path, script: Script) -> None:
    script("")
    folder = home / "bin"
    folder.mkdir(mode=0o700)
    command = folder / "run"
    command.write_text("")
    place = LocalTarget(LocalKind.EXEC, str(command))
    assert check_local_target(place) == f"not executable: chmod u+x {command}"
    command.chmod(0o700)
    assert check_local_target(place) == ""
    folder.chmod(0o777)
    assert check_local_target(place) == f"others may write to {folder}: chmod go-w {folder}"
    folder.chmod(0o1777)
    assert check_local_target(place) == "", "only its owner can replace what is in a sticky folder"
    inside = home / "inside"
    inside.mkdir(mode=0o700)
    (inside / "open").mkdir()
    (inside / "open").chmod(0o777)
    (inside / "open" / "run").write_text("")
    (inside / "open" / "run").chmod(0o700)
    (home / "link").symlink_to(inside / "open" / "run")
    assert "others may write to" in check_local_target(LocalTarget(LocalKind.EXEC, str(home / "link")))
    assert check_local_target(LocalTarget(LocalKind.EXEC, str(folder))) == f"{folder} is not a file"
    assert check_local_target(LocalTarget(LocalKind.EXEC, str(home / "no"))) == f"{home}/no: No such file or directory"
    assert check_local_target(LocalTarget(LocalKind.SPOOL, str(command))) == f"{command} is not a folder"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_another_users_file_is_refused(home: Path, script: Script) -> None:
    script("")
    os.chown(home / "command", 12345, -1)
    why = check_local_target(LocalTarget(LocalKind.EXEC, str(home / "command")))
    assert why == f"{home}/command belongs to another user (uid 12345)"


@each(
    "url",
    [
        "exec:", "exec:bin/run", "exec://host/run", "exec:/bin/../run", "exec:/bin//run", "spool:/x/",
        "spool:x", "exec:/a\nb", "exec:/" + "x" * 1024,
    ],
)  # fmt: skip
def test_one_target_has_one_spelling(url: str) -> None:
    with pytest.raises(LocalTargetError):
        parse_local_target(url)


def test_other_addresses_are_none_of_these() -> None:
    assert parse_local_target("https://shop.example/exec:/x") is None
    assert parse_local_target("execute:/x") is None
    assert parse_local_target("spool:/var/spool/momo") == LocalTarget(LocalKind.SPOOL, "/var/spool/momo")


async def test_https_goes_to_the_workers_sender(home: Path) -> None:
    assert (await post("https://shop.example/hook", home)).status_code == 204


async def test_an_event_is_one_whole_file(home: Path) -> None:
    spool = home / "spool"
    spool.mkdir(mode=0o700)
    outcome = await post(f"spool:{spool}", home)
    name = f"{HEADERS['webhook-id']}.json"
    assert (outcome.status_code, outcome.response_body) == (201, name)
    assert [path.name for path in spool.iterdir()] == [name], "and no hidden one is left"
    assert (spool / name).read_bytes() == BODY
    assert json.loads((spool / name).read_text())["payer"] == "Kofi Ɔsei"
    assert not (spool / name).stat().st_mode & 0o007


async def test_what_is_there_was_delivered(home: Path) -> None:
    spool = home / "spool"
    spool.mkdir(mode=0o700)
    file = spool / f"{HEADERS['webhook-id']}.json"
    await post(f"spool:{spool}", home)
    before = file.stat()
    outcome = await post(f"spool:{spool}", home)
    assert (outcome.status_code, outcome.response_body) == (200, f"{file.name} was there already")
    assert file.stat() == before
    file.unlink()  # as the program that reads the folder does
    assert (await post(f"spool:{spool}", home)).status_code == 201


async def test_a_folder_that_went_away_is_waited_for(home: Path) -> None:
    spool = home / "spool"
    outcome = await post(f"spool:{spool}", home)
    assert classify(outcome) is AttemptResult.BLOCKED_ADDRESS
    assert outcome.error_message == f"{spool}: No such file or directory"


def test_a_crash_leaves_no_half_file_and_is_made_good(home: Path) -> None:
    (home / ".ocl_x.d-1.part").write_bytes(b"half")
    assert local_targets.put(str(home), "ocl_x", "d-1", b"whole")
    assert [path.name for path in home.iterdir()] == ["ocl_x.json"]
    assert (home / "ocl_x.json").read_bytes() == b"whole"


def test_a_planted_link_is_not_followed(home: Path) -> None:
    (home / ".ocl_x.d-1.part").symlink_to(home / "victim")
    with pytest.raises(OSError, match="symbolic"):
        local_targets.put(str(home), "ocl_x", "d-1", b"whole")
    assert not (home / "victim").exists()


def test_a_file_that_cannot_be_finished_is_not_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="space"):
        local_targets.put(str(home), "ocl_x", "d-1", b"whole")
    assert not list(home.iterdir())


def test_the_kinds_are_the_schemes() -> None:
    assert {str(kind) for kind in LocalKind} == {"exec", "spool"}
    assert local_targets.PATH_CHARACTERS_MAX < 2048
