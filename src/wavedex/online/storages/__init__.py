"""How basic windows keep attributes that are aggregated out, a structure a file."""
