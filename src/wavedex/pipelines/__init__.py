"""Pipeline files: what a TOML file says, checked as one before anything runs."""
