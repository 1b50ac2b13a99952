SELECT version FROM {s}.lease_control FOR UPDATE
