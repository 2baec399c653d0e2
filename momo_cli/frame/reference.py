"""The command reference, generated from the command table and the flags, for man pages and docs/developers/cli.md."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from momo_cli.exit_codes import EXIT_CODES
from momo_cli.frame.command_table import COMMANDS, PANELS
from momo_cli.frame.topics import TOPICS
from momo_cli.frame.tree import load

_ABOUT: Final = (
    "momo collects mobile-money payments with a phone or a USB modem at the shop. "
    "This program talks to the shop's daemon, which reads the phones and records the payments."
)
_TYPES: Final = {"integer": "N", "integer range": "N", "float": "N", "float range": "N"}
Said = tuple[str, str]
"""A flag or argument as it is typed, and its help."""


class CommandPage(NamedTuple):
    """One command."""

    name: str
    summary: str
    usage: str
    about: tuple[str, ...]
    arguments: tuple[Said, ...]
    options: tuple[Said, ...]
    examples: tuple[str, ...]


def page(name: str) -> CommandPage:
    """Return one command's page; imports its module."""
    command: Any = load(name)
    params = command.params
    arguments = [p for p in params if p.param_type_name == "argument"]
    words = [_word(p) for p in arguments]
    about = (command.help or "").split("\n\n")[1:]
    return CommandPage(
        name,
        COMMANDS[name].summary,
        " ".join(["momo", name, "[FLAGS]", *words]),
        tuple(" ".join(part.split()) for part in about),
        tuple((_word(p), p.help or "") for p in arguments),
        tuple((_option(p), p.help or "") for p in params if p.param_type_name == "option"),
        tuple(line.removeprefix("  ") for line in command.examples.splitlines() if line.strip()),
    )


def _word(param: Any) -> str:
    shown = str(param.metavar or param.name.upper())
    if "] " in shown:  # the metavar marks the optional parts itself
        return shown
    bare = shown.strip("[].") or shown
    many = "..." if param.nargs == -1 else ""
    return f"{bare}{many}" if param.required else f"[{bare}]{many}"


def _option(param: Any) -> str:
    names = ", ".join([*param.opts, *param.secondary_opts])
    if param.is_flag:
        return names
    shown = str(param.metavar or _TYPES.get(param.type.name, "TEXT"))
    return f"{names}{shown}" if shown.startswith("[=") else f"{names} {shown}"


def markdown(level: str = "###") -> str:
    """Return the reference of all commands by panel, in Markdown."""
    lines: list[str] = []
    for panel in PANELS:
        lines += [f"{level} {panel}", ""]
        for name, info in COMMANDS.items():
            if info.panel == panel:
                lines += _section(level + "#", page(name))
    return "\n".join(lines).rstrip() + "\n"


def _section(level: str, found: CommandPage) -> Iterator[str]:
    yield from (f"{level} `momo {found.name}`", "", f"{found.summary}. `{found.usage}`", "")
    for part in found.about:
        yield from (_safe(part), "")
    for words, said in (*found.arguments, *found.options):
        yield f"- `{words}` {_safe(said)}".rstrip()
    if found.arguments or found.options:
        yield ""
    yield from ("```", *found.examples, "```", "")


def _safe(text: str) -> str:
    """Escape words such as <id>, which Markdown would read as markup."""
    return text.replace("<", "&lt;").replace("*", "\\*")


def man_pages() -> Iterator[tuple[str, str]]:
    """Yield the file name and the text of each man page: man(7), as mandoc and groff read it."""
    yield "momo.1", _overview()
    for name in COMMANDS:
        title = f"momo-{name.replace(' ', '-')}"
        found = page(name)
        lines = [_title(title), ".SH NAME", _roff(f"{title} - {found.summary}")]
        lines += [".SH SYNOPSIS", _roff(found.usage)]
        if found.about:
            lines.append(".SH DESCRIPTION")
            for i, part in enumerate(found.about):
                lines += [*([".PP"] if i else []), _roff(part)]
        for heading, rows in (("ARGUMENTS", found.arguments), ("FLAGS", found.options)):
            if rows:
                lines.append(f".SH {heading}")
                for words, said in rows:
                    lines += _tagged(words, said)
        lines += [".SH EXAMPLES", *_verbatim(found.examples)]
        lines += [".SH SEE ALSO", ".BR momo (1)"]
        yield f"{title}.1", ("\n".join(lines) + "\n")


def _overview() -> str:
    lines = [_title("momo"), ".SH NAME", "momo \\- mobile-money payments at a shop"]
    lines += [".SH SYNOPSIS", ".B momo", _roff("COMMAND [FLAGS] [ARGUMENTS]")]
    lines += [".SH DESCRIPTION", _roff(_ABOUT)]
    for panel in PANELS:
        lines.append(f".SH {_roff(panel).upper()}")
        for name, info in COMMANDS.items():
            if info.panel == panel:
                lines += _tagged(f"momo {name}", info.summary + ".")
    for topic, heading in (("formatting", "OUTPUT"), ("environment", "ENVIRONMENT")):
        lines += [f".SH {heading}", *_verbatim(TOPICS[topic].text().splitlines())]
    lines.append(".SH EXIT STATUS")
    for row in EXIT_CODES:
        lines += _tagged(str(row.code), f"{row.name}: {row.meaning}.")
    for topic, heading in (("files", "FILES"), ("cron", "CRON")):
        lines += [f".SH {heading}", *_verbatim(TOPICS[topic].text().splitlines())]
    return "\n".join(lines) + "\n"


def _title(name: str) -> str:
    return f'.TH {name.upper().replace("-", chr(92) + "-")} 1 "" "momo" "momo"'


def _tagged(tag: str, said: str) -> list[str]:
    return [".TP", f".B {_roff(tag)}", _roff(said) or "\\&"]


def _verbatim(lines: Sequence[str]) -> list[str]:
    return [".nf", *(_roff(line) or "\\&" for line in lines), ".fi"]


def _roff(text: str) -> str:
    """Escape characters that roff would read as commands."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return f"\\&{text}" if text[:1] in (".", "'") else text
