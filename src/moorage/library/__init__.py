"""What `import moorage` offers: functions and results for programs, where the commands print text.

`moorage/__init__.py` has the list of public names; everything else in this distribution may change at any time.
"""
