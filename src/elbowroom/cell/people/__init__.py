"""People of a scene: who walks, wanders, reaches, stands or is dragged, and the shapes that they have."""
