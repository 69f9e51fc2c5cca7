"""Cross-fitting: beliefs about items from labels and features, each without itself."""
