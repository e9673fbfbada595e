"""What may be installed: a chain, or the engine that it is made of.  Knows nothing else."""

from __future__ import annotations

from policyd.chain import Chain
from policyd.engine import Engine


def as_chain(chain: Chain | Engine) -> Chain:
    """*chain* itself, or one that runs the engine only."""
    if not isinstance(chain, Engine):
        return chain
    made = Chain()
    made.add_engine(chain)
    return made
