"""Verbs about documents: notes, mails and exports."""
