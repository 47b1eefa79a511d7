"""What keeps people safe whatever the controller wants: sensors, what is believed about people, the filter."""
