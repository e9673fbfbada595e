"""The command line.  One file per command; `program` finds them and ends the process.

Nothing is defined here: the modules `list` and `eval` become attributes of this package, and
would hide the builtins.
"""

from policyd.cli.exits import Exit
from policyd.cli.program import main

__all__ = ["Exit", "main"]
