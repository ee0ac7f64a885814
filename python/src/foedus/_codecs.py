"""Turns keys and values of a program into bytes, and back."""

from __future__ import annotations

import json as _json
import struct as packed
from typing import Any, Callable, Union

from ._engine import ffi, lib
from ._errors import check, memory

Bytes = Union[bytes, bytearray, memoryview]


class Codec:
    """Two functions: what a program has to bytes, and bytes to what it has.

    >>> hexadecimal = Codec(bytes.fromhex, bytes.hex)
    >>> hexadecimal.encode("ff00"), hexadecimal.decode(b"\\xff")
    (b'\\xff\\x00', 'ff')
    """

    def __init__(self, encode: Callable[[Any], bytes], decode: Callable[[bytes], Any]) -> None:
        self.encode = encode
        self.decode = decode


def _as_bytes(value: Bytes) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"bytes are wanted, not {type(value).__name__}: choose a codec where the "
                    "storage is opened, such as value=foedus.json or key=str")


def _same(value: bytes) -> bytes:
    return value


raw = Codec(_as_bytes, _same)
text = Codec(str.encode, bytes.decode)
json = Codec(lambda value: _json.dumps(value, separators=(",", ":")).encode(), _json.loads)


def struct(format: str) -> Codec:  # noqa: A002
    """Values of fixed size, as the module struct has them: one number, or a tuple of several.

    >>> struct("<q").decode(struct("<q").encode(5))
    5
    >>> struct("<qd").decode(struct("<qd").encode((5, 1.5)))
    (5, 1.5)
    """
    packer = packed.Struct(format)
    if len(packer.unpack(bytes(packer.size))) == 1:
        return Codec(packer.pack, lambda payload: packer.unpack(payload)[0])
    return Codec(lambda values: packer.pack(*values), packer.unpack)


# ---- keys of several columns


def _add(key: Any, part: Any) -> None:
    """Appends a part as the engine's key() does."""
    if isinstance(part, int):
        if part < 0:
            if part < -(1 << 63):
                raise OverflowError("an integer in a key is from -2**63 to 2**64 - 1")
            lib.foedus_key_add_signed(key, part)
        else:
            lib.foedus_key_add_unsigned(key, part)
    elif isinstance(part, float):
        lib.foedus_key_add_double(key, part)
    elif isinstance(part, str):
        encoded = part.encode()
        lib.foedus_key_add_string(key, encoded, len(encoded))
    elif isinstance(part, bytes):
        lib.foedus_key_add_string(key, part, len(part))
    else:
        raise TypeError(f"a part of a key is int, float, str or bytes, not {type(part).__name__}")


def _bytes_of(key: Any) -> bytes:
    size = memory().size
    return bytes(ffi.buffer(lib.foedus_key_bytes(key, size), size[0]))


def key(*parts: Union[int, float, str, bytes]) -> bytes:
    """The bytes of a key with these columns, which sort as the columns do.

    >>> key(2, "b") < key(10, "a") < key(10, "b")
    True
    """
    made = ffi.gc(lib.foedus_key_new(), lib.foedus_key_free)
    for part in parts:
        _add(made, part)
    return _bytes_of(made)


def key_prefix(*parts: Union[int, float, str, bytes]) -> bytes:
    """What the keys have in common whose columns begin with these; a string may go on.

    >>> key("Paris", 3).startswith(key_prefix("Par")), key("Paris").startswith(key("Par"))
    (True, False)
    """
    made = ffi.gc(lib.foedus_key_new(), lib.foedus_key_free)
    for part in parts[:-1]:
        _add(made, part)
    for last in parts[-1:]:
        if isinstance(last, (str, bytes)):
            encoded = last.encode() if isinstance(last, str) else last
            lib.foedus_key_add_string_prefix(made, encoded, len(encoded))
        else:
            _add(made, last)
    return _bytes_of(made)


def _read_int(found: bytes, at: Any) -> int:
    signed = ffi.new("int64_t*")
    if lib.foedus_key_read_signed(found, len(found), at, signed, ffi.NULL) == 0:
        return int(signed[0])
    unsigned = ffi.new("uint64_t*")
    check(lib.foedus_key_read_unsigned(found, len(found), at, unsigned, memory().error))
    return int(unsigned[0])


def _read_float(found: bytes, at: Any) -> float:
    number = ffi.new("double*")
    check(lib.foedus_key_read_double(found, len(found), at, number, memory().error))
    return float(number[0])


def _read_bytes(found: bytes, at: Any) -> bytes:
    part = ffi.new("char**")
    size = memory().size
    check(lib.foedus_key_read_string(found, len(found), at, part, size, memory().error))
    try:
        return bytes(ffi.buffer(part[0], size[0]))
    finally:
        lib.foedus_free(part[0])


_READERS: dict[type, Callable[[bytes, Any], Any]] = {
    int: _read_int,
    float: _read_float,
    bytes: _read_bytes,
    str: lambda found, at: _read_bytes(found, at).decode(),
}


def unpack_key(found: bytes, *columns: type) -> tuple[Any, ...]:
    """The columns of a key that key() has made; InvalidArgument if they are others.

    >>> unpack_key(key(7, "ada", 1.5), int, str, float)
    (7, 'ada', 1.5)
    """
    at = ffi.new("size_t*")
    parts = tuple(_READERS[column](found, at) for column in columns)
    if at[0] != len(found):
        raise ValueError(f"after its {len(columns)} columns the key has {len(found) - at[0]} bytes")
    return parts


# ---- codecs by short names


def key_codec(columns: Any) -> Codec:
    """The codec for key=...: None for bytes, a type, or a tuple of types for several columns."""
    if columns is None or columns is raw:
        return raw
    if isinstance(columns, Codec):
        return columns
    return _Columns(columns)


class _Columns(Codec):
    """Keys of typed columns: a tuple of types, or one type for keys that are no tuples."""

    def __init__(self, columns: Any) -> None:
        self.is_tuple = isinstance(columns, tuple)
        self.types = columns if self.is_tuple else (columns,)
        if not self.types or any(column not in _READERS for column in self.types):
            raise TypeError("a column of a key is int, float, str or bytes")
        super().__init__(self._encode, self._decode)

    def _encode(self, given: Any) -> bytes:
        parts = given if self.is_tuple else (given,)
        if len(parts) != len(self.types):
            raise TypeError(f"the key has {len(self.types)} columns, not {len(parts)}")
        return key(*_typed(parts, self.types))

    def _decode(self, found: bytes) -> Any:
        parts = unpack_key(found, *self.types)
        return parts if self.is_tuple else parts[0]

    def encode_prefix(self, given: Any) -> bytes:
        """The beginning of keys whose first columns are these; the last one may be cut."""
        return key_prefix(*_typed(given if self.is_tuple else (given,), self.types))

    def encode_bound(self, given: Any) -> bytes:
        """A bound of a range: a key, or its first columns."""
        return key(*_typed(given if self.is_tuple else (given,), self.types))


def _typed(parts: tuple[Any, ...], columns: tuple[type, ...]) -> list[Any]:
    """Refuses what would be another key than the one meant, such as "1" in a column of int."""
    if len(parts) > len(columns):
        raise TypeError(f"the key has {len(columns)} columns, not {len(parts)}")
    typed = []
    for part, column in zip(parts, columns):
        if column is float and isinstance(part, int):
            part = float(part)
        if not isinstance(part, column):
            raise TypeError(f"a column is {column.__name__}, not {type(part).__name__}")
        typed.append(part)
    return typed


def value_codec(value: Any) -> Codec:
    """The codec for value=...: None or bytes, str, the format of a struct, or a Codec."""
    if value is None or value is bytes:
        return raw
    if value is str:
        return text
    if isinstance(value, str):
        return struct(value)
    if hasattr(value, "encode") and hasattr(value, "decode"):
        return Codec(value.encode, value.decode)
    raise TypeError("a value is bytes, str, foedus.json, a struct format, or a Codec")
