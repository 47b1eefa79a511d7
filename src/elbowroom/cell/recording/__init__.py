"""The recording of a run: its table, its file, the thread that writes it, and the scene in its notes."""
