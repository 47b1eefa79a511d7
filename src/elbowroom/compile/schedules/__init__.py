"""Schedules: steps of closed loops as data (steps.py), run in SIMD lanes (lanes.py) or on a graphics card (card.py)."""
