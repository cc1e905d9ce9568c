"""Start the process that all processes of the simulator are forked from."""

from moorage.dashboard.simulator.zygote import main

main()
