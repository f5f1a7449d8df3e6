"""What tests share: rows, oracles, walks, servers. No test is in here."""
