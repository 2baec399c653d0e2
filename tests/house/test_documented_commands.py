"""The program accepts every call of `momo` in the documents: its command and its flags."""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from momo_cli.flags import SWITCHES, VALUED
from momo_cli.frame.command_table import COMMANDS, GROUPS, find_name, meanings, verb_alone, words_after
from momo_cli.frame.reference import TOPICS, page
from tests.fakes.each import each
from tests.house.markdown import DOCUMENTS, ROOT, blocks

CALL = re.compile(r"(?<![\w/.`-])momo ([a-z](?:[^\n`;&()<>#\\]|\\\n)*)")
CODE = re.compile(r"`(momo [^`\n]+)`")
EVERYWHERE = {"--help", *SWITCHES, *VALUED}


@cache
def flags(name: str) -> set[str]:
    shown = " ".join(option for option, _help in page(name).options)
    return {*re.findall(r"--[a-z-]+", shown), *EVERYWHERE}


def calls(text: str) -> Iterator[list[str]]:
    """Yield the words after each `momo`, in blocks of commands and in inline code."""
    shells = ("", "sh", "console", "crontab", "text")
    commands = [block.text for block in blocks(text) if block.kind in shells]
    # A sentence in an answer may begin with the program's name; a command begins a line or follows a sign.
    lines = [line for text in commands for line in text.replace("\\\n", " ").splitlines()]
    shown = [line for line in lines if re.match(r"(?:.*[$(|*&] ?|\s*)momo ", line)]
    for piece in [*shown, *CODE.findall(text)]:
        for call in CALL.findall(piece):
            yield call.partition(" | ")[0].split()


def meant(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the command or group of a call and the word after it; several if words are separated by `|`."""
    for spelled in product(*(word.split("|") for word in words[:3])):
        name = find_name(spelled) or spelled[0]
        yield name, (*spelled, "")[len(name.split())]


def wrong(words: list[str]) -> list[str]:
    """Return the parts of a call that the program rejects."""
    found, known = [], set[str]()
    for name, verb in meant(words):
        if name in COMMANDS:
            known |= flags(name)
        elif name not in GROUPS:
            found.append(name)
        elif re.fullmatch("[a-z][a-z-]*", verb) and not {*meanings(verb)} & {*words_after(name)}:
            found.append(f"{name} {verb}")
        elif alone := verb_alone(name):
            known |= flags(f"{name} {alone}")
    for word in words if known else ():
        flag = re.match(r"\[?(--[a-z-]+)", word)
        if flag and flag[1] not in known:
            found.append(f"{' '.join(words[:2])}: {flag[1]}")
    return found


@each("path", DOCUMENTS)
def test_calls_in_a_document_are_taken_by_the_program(path: Path) -> None:
    assert [each for words in calls(path.read_text()) for each in wrong(words)] == []


@pytest.mark.parametrize("topic", TOPICS)
def test_calls_in_a_topic_of_the_help_are_taken_by_the_program(topic: str) -> None:
    found = [call.partition(" | ")[0].split() for call in CALL.findall(TOPICS[topic].text())]
    assert [each for words in found for each in wrong(words)] == []


def test_calls_that_the_program_would_not_take_are_found() -> None:
    text = "`momo endpoints show|mend ID`\n```sh\n$ x=$(momo init 5 --phone 0 --fax 1)\nmomo flies\n```\nmomo is good\n"
    assert [each for words in calls(text) for each in wrong(words)] == ["init 5: --fax", "flies", "endpoints mend"]


NAMED = re.compile(
    r"""(?:[`"'({>$;|]|&&|: |sudo |\b(?:or|and|type|then) |^) ?momo """
    r"([a-z][a-z-]*+)(?!\w)((?:(?: +|\n +)[a-z][a-z-]*){0,2})",
    re.MULTILINE,
)
"""The program's name and a word in a place where a command may stand."""
PROSE = {
    "adds", "and", "as", "asks", "believes", "can", "cannot", "collects", "compares", "continues", "converts", "demo-hub",
    "does", "encoded", "finds", "goes", "has", "is", "itself", "keeps", "knows", "learns", "lui-m", "made", "makes", "marks",
    "may", "message", "must", "n", "names", "ne", "needs", "never", "on", "opens", "ouvre", "paused", "payments", "puts", "reads",
    "recognises", "refuses", "reports", "runs", "s", "says", "sends", "serves", "sets", "shows", "signs", "speaks", "starts",
    "stays", "takes", "tells", "tries", "uses", "waits", "was", "will", "writes",
}  # fmt: skip
"""Words that follow the name of the program in a sentence. No command may have such a name."""


def unknown(text: str) -> Iterator[str]:
    """Yield what a text calls a command, in prose, code or a unit file, and what is none."""
    for found in NAMED.finditer(text):
        words = [found[1], *found[2].split()]
        name = find_name(words)
        verb = (*words, "")[len(name.split())]
        if not name and words[0] not in PROSE:
            yield words[0]
        elif name in GROUPS and verb and not {*meanings(verb)} & {*words_after(name)}:
            yield f"{name} {verb}"


def test_every_command_that_any_text_names_exists() -> None:
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    wrong = {}
    for name in names:
        path = ROOT / name
        if not name or name.startswith("tests/") or not path.is_file():
            continue  # tests name commands that are none on purpose; what they run is run
        try:
            found = [*unknown(path.read_text())]
        except UnicodeDecodeError:
            continue
        if found:
            wrong[name] = found
    assert wrong == {}
    assert not PROSE & {name.split()[0] for name in COMMANDS}


def test_a_command_that_is_none_is_found_in_any_text() -> None:
    text = "next: momo widgets list\nmomo tx mend; `momo lines frob X` and sudo momo fly\nmomo reads, momo tx list"
    assert [*unknown(text)] == ["widgets", "tx mend", "lines frob", "fly"]
