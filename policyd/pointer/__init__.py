"""Places in a JSON document: JSON Pointer, edits that copy, pointers with wildcards.

Knows RFC 6901 and plain JSON values (dict, list, str, int, float, bool, None).  Knows no
payload and no policy.  Nothing here changes a document that it was given: an edit returns a
new root, copies the containers on the way to the place, and shares all the rest.

Everything walks with an explicit stack, so depth is bounded by memory and not by Python.
"""

from policyd.pointer.many import Draft, PointerPattern, parse_pattern
from policyd.pointer.one import (
    REMOVE,
    Link,
    Place,
    Pointer,
    PointerError,
    PointerFlaw,
    add,
    format_pointer,
    get,
    parse_pointer,
    place_of,
    remove,
    replace,
)

__all__ = [
    "REMOVE",
    "Draft",
    "Link",
    "Place",
    "Pointer",
    "PointerError",
    "PointerFlaw",
    "PointerPattern",
    "add",
    "format_pointer",
    "get",
    "parse_pattern",
    "parse_pointer",
    "place_of",
    "remove",
    "replace",
]
