"""The bytes that travel, and the records they hold: coding and decoding, nothing else."""
