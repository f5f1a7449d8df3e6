"""Pictures of an index: in a terminal, in a notebook, in files. Drawn from plain numbers."""
