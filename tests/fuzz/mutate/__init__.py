"""Changes to inputs: numbers, bytes and words, lines and cells, trees of XML and TOML.  All draw from an rng."""
