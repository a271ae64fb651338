"""Views: in-memory indexes over one namespace, rebuilt from the log at will."""
