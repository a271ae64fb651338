"""Messages of ``hbus.v1`` to domain records and back. Decoding is strict: a refusal names the field at fault."""
