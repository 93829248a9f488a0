"""The verbs of memories."""
