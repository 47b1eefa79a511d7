"""The peers, side by side, in one run."""
