"""One file per mechanism. A mechanism is a policy: which counts to ask for, what to pay, what to keep."""
