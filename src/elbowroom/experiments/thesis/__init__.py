"""Chapter 4 of the thesis: seven tests as data files, run, measured, drawn and reported."""
