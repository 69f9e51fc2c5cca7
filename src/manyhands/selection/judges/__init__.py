"""Panels of judges: models and people, whose labels are compared with some gold."""
