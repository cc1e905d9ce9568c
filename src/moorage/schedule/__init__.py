"""The scheduler: queue, cycle, plugins, preemption, and the live scheduler against an API server.

It knows no servers or files: `moorage.plan` drives it offline, `schedule.live` with a client.
"""
