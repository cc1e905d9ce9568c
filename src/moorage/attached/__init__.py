"""Run beside a cluster that is not ours: webhook and controller of attach, their installation and its status."""
