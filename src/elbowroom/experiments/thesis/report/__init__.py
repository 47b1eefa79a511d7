"""The report of the experiments: one HTML file with its numbers, texts and figures."""
