"""Control: attraction of the tool, repulsion by obstacles, the velocity law (K), the force law (F), the controller."""
