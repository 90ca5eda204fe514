"""One module per mechanism with its `PLAN` of audits (see `wayveil.risk.registry`)."""
