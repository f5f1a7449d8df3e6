"""Ids of any type as the whole numbers that methods take, and back."""
