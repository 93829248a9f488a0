"""The process that keeps model and index ready, and its clients."""
