"""One module per mechanism with its `PLAN` of audits (see `wayveil.lab.audits.plan_registry`)."""
