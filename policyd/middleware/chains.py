"""What may be installed: a chain, or the engine that it is made of.  Knows nothing else."""

from __future__ import annotations

from os import PathLike

from policyd.chain import Chain
from policyd.engine import Engine


def as_chain(chain: Chain | Engine) -> Chain:
    """*chain* itself, or one that runs the engine only.  Raises TypeError for anything else."""
    given: object = chain
    if isinstance(given, Chain):
        return given
    if isinstance(given, Engine):
        made = Chain()
        made.add_engine(given)
        return made
    if isinstance(given, str | PathLike):
        raise TypeError(f"`{given}` is a path: install what `policyd.load({str(given)!r})` gives")
    raise TypeError(
        'install what `policyd.load("policies/")` gives, or a chain: `policyd.chain.Chain()`'
    )
