"""The bus services as a deployable of their own."""
