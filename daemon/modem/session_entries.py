"""Reads the messages out of the lines of a `+CMGL` or `+CMGR` answer, whatever comes between them."""

from typing import Final

from daemon.modem import at

LIST: Final = "+CMGL:"
READ: Final = "+CMGR:"


class Entries:
    """One answer with messages, line by line.

    A header owns the next line that is all hex; anything may come between the two. A header that
    gets none until the next header or the end is a message that could not be read.

    Attributes:
        clean: No header and no PDU was lost so far, as far as one can see.
        confused: Headers of the other command came, so this is another command's answer.
        headers: How many headers came.
    """

    __slots__ = ("_header", "_prefix", "clean", "confused", "headers")

    def __init__(self) -> None:
        """Start with no answer expected."""
        self.begin("")

    def begin(self, prefix: str) -> None:
        """Expect headers of this kind from now on; empty is none."""
        self._prefix = prefix
        self._header: at.Header | None = None
        self.headers = 0
        self.clean = True
        self.confused = False

    @property
    def waits(self) -> bool:
        """Say whether the next PDU belongs to a header that came."""
        return self._header is not None

    def is_part(self, line: str) -> bool:
        """Say whether the line could be a header or a PDU; give it to `take` then."""
        return line.startswith((LIST, READ)) or at.is_hex(line)

    def take(self, line: str) -> tuple[at.Header, str] | None:
        """Take a header or a PDU; return the message when it is complete."""
        if line[0] == "+":
            self._take_header(line)
            return None
        header, self._header = self._header, None
        if header is None:
            self.clean = False
            return None
        return header, line.upper()

    def end(self) -> None:
        """Note that the answer is at its end."""
        if self._header is not None:
            self._header = None
            self.clean = False

    def _take_header(self, line: str) -> None:
        if not self._prefix:
            return
        if not line.startswith(self._prefix):
            self.confused = True
            return
        self.headers += 1
        self.end()
        self._header = at.cmgl_header(line) if self._prefix == LIST else at.cmgr_header(line)
        if self._header is None:
            self.clean = False
