"""Here so that tests in folders below find the helpers of this one."""
