"""QR codes as SVG."""

import io
from functools import lru_cache


@lru_cache(maxsize=64)
def qr_svg(url: str) -> str:
    """Return the QR code of an address as SVG, black on transparent, with its quiet zone."""
    import segno  # noqa: PLC0415 -- lazy

    out = io.BytesIO()
    segno.make(url, error="l", micro=False).save(
        out, kind="svg", xmldecl=False, svgns=False, nl=False, border=2, omitsize=True
    )
    return out.getvalue().decode()
