"""Files of notes, mails and exports as text that can be asked: found, read, cut into chunks and kept."""
