"""The live session: the process that runs the cell, the page that shows it, and what passes between them."""
