"""Hold the simulated cluster in processes of its own, and answer each question in a fork of one of them.

The server starts one process with all imports done (`zygote`). It forks a process for each generation of the input,
which loads and builds the cluster (`built`) and forks another one that settles it (`settled`). A question is answered
by a fork of one of the two, which may spoil its copy.
"""
