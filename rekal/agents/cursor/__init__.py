"""The adapter of Cursor: its command line, its editor and its transcripts."""
