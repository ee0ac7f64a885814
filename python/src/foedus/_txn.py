"""Transactions, their savepoints and tickets."""

from __future__ import annotations

import asyncio
from typing import Any, Generator, Optional, TypeVar

from ._engine import ffi, lib
from ._errors import Rollback, check, memory
from ._tables import Table

_TableT = TypeVar("_TableT", bound=Table)
_FOREVER = (1 << 64) - 1


def microseconds(seconds: Optional[float]) -> int:
    """So many; for ever if None."""
    return _FOREVER if seconds is None else max(0, int(seconds * 1e6))


class Ticket:
    """Tells when a crash can no longer undo a commit. It can be waited for, or awaited.

    >>> ticket = foedus.Ticket()
    >>> db.transact(lambda txn: None, ticket=ticket)
    >>> ticket.wait(timeout=10)
    >>> ticket.durable
    True
    """

    def __init__(self) -> None:
        self._handle = ffi.gc(lib.foedus_ticket_new(), lib.foedus_ticket_free)

    @property
    def epoch(self) -> int:
        """The epoch that has to become durable; 0 if there is nothing to wait for."""
        return int(lib.foedus_ticket_epoch(self._handle))

    @property
    def durable(self) -> bool:
        """True once no crash can undo the commit."""
        return bool(lib.foedus_ticket_is_durable(self._handle))

    def wait(self, timeout: Optional[float] = None) -> None:
        """Waits until the commit is durable; Timeout after so many seconds."""
        check(lib.foedus_ticket_wait(self._handle, microseconds(timeout), memory().error))

    def __await__(self) -> Generator[Any, None, None]:
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def finish(code: int) -> None:
            if not done.done():
                done.set_result(code)

        def call(code: int) -> None:
            loop.call_soon_threadsafe(finish, code)

        argument = ffi.new_handle(call)
        _waiting[argument] = call
        check(lib.foedus_ticket_on_durable(self._handle, lib.foedus_python_durable, argument,
                                           memory().error))
        if (yield from done) != 0:
            self.wait()  # raises


_waiting: dict[Any, Any] = {}  # keeps the callbacks that the engine will call


@ffi.def_extern()  # type: ignore[untyped-decorator]
def foedus_python_durable(argument: Any, code: int) -> None:
    """Of foedus_ticket_on_durable()."""
    ffi.from_handle(argument)(code)
    _waiting.pop(argument, None)


class Txn:
    """A transaction. txn[table] is the table in it: what it reads is of one point in time, and what
    it writes is there for others at once, or not at all."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        #: Of Database.begin(): the ticket of the commit, after it.
        self.ticket: Optional[Ticket] = None

    def __getitem__(self, table: _TableT) -> _TableT:
        bound: _TableT = table._bound(self._handle)
        return bound

    def verify(self) -> None:
        """Conflict if what was read does not hold any more. For loops that depend on it."""
        check(lib.foedus_verify(self._handle, memory().error))

    def savepoint(self) -> Savepoint:
        """A point to go back to.

        >>> table = db.masstree("t")
        >>> with db.begin() as txn:
        ...     txn[table][b"kept"] = b"1"
        ...     with txn.savepoint():
        ...         txn[table][b"undone"] = b"2"
        ...         raise foedus.Rollback
        >>> b"kept" in table, b"undone" in table
        (True, False)
        """
        return Savepoint(self._handle)


class Savepoint:
    """A point of a transaction to which it can go back. An exception that leaves the block of
    `with` undoes the block's writes. Rollback ends there, and the transaction goes on."""

    def __init__(self, txn: Any) -> None:
        self._txn = txn
        self._handle = ffi.new("foedus_savepoint*")
        check(lib.foedus_set_savepoint(txn, self._handle, memory().error))

    def rollback(self) -> None:
        """Undoes all writes since this point. What was read since then is verified all the same."""
        check(lib.foedus_rollback_to(self._txn, self._handle, memory().error))

    def release(self) -> None:
        """Ends this savepoint and later ones; the writes stay."""
        check(lib.foedus_release_savepoint(self._txn, self._handle, memory().error))

    def __enter__(self) -> "Savepoint":
        return self

    def __exit__(self, kind: Optional[type], raised: Optional[BaseException],
                 trace: Any) -> bool:
        if kind is None:
            self.release()
            return False
        is_rollback = issubclass(kind, Rollback)
        code = lib.foedus_rollback_to(self._txn, self._handle, memory().error)
        if is_rollback:
            check(code)
        return is_rollback
