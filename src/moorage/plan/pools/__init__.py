"""Answer what pools of autoscalers could do for a cluster: their nodes beside those there are, tried by the scheduler.

`reading` reads pools; `pool_nodes` has their nodes in a simulated cluster and asks the scheduler's plugins about them.
"""
