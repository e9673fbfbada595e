"""The kinds of values that an option of `policyd serve` takes.

Each kind says how a value is written on the command line or in a variable, and what a JSON
Schema says of it in `policyd.yaml`.  Knows no option and reads no file.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from policyd.diagnostics import did_you_mean

_ON = ("true", "1", "yes", "on")
_OFF = ("false", "0", "no", "off")


class OptionKind(Protocol):
    """What values of one kind look like."""

    @property
    def metavar(self) -> str:
        """What stands for a value in a usage line."""
        ...

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a value in a file."""
        ...

    def read(self, text: str) -> Any:
        """The value that *text* stands for.  Raises ValueError with the words to tell people."""
        ...


@dataclass(frozen=True, slots=True)
class Text:
    """Any text that is not empty."""

    metavar: str = "TEXT"

    def schema(self) -> dict[str, Any]:
        """A string."""
        return {"type": "string", "minLength": 1}

    def read(self, text: str) -> str:
        """The text itself."""
        if not text:
            raise ValueError("a text is missing")
        return text


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words, which become a value of *words*."""

    words: type[StrEnum]

    @property
    def metavar(self) -> str:
        """The words, with a bar between two."""
        return f"[{'|'.join(self.words)}]"

    def schema(self) -> dict[str, Any]:
        """An enumeration."""
        return {"enum": [str(word) for word in self.words]}

    def read(self, text: str) -> StrEnum:
        """The value of the word *text*."""
        try:
            return self.words(text)
        except ValueError:
            guess = did_you_mean(text, self.words)
            listed = ", ".join(f"`{word}`" for word in self.words)
            told = f"; {guess}" if guess else ""
            raise ValueError(f"`{_cut(text)}` is none of {listed}{told}") from None


@dataclass(frozen=True, slots=True)
class Flag:
    """Yes or no."""

    metavar: str = "true|false"

    def schema(self) -> dict[str, Any]:
        """A boolean."""
        return {"type": "boolean"}

    def read(self, text: str) -> bool:
        """True or False, as people write them in variables."""
        word = text.casefold()
        if word not in _ON + _OFF:
            raise ValueError(f"`{_cut(text)}` is neither `true` nor `false`")
        return word in _ON


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number from *least* to *most*, both included."""

    least: int
    most: int
    metavar: str = "N"

    def schema(self) -> dict[str, Any]:
        """An integer within its limits."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    def read(self, text: str) -> int:
        """The number that *text* writes."""
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18):
            raise ValueError(f"`{_cut(text)}` is not a whole number")
        if not self.least <= int(text) <= self.most:
            raise ValueError(f"`{text}` is out of range: from {self.least} to {self.most}")
        return int(text)


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen: a host and a port."""

    metavar: str = "HOST:PORT"

    def schema(self) -> dict[str, Any]:
        """A string; what it must look like is for `read`."""
        help = "an address is HOST:PORT, such as `127.0.0.1:8765`"
        return {"type": "string", "minLength": 1, "errorMessage": help}

    def read(self, text: str) -> tuple[str, int]:
        """Host and port of `HOST:PORT`; an IPv6 host stands in brackets (RFC 3986 3.2.2)."""
        host, colon, port = text.rpartition(":")
        bracketed = host.startswith("[") and host.endswith("]")
        if not colon or not host or (":" in host and not bracketed):
            raise ValueError(f"`{_cut(text)}` is not HOST:PORT; an IPv6 host needs brackets")
        if not (port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= 65535):
            raise ValueError(f"`{_cut(port)}` is not a port: from 0 (any free one) to 65535")
        return host.removeprefix("[").removesuffix("]"), int(port)


@dataclass(frozen=True, slots=True)
class File:
    """The path of a file; in `policyd.yaml` it is relative to the directory of that file."""

    metavar: str = "FILE"

    def schema(self) -> dict[str, Any]:
        """A string."""
        return {"type": "string", "minLength": 1}

    def read(self, text: str) -> Path:
        """The path.  Nobody looks whether there is something."""
        if not text or "\0" in text:
            raise ValueError("a path is missing")
        return Path(text)


@dataclass(frozen=True, slots=True)
class Many:
    """Several values of one kind: a flag that repeats, a list, or a text with commas."""

    kind: OptionKind

    @property
    def metavar(self) -> str:
        """That of one value."""
        return self.kind.metavar

    def schema(self) -> dict[str, Any]:
        """An array."""
        return {"type": "array", "minItems": 1, "items": self.kind.schema()}

    def read(self, text: str) -> tuple[Any, ...]:
        """The values, which have commas between them."""
        parts = [part for part in re.split(r"\s*,\s*", text.strip()) if part]
        if not parts:
            raise ValueError("a value is missing: write one, or several with commas between them")
        return tuple(self.kind.read(part) for part in parts)


def shown_value(value: Any) -> str:
    """A default as people would write it."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], int):
        host, port = value
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if isinstance(value, str | Path):
        return str(value)
    return json.dumps(value)


def place_below(kind: OptionKind, value: Any, directory: Path) -> Any:
    """*value*, where its kind is a path, below *directory* unless it is absolute."""
    if isinstance(kind, Many):
        return tuple(place_below(kind.kind, one, directory) for one in value)
    return directory / value if isinstance(kind, File) else value


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
