"""A race of the wave index against what people would use instead: same rows, same questions, checked answers."""
