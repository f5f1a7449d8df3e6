"""What was committed: the journal, its manifests, the ledger of slots and the leases of readers."""
