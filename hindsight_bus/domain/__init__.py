"""Pure rules of the memory bus: no I/O, no clock, no asyncio."""
