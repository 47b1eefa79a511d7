"""Safety, whatever the controller wants: supervisor, filter, limits, sensor, perception, stops, flight recorder."""
