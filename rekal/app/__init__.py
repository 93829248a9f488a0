"""The services that the faces call: command line, worker, daemon. They return records or raise, and print nothing."""
