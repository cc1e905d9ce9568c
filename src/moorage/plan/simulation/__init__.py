"""One simulated cluster in virtual time, of which `plan`, what-if, rollouts and `explain` are views.

    simulation = Simulation(Settings(gates))
    load(simulation, inventory)            # what files or a live cluster have
    simulation.settle()                    # controllers, scheduler and kubelets work until nothing more happens
    simulation.api.patch(...)              # a user's change; create, update, patch, delete, evict are admitted
    drain(simulation, ["node-1"])          # as kubectl does it, with its retries
    simulation.settle(awaits_eviction)     # ... also wait for tolerationSeconds to run out
    simulation.run_until(start + 600)      # or go on to a time
    simulation.pods(), simulation.world    # what there is then

`api` has the verbs and the log of deletions; `controllers` runs the real controllers of `moorage.control`; `scheduling`
the real scheduler; `kubelets` the real kubelet state machine. No rule of theirs is written here again.
"""
