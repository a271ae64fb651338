"""The contract `hbus.v1`: modules generated from `proto/hbus/v1` by `make proto`; never edited by hand."""
