"""Compiled passes over labels: the E- and M-steps that decide how fast aggregation is."""
