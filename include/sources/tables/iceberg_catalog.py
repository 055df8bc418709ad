"""The catalogs that Iceberg tables have their names in.

A catalog is what pyiceberg's own configuration says of its name. Where that says nothing, it is an
Airflow connection of that name, of type ``iceberg`` as Airflow's provider has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forerun.include.machine.connections import UnknownConnectionError, connection

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog


def open_catalog(name: str, io: str) -> Catalog:
    """Return a catalog whose tables are read and written by the class that ``io`` names. Raises
    what its client raises, and ImportError without pyiceberg."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.utils.config import Config

    known = Config().get_catalog_config(name)
    return load_catalog(name, **({} if known else _of_connection(name)), **{"py-io-impl": io})


def _of_connection(name: str) -> dict[str, str]:
    """The properties of a catalog by a connection; none if there is no such connection, of which
    the client then says that it does not know the catalog."""
    try:
        found = connection(name)
    except UnknownConnectionError:
        return {}
    properties = {key: str(value) for key, value in found.extra.items()}
    if found.host:
        properties.setdefault("uri", found.host)
    if found.login:
        properties.setdefault("credential", f"{found.login}:{found.password}")
    return properties
