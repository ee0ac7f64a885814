"""Errors of the engine as exceptions."""

from __future__ import annotations

import threading
from typing import Any, Optional

from ._engine import ffi, lib


class Error(Exception):
    """A call of the engine failed. Its subclasses say how, and are Python's own kinds, too."""

    def __init__(self, message: str, code: int = 0, reason: str = "", storage: str = "",
                 key: bytes = b"", errno: Optional[int] = None, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        #: The number of the error in foedus_c.h.
        self.code = code
        #: Of a Conflict, why: "record_changed" and others; else empty.
        self.reason = reason
        #: The name of the storage, and the first bytes of the key, that the error is about.
        self.storage = storage
        self.key = key
        #: errno of the system call that failed, or None.
        self.errno = errno
        #: What to do, or empty.
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class Conflict(Error):
    """The transaction conflicted with another one; nothing was changed."""


class NotFound(Error, KeyError):
    """The key, or the storage, does not exist."""


class AlreadyExists(Error, KeyError):
    """The key that was to be inserted exists."""


class InvalidArgument(Error, ValueError):
    """An argument or option is out of its range, or does not go with others."""


class TooLarge(Error, ValueError):
    """A key, a value or a transaction is over its limit."""


class OutOfMemory(Error, MemoryError):
    """The engine's memory is used up, or the system refused some."""


class OutOfSpace(Error, OSError):
    """The file system is full. Commits go on once there is space."""


class IoError(Error, OSError):
    """A file could not be read, written or synced."""


class Corruption(Error):
    """A file does not hold the bytes that were written."""


class WrongVersion(Error):
    """The directory was written by another format version."""


class Busy(Error):
    """The directory is in use, or transactions are open."""


class NotSupported(Error, NotImplementedError):
    """This build, or the engine in its state, cannot do it."""


class Closed(Error, ValueError):
    """The database was closed, or the transaction has ended."""


class Timeout(Error, TimeoutError):
    """The time limit has passed."""


class RolledBack(Error):
    """The transaction was rolled back."""


class Forked(Error, RuntimeError):
    """A child of fork() used what its parent has opened."""


class Rollback(Exception):  # noqa: N818
    """Raised in a function of Database.transact() to undo all; transact() then returns None."""


_CLASSES: dict[int, type[Error]] = {
    lib.FOEDUS_CONFLICT: Conflict,
    lib.FOEDUS_NOT_FOUND: NotFound,
    lib.FOEDUS_ALREADY_EXISTS: AlreadyExists,
    lib.FOEDUS_INVALID_ARGUMENT: InvalidArgument,
    lib.FOEDUS_TOO_LARGE: TooLarge,
    lib.FOEDUS_OUT_OF_MEMORY: OutOfMemory,
    lib.FOEDUS_OUT_OF_SPACE: OutOfSpace,
    lib.FOEDUS_IO_ERROR: IoError,
    lib.FOEDUS_CORRUPTION: Corruption,
    lib.FOEDUS_WRONG_VERSION: WrongVersion,
    lib.FOEDUS_BUSY: Busy,
    lib.FOEDUS_NOT_SUPPORTED: NotSupported,
    lib.FOEDUS_CLOSED: Closed,
    lib.FOEDUS_TIMEOUT: Timeout,
    lib.FOEDUS_ROLLED_BACK: RolledBack,
    lib.FOEDUS_FORKED: Forked,
}


class CallMemory:
    """What a thread has for its calls: an error to fill, and memory for results."""

    __slots__ = ("buffer", "capacity", "error", "size")

    def __init__(self) -> None:
        self.error = ffi.gc(lib.foedus_error_new(), lib.foedus_error_free)
        self.size = ffi.new("size_t*")
        self.capacity = 4096
        self.buffer = ffi.new("char[]", self.capacity)

    def grow(self, capacity: int) -> None:
        """Makes the buffer at least that large."""
        self.capacity = max(capacity, 2 * self.capacity)
        self.buffer = ffi.new("char[]", self.capacity)


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.memory = CallMemory()  # one look-up for all that a call needs


_per_thread = _PerThread()


def memory() -> CallMemory:
    """That of the calling thread."""
    return _per_thread.memory



def error_of(error: Any) -> Error:
    """The exception for what a call filled in."""
    code = lib.foedus_error_code(error)
    size = memory().size
    storage = ffi.unpack(lib.foedus_error_storage(error, size), size[0]).decode(errors="replace")
    key = ffi.unpack(lib.foedus_error_key(error, size), size[0])
    return _CLASSES.get(code, Error)(
        text_of(lib.foedus_error_message(error)), code, text_of(lib.foedus_error_reason(error)),
        storage, key, lib.foedus_error_errno(error) or None, text_of(lib.foedus_error_hint(error)))


def text_of(chars: Any) -> str:
    """A string of the engine."""
    return bytes(ffi.string(chars)).decode(errors="replace")


def check(code: int) -> None:
    """Raises the error of a call that got memory().error."""
    if code != 0:
        raise error_of(memory().error)
