"""`elbowroom bench`: the command, and what it prints for each benchmark."""
