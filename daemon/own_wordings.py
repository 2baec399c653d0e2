"""The shop's own wordings in `templates/*.toml` of its folder: read from the disk, and kept for whoever reads messages.

One bad file stops neither the daemon nor the good ones: it is told in `momo status` and `momo templates list`. A wording that
stands in two files counts once. Files are small and few, so all of them are read again when one changes.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from parsers.own import FILE_CHARACTERS_MAX, Loaded, Problem, load
from parsers.template import Wording

FOLDER: Final = "templates"
FILES_MAX: Final = 50


@dataclass(frozen=True, slots=True)
class TemplateFile:
    """One file and what it holds."""

    name: str
    loaded: Loaded


@dataclass(slots=True)
class OwnWordings:
    """What is loaded now; `read_again` replaces it as a whole.

    Attributes:
        wordings: Of the good wordings, those that are tried.
        files: Every file, the bad ones too.
    """

    folder: Path | None = None
    wordings: tuple[Wording, ...] = ()
    files: tuple[TemplateFile, ...] = ()
    _texts: dict[str, str] = field(default_factory=dict)

    def read_again(self) -> bool:
        """Read the folder; returns whether anything changed. A folder that is not there holds nothing."""
        texts: dict[str, str] = {}
        unread: list[TemplateFile] = []
        paths = [] if self.folder is None else sorted(self.folder.glob("*.toml"))
        for path in paths[:FILES_MAX]:
            try:
                with path.open(encoding="utf-8") as file:
                    texts[path.name] = file.read(FILE_CHARACTERS_MAX + 1)
            except (OSError, UnicodeDecodeError) as error:
                problem = Problem(1, f"cannot be read: {error}", "save it as UTF-8 text")
                unread.append(TemplateFile(path.name, Loaded(problems=(problem,))))
        known = {file.name: file for file in self.files}
        if texts == self._texts and not unread:
            return False
        files = [
            known[name] if self._texts.get(name) == text else TemplateFile(name, load(text))
            for name, text in texts.items()
        ]
        self._texts = texts
        self.files = tuple(sorted([*files, *unread], key=lambda file: file.name))
        by_name = {one.name: one for file in self.files for one in file.loaded.wordings}
        self.wordings = tuple(by_name.values())
        return True
