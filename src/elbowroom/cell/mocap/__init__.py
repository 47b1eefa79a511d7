"""Recorded human motion: BVH and Vicon files, their points over time, and their place in the cell."""
