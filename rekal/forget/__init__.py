"""Deletion for good: here, in our own ref, and at teammates'."""
