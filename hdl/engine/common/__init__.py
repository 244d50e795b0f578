"""What offload and prefetch share."""
