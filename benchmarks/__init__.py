"""Speed and memory beside crowd-kit, in one run; plain scripts, not part of the package."""
