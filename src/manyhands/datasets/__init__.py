"""Data to try things on."""

from manyhands.datasets.demo import DigitsDemo, load_demo

__all__ = ["DigitsDemo", "load_demo"]
