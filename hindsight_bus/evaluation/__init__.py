"""Measuring retrieval: labelled questions against a running server, as any client would ask them."""
