"""CronJobs: Jobs at given times.

`controller` decides, with `times` for when a Job is due and `history` for the Jobs that were.
"""
