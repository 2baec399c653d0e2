"""The program accepts every call of `momo` in the documents: its command and its flags."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from momo_cli.flags import SWITCHES, VALUED
from momo_cli.frame.command_table import COMMANDS
from momo_cli.frame.reference import page
from momo_cli.frame.topics import TOPICS
from tests.fakes.each import each
from tests.house.markdown import DOCUMENTS, blocks

CALL = re.compile(r"(?<![\w/.`-])momo ([a-z](?:[^\n`;&()<>#\\]|\\\n)*)")
CODE = re.compile(r"`(momo [^`\n]+)`")
SHORT = {"ls": "list", "dl": "dead-letters"}
GROUPS = {name.split()[0] for name in COMMANDS if " " in name}
EVERYWHERE = {"--help", *SWITCHES, *VALUED}
UNNAMED = {"rm", "reload"}
"""Aliases."""


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


def meant(words: list[str]) -> list[str]:
    """Return the commands of a call; several if words are separated by `|`."""
    count = 2 if words[0].split("|")[0] in GROUPS | set(SHORT) else 1
    spelled = [[SHORT.get(each, each) for each in word.split("|")] for word in words[:count]]
    return [" ".join(each) for each in product(*spelled)]


def wrong(words: list[str]) -> list[str]:
    """Return the parts of a call that the program rejects."""
    found, known = [], set[str]()
    for name in meant(words):
        group, _, verb = name.partition(" ")
        if name in COMMANDS:
            known |= flags(name)
        elif not (group in GROUPS and (verb in UNNAMED or not re.fullmatch(r"[a-z-]+", verb))):
            found.append(name)
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
    assert [each for words in calls(text) for each in wrong(words)] == [
        "init 5: --fax",
        "flies",
        "endpoints mend",
    ]
