"""The figures of the thesis' chapter 4, drawn from recordings."""
