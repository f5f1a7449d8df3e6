"""Measurements with checked answers: `python -m bench`."""

import os

# What a write costs is what it costs with the work ahead for the next one, wherever nobody says
# that it is about the call alone.
os.environ.setdefault("WAVEDEX_PREPARE", "now")
