"""The browser cockpit; knows recordings and snapshots, no controller."""
