"""Advice from measurements: which settings suit your data."""
