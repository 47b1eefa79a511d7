"""The panel beside the scene: status, settings, margins, gauges and plots."""
