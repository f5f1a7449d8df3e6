"""Parts that are larger than memory, or lie afar: only what an answer needs is read."""
