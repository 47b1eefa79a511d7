"""Replays of recordings: as a page with a slider for time, and as one HTML file."""
