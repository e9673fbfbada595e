"""`load`: the one call with which a program takes policies in."""

from __future__ import annotations

from pathlib import Path

from policyd.compiler import compile_bundle
from policyd.engine import Engine
from policyd.errors import PolicyError
from policyd.source import DirectorySource


def load(*paths: str | Path, allow_empty: bool = False) -> Engine:
    """Compile the policies below *paths* and put them in force.

    Raises PolicyError with every diagnostic when they do not compile.
    """
    bundle = DirectorySource(paths).read()
    compilation = compile_bundle(bundle, allow_empty=allow_empty)
    if compilation.snapshot is None:
        raise PolicyError(compilation.diagnostics, bundle.texts())
    return Engine(compilation.snapshot)
