"""Components and idioms that do not depend on compression: buffers, counters, prefix sums."""
