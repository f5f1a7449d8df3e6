"""The L-INDEX: values in one sorted linked list (003, Section 5.1).

COST: a search visits every smaller value, and the first that is not smaller. It answers in order at
once.
"""

from __future__ import annotations

from wavedex.online.indexes.chains import ChainIndex


class ListIndex(ChainIndex):
    """Values in one sorted linked list."""

    kind = "list"

    def __init__(self) -> None:
        super().__init__(buckets=1)
