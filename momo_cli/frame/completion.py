"""Shell completion: the scripts of bash, zsh and fish, and the words, flags and live values that they offer.

A script passes the line up to the cursor; each answer is a line `VALUE<TAB>MEANING`, or `:files` for a file name. Live
values, such as the shop's endpoints, are asked of the daemon with a time limit of 150 ms. On any error the answer is
empty, because a message would garble the line being typed.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from daemon.wire import Path
from momo_cli.flags import SWITCHES, VALUED, Flags, Output, lift
from momo_cli.frame.command_table import COMMANDS, find_name, verb_alone, words_after
from momo_cli.text import clean

_LIMIT_S: Final = 0.15
_MANY: Final = 50
Found = tuple[str, str]
"""A value and its meaning, which may be empty."""
FILES: Final = ":files"
_FILE_METAVARS: Final = ("FILE", "FOLDER", "PATH")
_KIND_OF_PLACEHOLDER: Final[Mapping[str, str]] = {
    "REF": "transactions", "REF|CODE": "transactions", "DEVICE:SLOT": "sims", "DEVICE:SLOT|none": "sims",
    "MODEM": "modems", "ENDPOINT": "endpoints", "METHOD": "methods",
}  # fmt: skip
"""The kind of value that a word of the usage line stands for; `ID` is of the command's own kind."""
_OPTIONS: Final[Mapping[str, str]] = {
    "--endpoint": "endpoints",
    "--method": "methods",
    "--order": "transactions",
    "--replay-to": "endpoints",
}
_LISTS: Final[Mapping[str, Sequence[str]]] = {
    "completion": ("bash", "zsh", "fish"),
    "api": ("GET", "POST", "PUT", "PATCH", "DELETE"),
}
_BASH: Final = r"""# bash completion for momo: momo completion bash --install, or source <(momo completion bash)
_momo() {
  local found
  COMPREPLY=()
  while IFS= read -r found; do
    if [[ $found == :files ]]; then
      compopt -o default -o filenames 2>/dev/null
      while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
    else
      COMPREPLY+=("$found")
    fi
  done < <(momo __complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -F _momo momo
"""
_ZSH: Final = r"""#compdef momo
# zsh completion for momo: momo completion zsh --install, or source <(momo completion zsh)
_momo() {
  local value meaning
  local -a offered
  while IFS=$'\t' read -r value meaning; do
    if [[ $value == :files ]]; then
      _files
    else
      offered+=("${value//:/\\:}${meaning:+:$meaning}")
    fi
  done < <(momo __complete zsh "${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null)
  (( ${#offered} )) && _describe -V momo offered
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _momo "$@"; else compdef _momo momo; fi
"""
_FISH: Final = r"""# fish completion for momo: momo completion fish --install, or momo completion fish | source
function __momo_complete
    for found in (momo __complete fish (commandline -cp | string collect -N) 2>/dev/null)
        if test "$found" = ":files"
            __fish_complete_path (commandline -ct)
        else
            echo $found
        end
    end
end
complete -c momo -f -a "(__momo_complete)"
"""
SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
SCRIPT_PATHS: Final = {
    "bash": ("XDG_DATA_HOME", ".local/share", "bash-completion/completions/momo"),
    "zsh": ("XDG_DATA_HOME", ".local/share", "zsh/site-functions/_momo"),
    "fish": ("XDG_CONFIG_HOME", ".config", "fish/completions/momo.fish"),
}
"""Where each shell looks for completions: the variable of a folder, its default, and the file."""


def completions(line: str, environ: Mapping[str, str], *, bash: bool = False) -> list[str]:
    """Return the completions of the end of the line, in the form that the shell's script reads.

    `line` is the command line from its first word to the cursor. With `bash` the part that bash treats as a separate
    word (up to the last `:` or `=`) and the meanings are omitted, and the rest is quoted for the shell.
    """
    try:
        words = shlex.split(line)
    except ValueError:  # a quote is still open
        words = line.split()
    current = "" if line[-1:].isspace() or len(words) < 2 else words.pop()
    found = [each for each in _found(words[1:], current, environ) if each[0].startswith(current)]
    if bash:
        kept = max(current.rfind(":"), current.rfind("=")) + 1
        return [name if name == FILES else shlex.quote(name[kept:]) for name, _ in found]
    return [f"{name}\t{meaning}".rstrip("\t") for name, meaning in found]


def _found(words: Sequence[str], current: str, environ: Mapping[str, str]) -> Iterator[Found]:
    """Yield the candidates; the caller drops those that do not begin with `current`."""
    before = words[-1] if words else ""
    if before in VALUED:
        yield from _plainly(tuple(Output) if VALUED[before] == "output" else ())
        return
    _, rest = lift(words, {})
    named = [word for word in rest if not word.startswith("-")]
    command = find_name(named)
    arguments = named[len(command.split()) :]
    # Before a flag a group alone is a command.
    if not arguments and (current.startswith("-") or rest[-1:] != named[-1:]):
        command = f"{command} {verb_alone(command)}".rstrip()
    if command not in COMMANDS:
        yield from _next_words(named, current)
        return
    from momo_cli.frame.tree import load  # noqa: PLC0415  # command words need no command module

    params = load(command).params
    if current.startswith("-"):
        yield from _flags(params)
        return
    wanted = next((p for p in params if before in p.opts and not getattr(p, "is_flag", True)), None)
    if wanted is None:
        valued = [param.opts for param in params if not getattr(param, "is_flag", True)]
        number = len(arguments) - sum(word in names for word in rest[:-1] for names in valued)
        places = [param for param in params if param.param_type_name == "argument"]
        # The last one may take many.
        several = [param for param in places[-1:] if param.nargs == -1]
        wanted = next(iter([*places[number:], *several]), None)
    if wanted is not None:
        yield from _values(command, wanted, before, current, environ)
    elif command == "help":
        yield from _topics()


def _next_words(named: Sequence[str], current: str) -> Iterator[Found]:
    if current.startswith("-"):
        yield from _flags(())
        return
    group = find_name(named)
    if len(group.split()) == len(named):
        yield from ((word, about) for word, (about, _) in words_after(group).items())


def _flags(params: Iterable[Any]) -> Iterator[Found]:
    for param in params:
        if param.param_type_name == "option":
            names = [name for name in param.opts if name.startswith("--")]
            yield from ((name, param.help or "") for name in names)
    for name in (*SWITCHES, *VALUED):
        if name.startswith("--"):
            yield name, "for every command"


def _values(command: str, param: Any, before: str, current: str, environ: Mapping[str, str]) -> Iterator[Found]:
    shown = str(param.metavar or "").strip("[].")
    if command in _LISTS:
        yield from _plainly(_LISTS[command])
    elif command == "help":
        yield from _topics()
    elif any(word in shown.split("|") or f"@{word}" in shown for word in _FILE_METAVARS):
        yield FILES, ""
    elif "|" in shown and shown.replace("|", "").isalnum() and shown.islower():
        yield from _plainly(shown.split("|"))
    else:
        kind = _OPTIONS.get(before) or _KIND_OF_PLACEHOLDER.get(shown.rpartition("] ")[2])
        if kind is None and shown == "ID":
            kind = (" " + command).split()[-2]
        if kind is not None:
            yield from _live_values(kind, current, environ)


def _topics() -> Iterator[Found]:
    from momo_cli.frame.reference import TOPICS  # noqa: PLC0415  # only help needs them

    yield from _plainly(TOPICS)
    yield from _next_words((), "")


def _plainly(names: Iterable[str]) -> Iterator[Found]:
    yield from ((name, "") for name in names)


class _Kind(NamedTuple):
    """The list of one kind of value, and how a row of it becomes candidates."""

    path: str
    query: Mapping[str, object]
    offer: Callable[[Mapping[str, Any], str], Iterator[Found]]


def _live_values(kind: str, current: str, environ: Mapping[str, str]) -> list[Found]:
    """Return the values of a kind that the daemon lists; empty if it is down, slow, or refuses."""
    # Only live values need the client.
    import os  # noqa: PLC0415

    from momo_cli.socket.client import Client  # noqa: PLC0415
    from momo_cli.socket.connect import locate  # noqa: PLC0415

    asked = _KINDS.get(kind)
    if asked is None:
        return []
    client = Client(
        locate(Flags(), environ, os.getuid()), timeout_s=_LIMIT_S, warn=lambda _: None, pause=lambda _: None
    )
    rows = client.find(asked.path, **asked.query) if client.alive() else None
    found = [each for row in rows or () for each in asked.offer(row, current)]
    return [(name, clean(meaning)) for name, meaning in dict.fromkeys(found) if name]


def _transaction(row: Mapping[str, Any], current: str) -> Iterator[Found]:
    amount, payer = row.get("expected_amount") or "", row.get("payer_name") or ""
    name = "reference" if current and "svc_trx_".startswith(current[:8]) else "svc_code"
    yield str(row.get(name) or ""), f"{row.get('status')} {amount} {payer}".strip()


def _sim(row: Mapping[str, Any], current: str) -> Iterator[Found]:
    of = row.get("device_id") if current and str(row.get("device_id")).startswith(current) else None
    for sim in row.get("sims") or ():
        device = of or row.get("name") or row.get("device_id")
        meaning = f"{sim.get('network') or ''} {sim.get('phone_number') or ''}"
        yield f"{device}:{sim.get('slot_index')}", meaning.strip()


def _modem(row: Mapping[str, Any], _: str) -> Iterator[Found]:
    yield str(row.get("name") or row.get("device_id") or ""), str(row.get("state") or "")


def _by_id(*members: str) -> Callable[[Mapping[str, Any], str], Iterator[Found]]:
    def offer(row: Mapping[str, Any], _: str) -> Iterator[Found]:
        meaning = " ".join(str(row[name]) for name in members if row.get(name))
        yield str(row.get("id") or ""), meaning

    return offer


_KINDS: Final[Mapping[str, _Kind]] = {
    "transactions": _Kind(Path.TRANSACTIONS, {"per_page": _MANY}, _transaction),
    "sims": _Kind(Path.SIMS, {}, _sim),
    "modems": _Kind(Path.LOCAL_MODEMS, {}, _modem),
    "endpoints": _Kind(Path.ENDPOINTS, {}, _by_id("url", "description")),
    "methods": _Kind(Path.PAYMENT_METHODS, {}, _by_id("phone_number", "account_name")),
    "deliveries": _Kind(Path.DELIVERIES, {"limit": _MANY}, _by_id("status", "event")),
    "dead-letters": _Kind(Path.DEAD_LETTERS, {"limit": _MANY}, _by_id("cause", "url")),
    "review": _Kind(Path.REVIEWS, {}, _by_id("reason", "amount")),
    "keys": _Kind(Path.KEYS, {}, _by_id("name", "hint")),
    "payers": _Kind(Path.APPROVED_PAYERS, {}, _by_id("name")),
    "messages": _Kind(Path.LOCAL_MESSAGES, {"limit": _MANY}, _by_id("state", "received_at")),
    "templates": _Kind(Path.LOCAL_MESSAGES, {"limit": _MANY}, _by_id("state", "received_at")),
    "notices": _Kind(Path.LOCAL_NOTICES, {}, _by_id("kind", "text")),
}
