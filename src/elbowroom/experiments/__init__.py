"""The papers' experiments, tables and figures: data in, report out."""
