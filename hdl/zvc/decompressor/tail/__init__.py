"""The end of a packet whose stream ends itself."""
