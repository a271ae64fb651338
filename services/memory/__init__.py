"""The memory services as a deployable of their own."""
