"""`python -m wavedex` is the command `wavedex`."""

from wavedex.cli import main

main()
