"""The scripts that let bash, zsh and fish ask `momo` what may stand at the cursor."""

from typing import Final

ASK: Final = "__complete"
"""The word that a script calls `momo` with; then the shell's name and the line up to the cursor."""

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

PLACES: Final = {
    "bash": ("XDG_DATA_HOME", ".local/share", "bash-completion/completions/momo"),
    "zsh": ("XDG_DATA_HOME", ".local/share", "zsh/site-functions/_momo"),
    "fish": ("XDG_CONFIG_HOME", ".config", "fish/completions/momo.fish"),
}
"""Where each shell looks by itself: the variable of a folder, what it is when not set, and the file."""
