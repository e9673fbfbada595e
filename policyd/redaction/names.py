"""New names for keys that must not be seen, such that no entry is lost.

Knows names only.
"""

from __future__ import annotations

from typing import Any

from policyd.expression import Budget


class KeyNames:
    """The new names of the keys of one document.

    Where different keys become the same, the second and later ones get `#2`, `#3` and so on,
    the same for the same key everywhere.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}

    def name(self, base: str, key: str, taken: set[str], budget: Budget) -> str:
        """What *key*, which became *base*, is called among neighbours called *taken*.

        The name is added to them.  Each one that is taken costs a step of the budget.
        """
        known = self._numbers.setdefault(base, {})
        number = known.setdefault(key, len(known) + 1)
        while (name := base if number == 1 else f"{base}#{number}") in taken:
            budget.spend(1)
            number += 1
        taken.add(name)
        return name

    def rename(
        self, holder: dict[str, Any], wanted: dict[str, str], budget: Budget
    ) -> dict[str, str]:
        """Rename the keys of *holder* in place, and give the new name of each.

        *wanted* says what its keys have become.  A key keeps its place among its neighbours.
        """
        taken = {key for key in holder if key not in wanted}
        own = {key: self.name(base, key, taken, budget) for key, base in wanted.items()}
        items = [(own.get(key, key), child) for key, child in holder.items()]
        holder.clear()
        holder.update(items)
        return own
