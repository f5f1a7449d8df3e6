"""Windows in memory: storage, indexes, queries and continuous queries over the newest rows."""

from wavedex.online.indexes.split import Split
from wavedex.online.window import Window

__all__ = ["Split", "Window"]
