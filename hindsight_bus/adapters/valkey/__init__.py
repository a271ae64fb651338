"""The change log and its records on Valkey or Redis, and the private server of the embedded mode."""
