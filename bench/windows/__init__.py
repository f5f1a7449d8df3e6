"""Windows in memory: what is measured, a question a file."""
