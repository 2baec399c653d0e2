"""Alphabets of 3GPP TS 23.038: the default alphabet, its extension, the national tables.

A table is kept as text: runs of `first:code.code.code`, where `first` is the septet of the run's
first character and each code a Unicode code point, all in hexadecimal. So the file is plain ASCII
(combining marks would otherwise glue themselves to their neighbours) and can be read against the
standard. A septet that no run names is reserved.
"""

DEFAULT = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"  # noqa: RUF001
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
"""Clause 6.2.1, by septet; 0x1B is the escape to the extension table."""

EXTENSION = {
    0x0A: "\f",
    0x14: "^",
    0x1B: " ",  # clause 6.2.1.1 note 1: a second escape is shown as a space
    0x28: "{",
    0x29: "}",
    0x2F: "\\",
    0x3C: "[",
    0x3D: "~",
    0x3E: "]",
    0x40: "|",
    0x65: "€",
}
"""Clause 6.2.1.1: what follows an escape."""

LOCKING: dict[int, str] = {}
"""Annex A.3, by national language identifier (clause 6.2.1.2.4)."""

SINGLE: dict[int, str] = {}
"""Annex A.2, by national language identifier."""
