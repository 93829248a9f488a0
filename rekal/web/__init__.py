"""The page for a person who would rather look: pages rendered here, served on this machine alone."""
