"""The reflection services as a deployable of their own."""
