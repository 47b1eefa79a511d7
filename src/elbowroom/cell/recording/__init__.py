"""The recording of a run: its columns, the table and the thread that writes it (`table`), and its file's format."""
