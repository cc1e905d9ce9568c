"""Call webhooks that change objects or refuse them: whom, with which review, and what an answer means.

Pure: a call is yielded, and the caller of the chain makes it.
"""
