"""An embedded, serializable, multi-threaded key-value engine.

>>> db = foedus.open(folder, memory_bytes="128MiB")
>>> users = db.masstree("users", key=str, value=foedus.json)
>>> users["ada"] = {"age": 36}
>>> users["ada"]
{'age': 36}
>>> db.close()
"""

from ._codecs import Codec, json, key, key_prefix, raw, struct, unpack_key
from ._database import Database, open  # noqa: A004
from ._engine import ffi as _ffi
from ._engine import lib as _lib
from ._errors import (AlreadyExists, Busy, Closed, Conflict, Corruption, Error, Forked,
                      InvalidArgument, IoError, NotFound, NotSupported, OutOfMemory, OutOfSpace,
                      Rollback, RolledBack, Timeout, TooLarge, WrongVersion)
from ._tables import Array, Hash, Masstree, Sequential
from ._txn import Savepoint, Ticket, Txn

__version__ = _ffi.string(_lib.foedus_version()).decode()

__all__ = [
    "AlreadyExists", "Array", "Busy", "Closed", "Codec", "Conflict", "Corruption", "Database",
    "Error", "Forked", "Hash", "InvalidArgument", "IoError", "Masstree", "NotFound", "NotSupported",
    "OutOfMemory", "OutOfSpace", "Rollback", "RolledBack", "Savepoint", "Sequential", "Ticket",
    "Timeout", "TooLarge", "Txn", "WrongVersion", "json", "key", "key_prefix", "open", "raw",
    "struct", "unpack_key",
]
