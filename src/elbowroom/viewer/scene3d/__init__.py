"""What is drawn: arm, people, static scene, overlays, shells and cameras."""
