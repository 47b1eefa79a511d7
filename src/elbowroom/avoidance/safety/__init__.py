"""What keeps people safe whatever the controller wants: supervisor, filter, limits, perception, stops, recorder."""
