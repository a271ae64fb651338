"""Models of meaning: each turns text into vectors of one profile."""
