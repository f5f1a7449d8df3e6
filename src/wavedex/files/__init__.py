"""The disk behind one contract: local, remote, on an object store, or spread over several disks."""
