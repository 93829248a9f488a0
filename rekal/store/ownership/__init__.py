"""Whether what stands in the store's place is this clone's own: its files, and what its databases hold."""
