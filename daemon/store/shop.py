"""The one shop of this database."""

from msgspec.structs import asdict

from daemon.core.model import Shop
from daemon.store.engine import Reader, Tx


def get(reader: Reader) -> Shop | None:
    """Return the shop, None before `momo setup`."""
    return reader.first(Shop, "SELECT * FROM shop WHERE id = 1")


def add(tx: Tx, shop: Shop) -> None:
    """Store the shop; the primary key prevents a second one."""
    tx.run(
        "INSERT INTO shop (id, name, timezone, owner_email, account_key, created_at) "
        "VALUES (1, :name, :timezone, :owner_email, :account_key, :created_at)",
        asdict(shop),
    )


def rename(tx: Tx, name: str) -> None:
    """Give the shop another name."""
    tx.run("UPDATE shop SET name = :name WHERE id = 1", {"name": name})


def schema_version(reader: Reader) -> int:
    """Return the number of the newest migration that was applied."""
    return reader.count("SELECT MAX(version) FROM schema_migrations")
