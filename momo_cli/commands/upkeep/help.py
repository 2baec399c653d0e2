"""The commands completion and help; help also shows the versions."""

import os
from collections.abc import Iterator
from typing import Any, Final

from daemon.wire import PROTOCOL, VERSION, Path
from momo_cli.errors import usage
from momo_cli.frame import reference
from momo_cli.frame.command import command
from momo_cli.frame.command_table import GROUPS, PANELS, search, words_after
from momo_cli.frame.completion import SCRIPT_PATHS, SCRIPTS
from momo_cli.inputs.parameters import argument, flag, option
from momo_cli.inputs.typed_values import check_choice, file_errors
from momo_cli.show.answer import Answer, document_of, made, view_of
from momo_cli.show.terminal import Terminal
from momo_cli.socket.client import Client
from momo_cli.text import at, clean

_ALL: Final = "all"
_VERSION: Final = "version"
"""The topic of `momo --version`."""


@command("completion", view=view_of("shell path script", id="path"))
def completion(
    terminal: Terminal,
    shell: str = argument("bash|zsh|fish", "Your shell."),
    install: bool = flag("Write it to the shell's folder."),
) -> Answer:
    """It is a script for your shell. With TAB it completes commands and flags, and asks the daemon for transactions,
    endpoints, phones and the like; without a running daemon it leaves these out.

    Examples:
        momo completion bash --install
        momo completion zsh > ~/.zfunc/_momo
        momo completion fish | source
    """
    check_choice(shell, "SHELL", SCRIPTS)
    script = SCRIPTS[shell]
    path = _install(terminal, shell, script) if install else None
    row = {"shell": shell, "path": path, "script": script}
    text = script.rstrip("\n") if path is None else f"Written to {path}. Open a new shell."
    notes = []
    if path is not None and shell == "zsh":
        folder = path.rpartition("/")[0]
        notes = [f"zsh reads it if ~/.zshrc has, before compinit: fpath+=({folder})"]
    return Answer(
        *made(row), lines=[text] if path else (), verbatim=() if path else text.splitlines(), plain=text, notes=notes
    )


def _install(terminal: Terminal, shell: str, script: str) -> str:
    environ = terminal.located.environ
    variable, usual, name = SCRIPT_PATHS[shell]
    base = environ.get(variable) or f"{environ.get('HOME', '')}/{usual}"
    path = f"{base}/{name}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120  # no pathlib needed
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 -- pathlib is not needed here
            file.write(script)
    except OSError as problem:
        why = f"{path} cannot be written: {problem.strerror}"
        raise usage(why, f"momo completion {shell}") from None
    return path


_TEXT_VIEW: Final = view_of("text", id="topic")
_VERSIONS_VIEW: Final = view_of("version protocol daemon schema sqlite", id="version")


@command("help", view=lambda *, topic, **_: _VERSIONS_VIEW if topic == _VERSION else _TEXT_VIEW)
def help_(
    client: Client,
    terminal: Terminal,
    topic: str | None = argument("[TOPIC]", "A topic, a command, or a word to look for.", default=None),
    man: str | None = option("--man", "FOLDER", "Write man pages into this folder."),
) -> Answer:
    """The topics are exit-codes, errors, environment, formatting, files and cron. --man writes a man page for each command
    into a folder, such as ~/.local/share/man/man1; `all` lists all commands. Any other word
    is looked for in the names and the first lines of the commands.

    Examples:
        momo help exit-codes
        momo help tx list
        momo help webhook
        momo help --man ~/.local/share/man/man1
    """
    if man is not None and topic in (None, _ALL, *reference.TOPICS):
        home = terminal.located.environ.get("HOME", "")
        place = home + man[1:] if man.startswith("~/") else man
        names = []
        with file_errors(f"--man: {place}"):
            os.makedirs(place, exist_ok=True)  # noqa: PTH103  # pathlib is not needed here
            for name, text in reference.man_pages():
                with open(f"{place}/{name}", "w", encoding="utf-8") as file:  # noqa: PTH123  # the same
                    file.write(text)
                names.append(name)
        return Answer(
            document_of({"folder": place, "pages": names}),
            [{"topic": "man", "text": name} for name in names],
            lines=[f"{len(names)} pages written to {place}."],
            next=["man momo"],
        )
    if topic == _VERSION:
        daemon = client.find(Path.LOCAL_STATUS) if client.alive() else None
        row = {
            "version": VERSION,
            "protocol": PROTOCOL,
            "daemon": at(daemon, "version"),
            "schema": at(daemon, "db.schema"),
            "sqlite": at(daemon, "db.sqlite"),
        }
        facts = [f"{name} {clean(row[name])}" for name in ("schema", "sqlite") if row[name] is not None]
        runs = f"daemon {clean(row['daemon'])}" if row["daemon"] else "daemon not running"
        line = f"momo {row['version']} ({', '.join([runs, *facts])})"
        return Answer(*made(row), lines=[line], plain=line)
    if topic == _ALL:
        # Return all commands, by panel.
        lines = []
        for panel in PANELS:
            lines.append(f"{panel}:")
            for word, (about, of) in words_after("").items():
                if of == panel:
                    verbs = ", ".join(_verbs(word))
                    lines.append(f"  {word:<13} {about}{': ' if verbs else ''}{verbs}")
            lines.append("")
        named = ", ".join(reference.TOPICS)
        lines.append(f"More: momo help COMMAND, or one of the topics: {named}")
        return _text(_ALL, "\n".join(lines), {})
    found = search(topic.lower()) if topic and topic not in reference.TOPICS else []
    if found and topic:
        room = max(len(name) for name, _ in found) + 2
        lines = [f"  {name:<{room}}{summary}" for name, summary in found]
        commands = [{"name": name, "summary": summary} for name, summary in found]
        text = "\n".join([f"Commands about {topic!r}:", *lines])
        return _text(topic, text, {"commands": commands})
    if topic is None or topic not in reference.TOPICS:
        known = ", ".join((*reference.TOPICS, _ALL))
        raise usage(f"there is no topic or command {topic!r}; topics are {known}", "momo --help")
    return _text(topic, reference.TOPICS[topic].text(), reference.TOPICS[topic].data())


def _verbs(group: str) -> Iterator[str]:
    """Yield the verbs of a group; those of a group in it in brackets."""
    for verb in words_after(group) if group in GROUPS else ():
        inner = f"{group} {verb}"
        yield f"{verb} ({', '.join(_verbs(inner))})" if inner in GROUPS else verb


def _text(name: str, text: str, data: dict[str, Any]) -> Answer:
    text = text.rstrip("\n")
    rows = [{"topic": name, "text": line} for line in text.splitlines()]
    document = {"topic": name, "text": text, **data}
    return Answer(document_of(document), rows, lines=text.splitlines(), plain=text)
