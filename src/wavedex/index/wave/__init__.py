"""The wave index: the last W slots, spread by a scheme over n sub-indexes."""
