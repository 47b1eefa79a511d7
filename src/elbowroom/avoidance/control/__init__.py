"""What draws the tool and what pushes the arm: the velocity law (K), the force law (F), and the controller of both."""
