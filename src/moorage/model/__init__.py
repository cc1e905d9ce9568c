"""What things are: typed views of documents, quantities, names, field paths and errors, feature gates.

Imports nothing else of Moorage's; everything else stands on it. Next on the path of a pod: `moorage.match`.
"""
