"""What every kind of index is made of: its definition, what arrives, and the path of a write."""
