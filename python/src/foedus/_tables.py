"""Storages as mappings and lists. A table is bound to a transaction, or to none: then each call is
a transaction of its own."""

from __future__ import annotations

import itertools
import struct
from typing import Any, Callable, Iterable, Iterator, Optional

from ._codecs import Codec
from ._engine import ffi, lib
from ._errors import NotFound, check, error_of, memory

_HEAD = struct.Struct("=II")
_ROWS_BYTES = 1 << 16  # of a scan, taken from the engine at a time
BATCH_ROWS = 10_000
_NO_LIMIT = (1 << 64) - 1
_MISSING = object()


class Storage:
    """The handle of a storage, which tables of it share."""

    def __init__(self, handle: Any, key: Codec, value: Codec) -> None:
        self.handle = ffi.gc(handle, lib.foedus_storage_free)
        size = ffi.new("size_t*")
        self.name: str = ffi.unpack(lib.foedus_storage_name(handle, size), size[0]).decode()
        self.key = key
        self.value = value


class Table:
    """What all kinds of storages have."""

    def __init__(self, storage: Storage, txn: Any, within: Callable[..., Any]) -> None:
        self._storage = storage
        self._handle = storage.handle
        self._encode_key = storage.key.encode
        self._encode = storage.value.encode
        self._decode = storage.value.decode
        self._txn = txn        # a foedus_txn: of a transaction, or an autocommit handle
        self._within = within  # runs a function of a table that is bound to a transaction

    @property
    def name(self) -> str:
        """The name of the storage."""
        return self._storage.name

    def __repr__(self) -> str:
        return f"<foedus.{type(self).__name__} {self.name!r}>"

    def _bound(self, txn: Any) -> Any:
        return type(self)(self._storage, txn, _run_here)

    def _rows(self, open_scan: Callable[..., int]) -> Iterator[tuple[bytes, bytes]]:
        """The rows, keys and payloads as bytes, of a scan that `open_scan` opens."""
        if self._within is not _run_here:
            # One state of all rows: they are read in one transaction before the first is given.
            return iter(self._within(lambda txn: list(self._bound(txn)._rows(open_scan))))
        return itertools.chain.from_iterable(self._batches(open_scan))

    def _batches(self, open_scan: Callable[..., int]) -> Iterator[list[tuple[bytes, bytes]]]:
        made = ffi.new("foedus_scan**")
        check(open_scan(self._txn, self._handle, made, memory().error))
        scan = ffi.gc(made[0], lib.foedus_scan_free)
        size, count = ffi.new("size_t*"), ffi.new("size_t*")
        capacity = _ROWS_BYTES
        rows = ffi.new("char[]", capacity)
        while True:
            code = lib.foedus_scan_rows(scan, rows, capacity, size, count, memory().error)
            if code == lib.FOEDUS_TOO_LARGE and size[0] > capacity:
                capacity = size[0]
                rows = ffi.new("char[]", capacity)
                continue
            if code == lib.FOEDUS_END:
                ffi.release(scan)
                return
            check(code)
            yield _unpack_rows(bytes(ffi.buffer(rows, size[0])), count[0])


def _run_here(function: Callable[..., Any]) -> Any:
    raise AssertionError("a table that is bound to a transaction opens no other one")


def pack_rows(encode_key: Callable[[Any], bytes], encode: Callable[[Any], bytes],
              pairs: Iterable[tuple[Any, Any]]) -> bytes:
    """Rows as the library takes many of them in one call."""
    parts: list[bytes] = []
    pack = _HEAD.pack
    for key, value in pairs:
        encoded, payload = encode_key(key), encode(value)
        parts += pack(len(encoded), len(payload)), encoded, payload
    return b"".join(parts)


def _unpack_rows(packed: bytes, count: int) -> list[tuple[bytes, bytes]]:
    rows, at = [], 0
    for _ in range(count):
        key_bytes, payload_bytes = _HEAD.unpack_from(packed, at)
        middle = at + 8 + key_bytes
        end = middle + payload_bytes
        rows.append((packed[at + 8:middle], packed[middle:end]))
        at = end
    return rows


class KeyedTable(Table):
    """A storage of keys and values, used as a dict is: a Master-Tree or a hash.

    >>> t = db.hash("ages", key=str, value="<q")
    >>> t["ada"] = 36
    >>> t["ada"], t.get("bob"), "bob" in t
    (36, None, False)
    >>> t.increment("ada", 1)
    >>> t.pop("ada")
    37
    """

    def _find(self, read: Callable[..., int], key: bytes) -> Optional[bytes]:
        """What `read`, foedus_get() or the like, finds; None if there is no such key."""
        thread = memory()
        size = thread.size
        while True:
            code = read(self._txn, self._handle, key, len(key), thread.buffer, thread.capacity,
                        size, thread.error)
            if code != 0:
                if code == lib.FOEDUS_NOT_FOUND:
                    return None
                raise error_of(thread.error)
            if size[0] <= thread.capacity:
                found: bytes = ffi.unpack(thread.buffer, size[0])
                return found
            thread.grow(size[0])

    def __getitem__(self, key: Any) -> Any:
        payload = self._find(lib.foedus_get, self._encode_key(key))
        if payload is None:
            raise KeyError(key)
        return self._decode(payload)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value, or `default` if there is no such key."""
        payload = self._find(lib.foedus_get, self._encode_key(key))
        return default if payload is None else self._decode(payload)

    def for_update(self, key: Any, default: Any = None) -> Any:
        """As get(), and locks the record until the transaction ends."""
        payload = self._find(lib.foedus_get_for_update, self._encode_key(key))
        return default if payload is None else self._decode(payload)

    def __contains__(self, key: Any) -> bool:
        encoded = self._encode_key(key)
        found = ffi.new("int*")
        check(lib.foedus_contains(self._txn, self._handle, encoded, len(encoded), found,
                                  memory().error))
        return bool(found[0])

    def __setitem__(self, key: Any, value: Any) -> None:
        encoded, payload = self._encode_key(key), self._encode(value)
        error = memory().error
        if lib.foedus_put(self._txn, self._handle, encoded, len(encoded), payload, len(payload),
                          error) != 0:
            raise error_of(error)

    def insert(self, key: Any, value: Any) -> None:
        """Adds the key; AlreadyExists if it is there."""
        encoded, payload = self._encode_key(key), self._encode(value)
        check(lib.foedus_insert(self._txn, self._handle, encoded, len(encoded), payload,
                                len(payload), memory().error))

    def replace(self, key: Any, value: Any) -> None:
        """Overwrites the value of a key; NotFound, a KeyError, if it is not there."""
        encoded, payload = self._encode_key(key), self._encode(value)
        check(lib.foedus_update(self._txn, self._handle, encoded, len(encoded), payload,
                                len(payload), memory().error))

    def __delitem__(self, key: Any) -> None:
        encoded = self._encode_key(key)
        code = lib.foedus_erase(self._txn, self._handle, encoded, len(encoded), memory().error)
        if code == lib.FOEDUS_NOT_FOUND:
            raise KeyError(key)
        check(code)

    def increment(self, key: Any, delta: int, offset: int = 0) -> None:
        """Adds to the 64-bit integer at byte `offset` of the value, without reading it."""
        encoded = self._encode_key(key)
        check(lib.foedus_increment(self._txn, self._handle, encoded, len(encoded), offset, delta,
                                   memory().error))

    def pop(self, key: Any, default: Any = _MISSING) -> Any:
        """Removes the key and returns its value, or `default` if there is none."""
        if self._within is not _run_here:
            return self._within(lambda txn: self._bound(txn).pop(key, default))
        value = self.get(key, _MISSING)
        if value is _MISSING:
            if default is _MISSING:
                raise KeyError(key)
            return default
        del self[key]
        return value

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value; sets it to `default` if there is no such key."""
        if self._within is not _run_here:
            return self._within(lambda txn: self._bound(txn).setdefault(key, default))
        value = self.get(key, _MISSING)
        if value is _MISSING:
            self[key] = value = default
        return value

    def update(self, rows: Any = (), **more: Any) -> None:
        """Puts all rows of a mapping, or of pairs, in one transaction.

        >>> db.masstree("users").update({b"a": b"1", b"b": b"2"})
        """
        self._write_all(lib.FOEDUS_PUT, self._pairs(rows, more))

    def put_many(self, rows: Any, batch: int = BATCH_ROWS) -> int:
        """Puts rows, in transactions of `batch` rows each; returns how many. For loads.

        >>> db.masstree("users").put_many((b"%d" % i, b"x") for i in range(25_000))
        25000
        """
        total = 0
        pairs = iter(self._pairs(rows, {}))
        while chunk := list(itertools.islice(pairs, batch)):
            self._write_all(lib.FOEDUS_PUT, chunk)
            total += len(chunk)
        return total

    @staticmethod
    def _pairs(rows: Any, more: dict[str, Any]) -> Iterable[tuple[Any, Any]]:
        return itertools.chain(rows.items() if hasattr(rows, "items") else rows, more.items())

    def _write_all(self, how: int, pairs: Iterable[tuple[Any, Any]]) -> None:
        packed = pack_rows(self._encode_key, self._encode, pairs)
        check(lib.foedus_write_rows(self._txn, self._handle, how, packed, len(packed), ffi.NULL,
                                    memory().error))


class Masstree(KeyedTable):
    """Ordered keys. Outside of a transaction, a scan reads all its rows at once, in one. Scan large
    ranges in a transaction, or in Database.snapshot(), where rows come as they are asked for.

    >>> t = db.masstree("cities", key=(str, int), value=str)
    >>> t.update({("Paris", 1): "Louvre", ("Paris", 2): "Orsay", ("Parma", 1): "Pilotta"})
    >>> list(t.items(prefix=("Paris",)))
    [(('Paris', 1), 'Louvre'), (('Paris', 2), 'Orsay')]
    >>> list(t.keys(reverse=True, limit=1)), list(t.values(low=("Paris", 2)))
    ([('Parma', 1)], ['Orsay', 'Pilotta'])
    """

    def erase_range(self, low: Any = None, high: Any = None, limit: Optional[int] = None) -> int:
        """Erases the rows with low <= key < high, the lowest `limit` of them; returns how many.

        TooLarge: more rows than one transaction can write. Erase them with a limit of some
        thousands, in several calls.

        >>> t = db.masstree("days", key=int)
        >>> t.update({day: b"x" for day in range(10)})
        >>> t.erase_range(3, 7), t.erase_range(limit=2), list(t.keys())
        (4, 2, [2, 7, 8, 9])
        """
        bound = getattr(self._storage.key, "encode_bound", self._storage.key.encode)
        low_key = b"" if low is None else bound(low)
        high_key = b"" if high is None else bound(high)
        erased = ffi.new("uint64_t*")
        check(lib.foedus_erase_range(self._txn, self._handle, low_key, len(low_key), high_key,
                                     len(high_key), _NO_LIMIT if limit is None else limit, erased,
                                     memory().error))
        return int(erased[0])

    def items(self, low: Any = None, high: Any = None, *, prefix: Any = None, reverse: bool = False,
              limit: Optional[int] = None) -> Iterator[tuple[Any, Any]]:
        """The rows with low <= key < high, or whose keys begin with `prefix`, in order."""
        decode_key, decode = self._storage.key.decode, self._decode
        return ((decode_key(key), decode(payload))
                for key, payload in self._scan(low, high, prefix, reverse, limit))

    def keys(self, low: Any = None, high: Any = None, *, prefix: Any = None, reverse: bool = False,
             limit: Optional[int] = None) -> Iterator[Any]:
        """The keys of items()."""
        decode_key = self._storage.key.decode
        return (decode_key(key) for key, _ in self._scan(low, high, prefix, reverse, limit))

    def values(self, low: Any = None, high: Any = None, *, prefix: Any = None,
               reverse: bool = False, limit: Optional[int] = None) -> Iterator[Any]:
        """The values of items()."""
        decode = self._decode
        return (decode(payload) for _, payload in self._scan(low, high, prefix, reverse, limit))

    def __iter__(self) -> Iterator[Any]:
        return self.keys()

    def _scan(self, low: Any, high: Any, prefix: Any, reverse: bool,
              limit: Optional[int]) -> Iterator[tuple[bytes, bytes]]:
        most = _NO_LIMIT if limit is None else limit
        flags = lib.FOEDUS_REVERSE if reverse else lib.FOEDUS_FORWARD
        codec = self._storage.key
        if prefix is not None:
            if low is not None or high is not None:
                raise TypeError("a scan has either bounds or a prefix")
            begin = getattr(codec, "encode_prefix", codec.encode)(prefix)
            return self._rows(lambda txn, storage, made, error: lib.foedus_scan_prefix(
                txn, storage, begin, len(begin), flags, most, made, error))
        bound = getattr(codec, "encode_bound", codec.encode)
        first = b"" if low is None else bound(low)
        last = b"" if high is None else bound(high)
        return self._rows(lambda txn, storage, made, error: lib.foedus_scan_range(
            txn, storage, first, len(first), last, len(last), flags, most, made, error))


class Hash(KeyedTable):
    """Keys without an order. Outside of a transaction, a scan reads all rows at once, in one.

    >>> t = db.hash("words", key=str, value="<q")
    >>> t.update({"lorem": 1, "ipsum": 2})
    >>> sorted(t.items())
    [('ipsum', 2), ('lorem', 1)]
    """

    def items(self, limit: Optional[int] = None) -> Iterator[tuple[Any, Any]]:
        """All rows, or `limit` of them, in an order that means nothing."""
        decode_key, decode = self._storage.key.decode, self._decode
        return ((decode_key(key), decode(payload)) for key, payload in self._scan(limit))

    def keys(self, limit: Optional[int] = None) -> Iterator[Any]:
        """The keys of items()."""
        decode_key = self._storage.key.decode
        return (decode_key(key) for key, _ in self._scan(limit))

    def values(self, limit: Optional[int] = None) -> Iterator[Any]:
        """The values of items()."""
        decode = self._decode
        return (decode(payload) for _, payload in self._scan(limit))

    def __iter__(self) -> Iterator[Any]:
        return self.keys()

    def _scan(self, limit: Optional[int]) -> Iterator[tuple[bytes, bytes]]:
        most = _NO_LIMIT if limit is None else limit
        return self._rows(lambda txn, storage, made, error: lib.foedus_scan_hash(
            txn, storage, most, made, error))


class Array(Table):
    """A fixed number of values of one size, first all zeroes.

    >>> balances = db.array("balances", 100, value="<q")
    >>> balances[3] = 250
    >>> balances.increment(3, 5)
    >>> balances[3], balances[4], len(balances)
    (255, 0, 100)
    """

    def __init__(self, storage: Storage, txn: Any, within: Callable[..., Any]) -> None:
        super().__init__(storage, txn, within)
        self._size = lib.foedus_storage_payload_bytes(self._handle)

    def __len__(self) -> int:
        return int(lib.foedus_storage_records(self._handle))

    def _index(self, index: int) -> int:
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"the array {self.name!r} has {count} records, and no {index}")
        return index % count

    def _load(self, read: Callable[..., int], index: int) -> Any:
        thread = memory()
        check(read(self._txn, self._handle, self._index(index), thread.buffer, self._size,
                   thread.error))
        return self._decode(ffi.unpack(thread.buffer, self._size))

    def __getitem__(self, index: int) -> Any:
        return self._load(lib.foedus_array_get, index)

    def for_update(self, index: int) -> Any:
        """As [index], and locks the record until the transaction ends."""
        return self._load(lib.foedus_array_get_for_update, index)

    def __setitem__(self, index: int, value: Any) -> None:
        payload = self._encode(value)
        check(lib.foedus_array_put(self._txn, self._handle, self._index(index), payload,
                                   len(payload), memory().error))

    def increment(self, index: int, delta: int, offset: int = 0) -> None:
        """Adds to the 64-bit integer at byte `offset`, without reading it."""
        check(lib.foedus_array_increment(self._txn, self._handle, self._index(index), offset,
                                         delta, memory().error))


class Sequential(Table):
    """Values in the order in which they were committed.

    >>> events = db.sequential("events", value=str)
    >>> events.append("opened")
    >>> list(events)
    ['opened']
    """

    def append(self, value: Any) -> None:
        """Adds a value at the end."""
        payload = self._encode(value)
        check(lib.foedus_append(self._txn, self._handle, payload, len(payload), memory().error))

    def values(self, limit: Optional[int] = None) -> Iterator[Any]:
        """All values, or the first `limit`."""
        most = _NO_LIMIT if limit is None else limit
        decode = self._decode
        return (decode(payload) for _, payload in self._rows(
            lambda txn, storage, made, error: lib.foedus_scan_sequential(txn, storage, most, made,
                                                                         error)))

    def __iter__(self) -> Iterator[Any]:
        return self.values()


__all__ = ["Array", "Hash", "Masstree", "NotFound", "Sequential", "Storage", "Table"]
