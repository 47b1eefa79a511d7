"""The 3D scene: arm, people, floor and belts, overlays, cameras."""
