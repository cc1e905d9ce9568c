"""Check documents one by one in several processes; what needs the whole input is done in order in one."""
