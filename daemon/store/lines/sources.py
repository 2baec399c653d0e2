"""State of the `[[sources]]` that post to momo: the times of their posts, and refused posts."""

from msgspec import Struct

from daemon.store.engine import Reader, Tx


class SourceRow(Struct, frozen=True):
    """One source.

    Attributes:
        name: Its name in the settings.
        heard_at: When it last posted something genuine, microseconds; None if never.
        refused: Posts refused because of their signature, posts that could not be read, and SMS of a SIM that the settings do not
            name, since it was added.
        refused_at: When the last one was refused; None if never.
    """

    name: str
    heard_at: int | None
    refused: int
    refused_at: int | None


def all_sources(reader: Reader) -> list[SourceRow]:
    """Return all sources that are known, by name."""
    return reader.every(SourceRow, "SELECT * FROM source_states ORDER BY name")


def get(reader: Reader, name: str) -> SourceRow | None:
    """Return one source, None if it never posted anything."""
    return reader.first(SourceRow, "SELECT * FROM source_states WHERE name = :name", {"name": name})


def record(tx: Tx, name: str, *, heard_at: int | None, refused: int, refused_at: int | None) -> None:
    """Add `refused` posts, and move the times forward; None leaves a time as it is."""
    tx.run(
        "INSERT INTO source_states (name, heard_at, refused, refused_at) "
        "VALUES (:name, :heard_at, :refused, :refused_at) ON CONFLICT (name) DO UPDATE SET "
        "heard_at = COALESCE(excluded.heard_at, source_states.heard_at), "
        "refused = source_states.refused + excluded.refused, "
        "refused_at = COALESCE(excluded.refused_at, source_states.refused_at)",
        {"name": name, "heard_at": heard_at, "refused": refused, "refused_at": refused_at},
    )


def remove(tx: Tx, name: str) -> None:
    """Forget a source."""
    tx.run("DELETE FROM source_states WHERE name = :name", {"name": name})


def password_row(name: str) -> str:
    """Return the name, among the sealed secrets, of the password of a source's page or local server."""
    return f"source:{name}"


def key_row(name: str) -> str:
    """Return the name, among the sealed secrets, of the key that signs a source's posts."""
    return f"source-key:{name}"
