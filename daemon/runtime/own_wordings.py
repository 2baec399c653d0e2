"""The shop's own wordings, read from `templates/*.toml` in its folder and kept in memory.

A bad file stops neither the daemon nor the other files; `momo status` and `momo messages templates list` report it. A wording in two
files counts once. The files are small and few, so all of them are read again when one changes.
"""

from pathlib import Path
from typing import Final

from msgspec import Struct, field

from parsers.own import FILE_CHARACTERS_MAX, LoadedFile, Problem, load_wordings
from parsers.wording import Wording

FOLDER: Final = "templates"
SUFFIX: Final = ".toml"
FILES_MAX: Final = 50


class TemplateFile(Struct, frozen=True):
    """One file and its contents."""

    name: str
    loaded: LoadedFile


class OwnWordings(Struct):
    """The loaded wordings; `read_again` replaces them all.

    `wordings` has the valid wordings, each name once; `files` has every file, including bad ones.
    """

    folder: Path | None = None
    wordings: tuple[Wording, ...] = ()
    files: tuple[TemplateFile, ...] = ()
    _texts: dict[str, str] = field(default_factory=dict)

    def read_again(self) -> bool:
        """Read the folder and return whether anything changed. A missing folder counts as empty."""
        texts: dict[str, str] = {}
        unread: list[TemplateFile] = []
        paths = [] if self.folder is None else sorted(self.folder.glob(f"*{SUFFIX}"))
        for path in paths[:FILES_MAX]:
            try:
                with path.open(encoding="utf-8") as file:
                    texts[path.name] = file.read(FILE_CHARACTERS_MAX + 1)
            except (OSError, UnicodeDecodeError) as error:
                problem = Problem(1, f"cannot be read: {error}", "save it as UTF-8 text")
                unread.append(TemplateFile(path.name, LoadedFile(problems=(problem,))))
        known = {file.name: file for file in self.files}
        if texts == self._texts and not unread:
            return False
        files = [
            known[name] if self._texts.get(name) == text else TemplateFile(name, load_wordings(text))
            for name, text in texts.items()
        ]
        self._texts = texts
        self.files = tuple(sorted([*files, *unread], key=lambda file: file.name))
        by_name = {one.name: one for file in self.files for one in file.loaded.wordings}
        self.wordings = tuple(by_name.values())
        return True
