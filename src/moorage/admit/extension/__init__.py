"""What users add to admission: policies and webhooks, which change objects or refuse them.

Pure: what has to be sent to a webhook is yielded (`steps`), and what has to be looked up is asked of a world (`world`).
"""
