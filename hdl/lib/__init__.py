"""Components and idioms that know nothing of compression: buffers, counters, prefix sums."""
