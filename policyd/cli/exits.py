"""The exit codes of the command line (design section 8).  Knows nothing else."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Why `policyd` ended.

    FINE: it did what was asked, whatever it found in a payload.
    OUR_FAILURE: a mistake of ours, or of the machine.
    USAGE: the command line, or a file that it names, cannot be used.
    BROKEN_POLICIES: policies or case files do not compile.
    FAILED_TESTS: policies compile, but do not do what their tests say, or are not proven by them.
    INTERRUPTED, BROKEN_PIPE: what a shell reports for SIGINT and SIGPIPE (128 + signal).
    """

    FINE = 0
    OUR_FAILURE = 1
    USAGE = 2
    BROKEN_POLICIES = 3
    FAILED_TESTS = 4
    INTERRUPTED = 130
    BROKEN_PIPE = 141
