"""Databases, and how transactions run in them."""

from __future__ import annotations

import collections
import functools
import itertools
import json
import os
import struct
import weakref
from typing import Any, Callable, Optional, TypeVar, Union

from . import _codecs
from ._engine import ffi, lib
from ._errors import Error, Rollback, check, error_of, memory, text_of
from ._tables import (BATCH_ROWS, Array, Hash, KeyedTable, Masstree, Sequential, Storage, Table,
                      pack_rows)
from ._txn import Ticket, Txn, microseconds

_T = TypeVar("_T")
_TableT = TypeVar("_TableT", bound=Table)
_LOG_LEVELS = ("info", "warning", "error")


def _options(make: Any, free: Any, set_one: Any, given: dict[str, Any]) -> Any:
    """A handle of options that were given by name. Groups are separated by __: glean__log_bytes."""
    made = ffi.gc(make(), free)
    for name, value in given.items():
        if value is None:
            continue
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, (list, tuple)):
            value = ",".join(os.fspath(part) for part in value)
        elif isinstance(value, Ticket):
            value = value.epoch
        check(set_one(made, name.replace("__", ".").encode(), str(value).encode(),
                      memory().error))
    return made


def _txn_options(given: dict[str, Any]) -> Any:
    if not given:
        return ffi.NULL
    return _options(lib.foedus_txn_options_new, lib.foedus_txn_options_free,
                    lib.foedus_txn_options_set, given)


def _take_json(text: Any) -> Any:
    try:
        return json.loads(ffi.string(text[0]))
    finally:
        lib.foedus_free(text[0])


@ffi.def_extern()  # type: ignore[untyped-decorator]
def foedus_python_log(argument: Any, level: int, line: Any, size: int) -> None:
    """Of foedus_options_set_log_sink()."""
    ffi.from_handle(argument)(_LOG_LEVELS[level], ffi.unpack(line, size).decode(errors="replace"))


@ffi.def_extern()  # type: ignore[untyped-decorator]
def foedus_python_progress(argument: Any, stage: int, done: int, total: int) -> None:
    """Of foedus_glean()."""
    ffi.from_handle(argument)(("map", "compose", "install")[stage], done, total)


class _Call:
    """A running Database.transact()."""

    def __init__(self, function: Callable[[Txn], Any]) -> None:
        self.function = function
        self.result: Any = None
        self.raised: Optional[BaseException] = None


@ffi.def_extern(error=lib.FOEDUS_APPLICATION)  # type: ignore[untyped-decorator]
def foedus_python_transact(txn: Any, argument: Any, _error: Any) -> int:
    """Of foedus_transact(): no exception leaves it; what it raised is raised when that returns."""
    call = ffi.from_handle(argument)
    call.raised = None
    try:
        call.result = call.function(Txn(txn))
        return int(lib.FOEDUS_OK)
    except Rollback as raised:
        call.raised = raised
        return int(lib.FOEDUS_ROLLED_BACK)
    except BaseException as raised:
        call.raised = raised
        if isinstance(raised, Error) and 0 < raised.code <= lib.FOEDUS_FORKED:
            return int(raised.code)
        return int(lib.FOEDUS_APPLICATION)


class _Explicit:
    """The context of Database.begin() and Database.snapshot()."""

    def __init__(self, db: "Database", options: dict[str, Any]) -> None:
        self._db = db
        self._options = options

    def __enter__(self) -> Txn:
        self._session = self._db._take_session()
        txn = ffi.new("foedus_txn**")
        try:
            check(lib.foedus_begin(self._session, _txn_options(self._options), txn,
                                   memory().error))
        except BaseException:
            self._db._give_session(self._session)
            raise
        self._txn = Txn(txn[0])
        self._txn.ticket = self._ticket = Ticket()
        return self._txn

    def __exit__(self, kind: Optional[type], raised: Optional[BaseException],
                 trace: Any) -> bool:
        try:
            if kind is None:
                check(lib.foedus_commit(self._txn._handle, self._ticket._handle,
                                        memory().error))
            else:
                lib.foedus_rollback(self._txn._handle, ffi.NULL)
        finally:
            self._db._give_session(self._session)
        return kind is not None and issubclass(kind, Rollback)


class Database:
    """An open database. Any number of threads may use it; foedus.open() makes it."""

    def __init__(self, dir: Union[str, "os.PathLike[str]"], log: Any = None,  # noqa: A002
                 **options: Any) -> None:
        chosen = _options(lib.foedus_options_new, lib.foedus_options_free, lib.foedus_options_set,
                          options)
        self._log = None if log is None else ffi.new_handle(log)  # used until the database is freed
        if log is not None:
            check(lib.foedus_options_set_log_sink(chosen, lib.foedus_python_log, self._log,
                                                  memory().error))
        made = ffi.new("foedus_db**")
        check(lib.foedus_open(os.fsencode(dir), chosen, made, memory().error))
        self._handle = made[0]
        # At the end of the program, too: else the last commits would not be on the device.
        self._end = weakref.finalize(self, _free_db, made[0], self._log)
        each = ffi.new("foedus_txn**")
        check(lib.foedus_autocommit(self._handle, ffi.NULL, each, memory().error))
        self._each = ffi.gc(each[0], lib.foedus_autocommit_free)
        self._sessions: collections.deque[Any] = collections.deque()

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Makes all commits durable and releases the directory. Busy: transactions are open. Does
        nothing if it is closed."""
        code = lib.foedus_close(self._handle, memory().error)
        if code != lib.FOEDUS_CLOSED:
            check(code)

    # ---- storages

    def _open(self, kind: type[_TableT], opener: Any, name: str, key: Any, value: Any,
              *shape: Any) -> _TableT:
        made = ffi.new("foedus_storage**")
        encoded = name.encode()
        check(opener(self._handle, encoded, len(encoded), *shape, made, memory().error))
        storage = Storage(made[0], _codecs.key_codec(key), _codecs.value_codec(value))
        return kind(storage, self._each, self.transact_raw)

    def masstree(self, name: str, *, key: Any = None, value: Any = None) -> Masstree:
        """The Master-Tree of that name, made if it is missing: ordered keys. `key`: None for bytes;
        int, float, str or bytes for one column; a tuple of these for several. `value`: None for
        bytes, str, foedus.json, a format of the module struct such as "<q", or a foedus.Codec."""
        return self._open(Masstree, lib.foedus_open_masstree, name, key, value)

    def load_masstree(self, name: str, rows: Any, *, key: Any = None,
                      value: Any = None) -> Masstree:
        """A new Master-Tree with these rows, pairs or a mapping, which come in the order of their
        keys. Faster than transactions. The table is there when this returns, durably, or not at
        all. AlreadyExists: there is one of that name; Busy: another load runs.

        >>> rows = ((n, "a part") for n in range(1000))
        >>> parts = db.load_masstree("parts", rows, key=int, value=str)
        >>> len(list(parts)), parts[7]
        (1000, 'a part')
        """
        encoders = _codecs.key_codec(key).encode, _codecs.value_codec(value).encode
        encoded = name.encode()
        made = ffi.new("foedus_load**")
        check(lib.foedus_load_begin(self._handle, encoded, len(encoded), made, memory().error))
        load = ffi.gc(made[0], lib.foedus_load_free)
        pairs = iter(rows.items() if hasattr(rows, "items") else rows)
        try:
            while chunk := list(itertools.islice(pairs, BATCH_ROWS)):
                packed = pack_rows(*encoders, chunk)
                check(lib.foedus_load_rows(load, packed, len(packed), ffi.NULL, memory().error))

            def finish(_db: Any, _name: bytes, _size: int, storage: Any, error: Any) -> int:
                return int(lib.foedus_load_finish(load, storage, error))

            return self._open(Masstree, finish, name, key, value)
        finally:
            ffi.release(load)

    def hash(self, name: str, *, key: Any = None, value: Any = None,  # noqa: A003
             records_expected: int = 0) -> Hash:
        """The hash of that name, made if it is missing: keys without an order."""
        return self._open(Hash, lib.foedus_open_hash, name, key, value, records_expected)

    def array(self, name: str, records: int, payload_bytes: Optional[int] = None, *,
              value: Any = None) -> Array:
        """The array of that name, made if it is missing, of `records` values of one size: that of
        the struct format `value`, else `payload_bytes`."""
        if payload_bytes is None:
            if not isinstance(value, str):
                raise TypeError("an array needs payload_bytes, or the format of a struct as value")
            payload_bytes = struct.calcsize(value)
        return self._open(Array, lib.foedus_open_array, name, None, value, records, payload_bytes)

    def sequential(self, name: str, *, value: Any = None) -> Sequential:
        """The sequential storage of that name, made if it is missing: values that are appended."""
        return self._open(Sequential, lib.foedus_open_sequential, name, None, value)

    def drop(self, table: Union[Table, str]) -> None:
        """Removes a storage and all it holds, durably."""
        name = (table if isinstance(table, str) else table.name).encode()
        check(lib.foedus_drop_storage(self._handle, name, len(name), memory().error))

    # ---- transactions

    def transact(self, function: Callable[..., _T], *args: Any, ticket: Optional[Ticket] = None,
                 durability: Optional[str] = None, **options: Any) -> Optional[_T]:
        """Runs function(txn, *args) as a transaction and returns what it returns. After a conflict
        it runs again, so it must have no other effects. An exception undoes all. None if it raised
        foedus.Rollback.

        >>> t = db.array("accounts", 10, value="<q")
        >>> def transfer(txn, a, b, cents):
        ...     accounts = txn[t]
        ...     accounts[a] -= cents
        ...     accounts[b] += cents
        ...     return accounts[b]
        >>> db.transact(transfer, 3, 4, 250, durability="sync")
        250
        """
        if durability is not None:
            options["durability"] = durability
        call = _Call(lambda txn: function(txn, *args))
        argument = ffi.new_handle(call)
        error = memory().error
        code = lib.foedus_transact(self._handle, _txn_options(options),
                                   ffi.NULL if ticket is None else ticket._handle,
                                   lib.foedus_python_transact, argument, error)
        if code == 0:
            result: Optional[_T] = call.result
            return result
        raised = call.raised
        if code == lib.FOEDUS_ROLLED_BACK and isinstance(raised, Rollback):
            return None
        if raised is not None and (code == lib.FOEDUS_APPLICATION
                                   or getattr(raised, "code", None) == code):
            raise raised
        raise error_of(error)

    def transact_raw(self, function: Callable[[Any], _T]) -> _T:
        """As transact(), for a function that takes the engine's handle. Of tables."""
        return self.transact(lambda txn: function(txn._handle))  # type: ignore[return-value]

    def transactional(self, function: Optional[Callable[..., Any]] = None,
                      **options: Any) -> Callable[..., Any]:
        """A decorator: calls of the function are transactions, see transact().

        >>> t = db.masstree("visits", key=str, value="<q")
        >>> @db.transactional
        ... def visit(txn, name):
        ...     visits = txn[t]
        ...     visits[name] = visits.get(name, 0) + 1
        ...     return visits[name]
        >>> visit("ada"), visit("ada")
        (1, 2)
        """
        if function is None:
            return functools.partial(self.transactional, **options)
        given = function

        @functools.wraps(given)
        def call(*args: Any, **named: Any) -> Any:
            return self.transact(lambda txn: given(txn, *args, **named), **options)

        return call

    def begin(self, **options: Any) -> _Explicit:
        """A transaction for `with`, which commits at its end, or rolls back at an exception. It
        does not run again: Conflict at its end, if another one was in its way.

        >>> t = db.masstree("users", value=foedus.json)
        >>> with db.begin(durability="sync") as txn:
        ...     txn[t][b"ada"] = {"age": 36}
        >>> txn.ticket.durable, t[b"ada"]
        (True, {'age': 36})
        """
        return _Explicit(self, options)

    def snapshot(self, **options: Any) -> _Explicit:
        """A transaction for `with` that only reads, and never conflicts. It sees all commits up to
        its begin; with at_least=ticket, as_of=epoch or newest_existing=True those of a snapshot.
        Rows of scans come as they are asked for.

        >>> t = db.masstree("users", value=foedus.json)
        >>> with db.snapshot() as snap:
        ...     list(snap[t].items())
        []
        """
        return _Explicit(self, {"isolation": "snapshot", **options})

    def _take_session(self) -> Any:
        try:
            return self._sessions.pop()
        except IndexError:
            made = ffi.new("foedus_session**")
            check(lib.foedus_session_new(self._handle, made, memory().error))
            return ffi.gc(made[0], lib.foedus_session_free)

    def _give_session(self, session: Any) -> None:
        self._sessions.append(session)

    # ---- durability, facts, gleans

    def wait_durable(self, timeout: Optional[float] = None) -> None:
        """Makes all commits so far durable; Timeout after so many seconds."""
        check(lib.foedus_wait_durable(self._handle, microseconds(timeout), memory().error))

    @property
    def durable_epoch(self) -> int:
        """The newest epoch whose commits all survive a crash."""
        return int(lib.foedus_durable_epoch(self._handle))

    def _facts(self, call: Any) -> Any:
        text = ffi.new("char**")
        check(call(self._handle, text, memory().error))
        return _take_json(text)

    def storages(self) -> list[dict[str, Any]]:
        """What storages there are.

        >>> _ = db.masstree("users")
        >>> db.storages()
        [{'id': 1, 'kind': 'masstree', 'name': 'users'}]
        """
        return self._facts(lib.foedus_storages)  # type: ignore[no-any-return]

    def snapshots(self) -> list[dict[str, Any]]:
        """The snapshots that as_of can choose, oldest first."""
        return self._facts(lib.foedus_snapshots)  # type: ignore[no-any-return]

    def stats(self) -> dict[str, Any]:
        """Counters since the database was opened, and quantiles of times in nanoseconds.

        >>> tries = db.stats()["transact_tries"]
        >>> tries["p50"] <= tries["p99"] <= tries["p999"]
        True
        """
        return self._facts(lib.foedus_stats)  # type: ignore[no-any-return]

    def prometheus(self) -> str:
        """The counters as the text that Prometheus reads, for an endpoint of the program.

        >>> "foedus_commits_total" in db.prometheus()
        True
        """
        text = ffi.new("char**")
        check(lib.foedus_prometheus(self._handle, text, memory().error))
        try:
            return text_of(text[0])
        finally:
            lib.foedus_free(text[0])

    def effective_options(self) -> dict[str, Any]:
        """The options in force."""
        return self._facts(lib.foedus_effective_options)  # type: ignore[no-any-return]

    def backup(self, to: Union[str, "os.PathLike[str]"], *, files: str = "auto",
               newest_existing: bool = False, compare_all: bool = False,
               timeout: Optional[float] = None) -> dict[str, Any]:
        """Makes in the directory `to`, while transactions run, a database with all commits up to
        the call; returns a report. An older backup of this database in it is replaced, and only
        what it lacks is written. `files`: "link", "copy", or "auto" for links where they can be.

        >>> db.masstree("users")[b"ada"] = b"36"
        >>> db.backup(folder)["covered"] >= 1
        True
        >>> with foedus.open(folder, memory_bytes="128MiB") as copy:
        ...     copy.masstree("users")[b"ada"]
        b'36'
        """
        flags = {"auto": 0, "link": lib.FOEDUS_BACKUP_LINK, "copy": lib.FOEDUS_BACKUP_COPY}[files]
        if newest_existing:
            flags |= lib.FOEDUS_BACKUP_NEWEST
        if compare_all:
            flags |= lib.FOEDUS_BACKUP_COMPARE_ALL
        text = ffi.new("char**")
        check(lib.foedus_backup(self._handle, os.fsencode(to), flags, microseconds(timeout), text,
                                memory().error))
        return _take_json(text)  # type: ignore[no-any-return]

    def glean(self, progress: Optional[Callable[[str, int, int], None]] = None) -> dict[str, Any]:
        """Makes a snapshot of all commits so far; returns its report. `progress`, if it is given,
        is called with a stage, and how much of it is done.

        >>> db.masstree("users")[b"ada"] = b"36"
        >>> db.glean()["records_composed"] >= 1
        True
        """
        argument = ffi.NULL if progress is None else ffi.new_handle(progress)
        text = ffi.new("char**")
        check(lib.foedus_glean(
            self._handle, ffi.NULL if progress is None else lib.foedus_python_progress, argument,
            text, memory().error))
        return _take_json(text)  # type: ignore[no-any-return]


def _free_db(handle: Any, _log: Any) -> None:
    lib.foedus_db_free(handle, ffi.NULL)


def open(dir: Union[str, "os.PathLike[str]"], *, log: Any = None,  # noqa: A001, A002
         **options: Any) -> Database:
    """Opens or makes the database in the directory. Options are those of foedus/options.h, with __
    between group and name; `log` is a function of a level and a line.

    >>> with foedus.open(folder, memory_bytes="128MiB", glean__interval_us=1_000_000) as db:
    ...     t = db.masstree("t")
    ...     t[b"key"] = b"value"
    >>> with foedus.open(folder, memory_bytes="128MiB") as db:
    ...     db.masstree("t")[b"key"]
    b'value'
    """
    return Database(dir, log, **options)


__all__ = ["Database", "KeyedTable", "Ticket", "Txn", "open"]
