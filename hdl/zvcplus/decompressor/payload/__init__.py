"""From blocks to words: beats, their places, their bits, their words."""
