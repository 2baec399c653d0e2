"""Hypothesis strategies for a PDU: texts, times with their zones, numbers and names."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import strategies as st

gsm7_texts = st.text(st.sampled_from("@ab CZ09£Δ\n\r€[]{}~|\\^ñ."), max_size=700)
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
"""Those that a text can have; the codec replaces U+0000."""
texts = st.one_of(gsm7_texts, st.text(characters, max_size=300), st.text("ab€👍𠮷₵", max_size=300))
quarter_zones = st.integers(-79, 79).map(lambda n: timezone(timedelta(minutes=15 * n)))
times = st.builds(
    lambda second, zone: (datetime(1990, 1, 3, tzinfo=UTC) + second).astimezone(zone),
    st.integers(0, 99 * 365 * 86_400).map(lambda seconds: timedelta(seconds=seconds)),
    quarter_zones,
)
numbers = st.from_regex(r"\+?[0-9*#]{1,20}", fullmatch=True)
names = st.text("ABCdef 0@-._", min_size=1, max_size=11).filter(lambda n: not n.isdecimal())
