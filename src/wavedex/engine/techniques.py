"""Every update technique by its name (Section 2.1, and `runs`, which is ours).

- `packed-shadow` writes a changed sub-index anew, packed, next to the old one.
- `runs` writes only what arrives, as a packed part of its own next to the others.
  A merge makes one part of them later.
- `in-place` adds to the sub-index itself, where no reader looks.
- `simple-shadow` copies a sub-index that readers use and updates the copy in place.
"""

from __future__ import annotations

from wavedex.engine.immutable import Immutable
from wavedex.engine.in_place import InPlace
from wavedex.engine.technique import Technique
from wavedex.errors import UnknownScheme

TECHNIQUES: dict[str, Technique] = {
    technique.name: technique
    for technique in (
        InPlace("in-place", changes_files=True),
        InPlace("simple-shadow", changes_files=False),
        Immutable("packed-shadow", defers_merges=False),
        Immutable("runs", defers_merges=True),
    )
}


def technique(name: str) -> Technique:
    """The technique of that name. Raises UnknownScheme."""
    if not isinstance(name, str) or name not in TECHNIQUES:
        raise UnknownScheme(
            f"There is no update technique {name!r}. Choose one of {', '.join(TECHNIQUES)}."
        )
    return TECHNIQUES[name]
