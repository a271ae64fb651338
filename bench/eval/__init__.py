"""How well it finds what it should, on data that lies outside of the project."""
