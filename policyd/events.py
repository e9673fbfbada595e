"""The events of MCP: their names, and which names an expression may use in each.

An event is the name of a JSON-RPC method; the set is open, so an unknown event is legal,
only untyped.  Source: SEP-2624 "Interceptable events", MCP schemas 2025-11-25 and 2026-07-28.
"""

from __future__ import annotations

ANY_EVENT = "*"

INTERCEPTED_EVENTS: tuple[str, ...] = (
    "completion/complete",
    "elicitation/create",
    "llm/completion",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "roots/list",
    "sampling/createMessage",
    "tools/call",
    "tools/list",
)
"""What `*` expands to on the wire: the events that some chain sends."""

MCP_METHODS: tuple[str, ...] = (
    *INTERCEPTED_EVENTS,
    "ping",
    "server/discover",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/list",
    "tasks/result",
    "tasks/update",
    "notifications/cancelled",
    "notifications/elicitation/complete",
    "notifications/message",
    "notifications/progress",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/roots/list_changed",
    "notifications/tasks/status",
    "notifications/tools/list_changed",
)
"""Every method name that a policy may mention without a warning."""

ALWAYS = frozenset(
    {"payload", "event", "phase", "principal", "invoker", "session", "trace", "context", "now"}
)
"""Names that exist in every event and phase."""

REQUEST_NAMES: dict[str, frozenset[str]] = {
    "tools/call": frozenset({"tool", "args"}),
    "prompts/get": frozenset({"prompt", "args"}),
    "resources/read": frozenset({"uri"}),
    "resources/subscribe": frozenset({"uri"}),
}
"""Names that exist in the request phase of one event only."""


def names_in(event: str, phase: str) -> frozenset[str]:
    """The names that an expression may use for this event and phase (design section 4)."""
    if phase == "response":
        return ALWAYS | {"result"}
    return ALWAYS | REQUEST_NAMES.get(event, frozenset())


def matches_event(pattern: str, event: str) -> bool:
    """True when *pattern* (an event name, `tools/*` or `*`) covers *event*."""
    if pattern.endswith("/*"):
        return event.startswith(pattern[:-1])
    return pattern in (ANY_EVENT, event)


def expand(pattern: str) -> tuple[str, ...]:
    """The concrete events that a chain without wildcards must be told for *pattern*."""
    if "*" not in pattern:
        return (pattern,)
    known = INTERCEPTED_EVENTS if pattern == ANY_EVENT else MCP_METHODS
    return tuple(event for event in known if matches_event(pattern, event))
