"""Adapters: everything that talks to the outside, one package a library or system."""
