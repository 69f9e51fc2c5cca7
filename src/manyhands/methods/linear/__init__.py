"""Linear classifiers from crowd labels, by convex optimisation and EM instead of epochs."""
