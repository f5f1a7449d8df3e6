"""Parts that lie in a database: SQLite and PostgreSQL."""
