"""Reading the whole ledger at a glance."""
