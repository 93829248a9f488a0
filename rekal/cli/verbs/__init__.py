"""One file a verb: read the arguments, call rekal.app, print."""
