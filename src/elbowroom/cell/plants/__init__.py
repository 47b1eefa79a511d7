"""What moves: kinematic, rigid-body and MuJoCo plants behind one interface, the drive, and contacts."""
