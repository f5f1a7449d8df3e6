"""Set-valued indexes, a structure a file."""
