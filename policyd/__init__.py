"""policyd: policies as YAML files, served as MCP interceptors (SEP-2624).

The names below are the public API; everything else in the package is internal.
"""

from policyd.api import load
from policyd.compiler import Compilation, compile_bundle
from policyd.diagnostics import Diagnostic, Level, Span
from policyd.engine import Engine
from policyd.errors import EvaluationError, InvocationError, PolicydError, PolicyError
from policyd.execution import Decision, Status
from policyd.model import Failure, Finding, Invocation, Severity
from policyd.snapshot import Snapshot

__all__ = [
    "Compilation",
    "Decision",
    "Diagnostic",
    "Engine",
    "EvaluationError",
    "Failure",
    "Finding",
    "Invocation",
    "InvocationError",
    "Level",
    "PolicyError",
    "PolicydError",
    "Severity",
    "Snapshot",
    "Span",
    "Status",
    "compile_bundle",
    "load",
]
