"""The page in a browser: a live cell or a recording, drawn, described and steered."""
