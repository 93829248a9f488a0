"""What ``rekal doctor`` looks at: it does each thing instead of looking whether it could be done."""
