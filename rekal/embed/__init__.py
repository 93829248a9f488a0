"""Texts to vectors: one protocol, three engines, model profiles. Nothing here imports an engine until it is opened."""
