"""Training a network on a crowd's labels: one epoch loop, its batches, optimisers and checkpoints.

The room knows no method. Nothing is exported here: import from the modules, so that the settings of
training (`manyhands.engine.settings`) can be read without loading torch.
"""
