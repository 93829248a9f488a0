"""Readings of a whole store, as the web page shows them: by day, by branch, by file, since the last visit."""
