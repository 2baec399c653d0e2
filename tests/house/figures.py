"""The figures of the buttons to press, on an Android phone and on a HiLink stick's page: `make picture` draws them from the lists here.

They are drawings, not screenshots: the words of the screens, with the row to press marked. Makes of phones differ in
names and order.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from tests.house.markdown import ROOT

FOLDER: Final = ROOT / "docs/img"
_WIDE, _GAP, _EDGE, _TOP = 176, 24, 24, 56
_ROW, _STEP = 34, 40
_INK, _SMALL = "#111111", "#3d434c"


@dataclass(frozen=True, slots=True)
class Screen:
    """One screen.

    Attributes:
        caption: The instruction, in at most two lines.
        title: The title of the screen.
        rows: Its rows from the top; `title|value` for one with a value below.
        press: The number of the row that is marked.
    """

    caption: tuple[str, ...]
    title: str
    rows: tuple[str, ...]
    press: int


FIGURES: Final = {
    "android-app": (
        "Settings of the app SMS Gateway for Android",
        (
            Screen(
                ("Switch the local server", "on, note the three rows"),
                "Home",
                (
                    "Local server  [ on ]|192.168.1.23:8080",
                    "Username|sms",
                    "Password|as shown here",
                    "Offline: press to start",
                ),
                0,
            ),
            Screen(("Open Webhooks",), "Settings", ("System", "Messages", "Webhooks", "Ping", "Local server"), 2),
            Screen(
                ("Paste the signing key,", "switch internet off"),
                "Webhooks",
                (
                    "Signing key|the key that momo printed",
                    "Require internet  [ off ]",
                    "Retry count|14",
                    "Registered webhooks",
                ),
                0,
            ),
            Screen(("Ping every 5 minutes",), "Ping", ("Interval, seconds|300",), 0),
            Screen(
                ("Start the server; allow", "SMS and no battery limit"), "Home", ("Local server  [ on ]", "Online"), 1
            ),
        ),
    ),
    "android-ca": (
        "Trust the CA of the shop on an Android phone",
        (
            Screen(
                ("Open the settings,", "press the marked row"),
                "Settings",
                ("Network and internet", "Connected devices", "Apps", "Security and privacy", "System"),
                3,
            ),
            Screen(
                ("Scroll to the end",),
                "Security and privacy",
                ("Device unlock", "Privacy", "More security settings"),
                2,
            ),
            Screen(
                ("Press the marked row",),
                "More security settings",
                ("Device admin apps", "SIM lock", "Encryption and credentials"),
                2,
            ),
            Screen(
                ("Press the marked row",),
                "Credentials",
                ("Trusted credentials", "User credentials", "Install a certificate"),
                2,
            ),
            Screen(
                ("Then: Install anyway,", "and choose momo-ca.crt"),
                "Install a certificate",
                ("CA certificate", "VPN and app user certificate", "Wi-Fi certificate"),
                0,
            ),
            Screen(
                ("Compare the fingerprint", "with the one of momo"),
                "Trusted credentials",
                ("System", "User", "momo CA of 2026-11-23|compare the SHA-256 fingerprint"),
                2,
            ),
        ),
    ),
    "hilink": (
        "The page of a HiLink stick, then momo",
        (
            Screen(
                ("In a browser on the same", "computer, log in"), "http://192.168.8.1", ("Home", "SMS", "Settings"), 2
            ),
            Screen(("Switch the PIN off",), "Settings, Security", ("PIN management|Disable", "Firewall"), 0),
            Screen(("Delete old messages",), "SMS", ("Inbox|select all, delete", "Drafts", "Settings"), 0),
            Screen(
                ("Type this on the", "computer"),
                "Terminal",
                (
                    "momo setup|press Enter: no modem",
                    "hilink|its answer to the question",
                    "http://192.168.8.1|or press Enter",
                ),
                1,
            ),
            Screen(
                ("What you see then", "in momo phones status"),
                "Terminal",
                ("huawei-e3372h  ready|http://192.168.8.1, MTN, 0 of 500", "momo lines update|its number comes next"),
                0,
            ),
        ),
    ),
}


def draw(into: Path) -> None:
    """Draw all figures into a folder."""
    into.mkdir(exist_ok=True)
    for name, (title, screens) in FIGURES.items():
        (into / f"{name}.svg").write_text(svg(title, screens))


def svg(title: str, screens: tuple[Screen, ...]) -> str:
    """Return the figure: the screens beside each other, numbered."""
    width = _EDGE + len(screens) * (_WIDE + _GAP)
    height = _TOP + 60 + _STEP * max(len(screen.rows) for screen in screens) + 32
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" font-family="Helvetica, Arial, sans-serif">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, screen in enumerate(screens):
        parts += _screen(number + 1, screen, _EDGE + number * (_WIDE + _GAP), height - _TOP - 32)
    return "\n".join([*parts, "</svg>", ""])


def _screen(number: int, screen: Screen, left: int, height: int) -> list[str]:
    parts = [_text(left, 24, 13, str(number), bold=True)]
    parts += [_text(left + 14, 24 + 15 * at, 11, line) for at, line in enumerate(screen.caption)]
    parts += [
        f'<rect x="{left}" y="{_TOP}" width="{_WIDE}" height="{height}" rx="14" fill="#f4f5f7" stroke="#5b616b" stroke-width="2"/>',
        _text(left + 12, _TOP + 30, 14, screen.title, bold=True),
    ]
    for at, row in enumerate(screen.rows):
        name, _, value = row.partition("|")
        top = _TOP + 46 + _STEP * at
        look = ("#ffe9a8", "#9a6700", 2) if at == screen.press else ("#ffffff", "#d0d4da", 1)
        parts += [
            f'<rect x="{left + 8}" y="{top}" width="{_WIDE - 16}" height="{_ROW}" rx="6" fill="{look[0]}" stroke="{look[1]}" stroke-width="{look[2]}"/>',
            _text(left + 16, top + (15 if value else 21), 11, name),
        ]
        if value:
            parts.append(_text(left + 16, top + 28, 9, value, ink=_SMALL))
    return parts


def _text(x: int, y: int, size: int, text: str, *, bold: bool = False, ink: str = _INK) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" font-size="{size}"{weight} fill="{ink}">{escape(text)}</text>'


if __name__ == "__main__":
    draw(FOLDER)
