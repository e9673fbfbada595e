"""From what was said in several places to `Settings`: flags, before variables, before the file.

Knows no file and no command line: each place is a mapping from the names of options to values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policyd.diagnostics import closest
from policyd.settings.table import PREFIX, Option, Settings, options

Said = Mapping[str, Any]
"""What one place says: values by the name of the option; what it does not say is absent."""

OTHER_VARIABLES = ("POLICYD_SETTINGS", "POLICYD_DEBUG")
"""Variables that are no option: where the file is, and whether internal errors are shown."""


@dataclass(frozen=True, slots=True)
class Variables:
    """What the environment says.

    mistakes: one line for each variable that cannot be used.
    unknown: one line for each that nobody reads.
    """

    said: Said
    mistakes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def read_variables(environ: Mapping[str, str]) -> Variables:
    """The options that *environ* sets; a variable that is empty sets nothing."""
    said: dict[str, Any] = {}
    mistakes: list[str] = []
    for each in options():
        text = environ.get(each.variable, "").strip()
        if text:
            try:
                said[each.name] = each.kind.read(text)
            except ValueError as error:
                mistakes.append(f"the variable `{each.variable}`: {error}")
    for one, other in contradictions(said):
        mistakes.append(f"the variables `{one.variable}` and `{other.variable}` exclude each other")
    return Variables(said, tuple(mistakes), tuple(_unknown(environ)))


def _unknown(environ: Mapping[str, str]) -> Iterator[str]:
    known = [*(each.variable for each in options()), *OTHER_VARIABLES]
    for name in environ:
        # Kubernetes sets these two for a service that is called `policyd`
        foreign = name.startswith((f"{PREFIX}SERVICE_", f"{PREFIX}PORT"))
        if name.startswith(PREFIX) and name not in known and not foreign:
            # without what all have in common, which would make them all alike
            guess = closest(name.removeprefix(PREFIX), [one.removeprefix(PREFIX) for one in known])
            hint = "" if guess is None else f"; did you mean `{PREFIX}{guess}`?"
            yield f"the variable `{name}` means nothing here{hint}"


def contradictions(said: Said) -> Iterator[tuple[Option, Option]]:
    """Options of one place that exclude each other."""
    named = {each.name: each for each in options()}
    for each in options():
        if each.instead_of is not None and each.instead_of in said and _counts(each, said):
            yield each, named[each.instead_of]


def settle(*places: Said) -> Settings:
    """What counts of several places, the strongest first."""
    values: dict[str, Any] = {}
    for said in reversed(places):
        for each in options():
            if each.instead_of in said and not _counts(each, said):
                values.pop(each.name, None)
        values |= said
    return Settings(**values)


def _counts(option: Option, said: Said) -> bool:
    """True when *said* asks for *option*; a flag that is off does not."""
    return said.get(option.name, False) is not False
