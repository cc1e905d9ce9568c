"""Input of a plan: files, standard input or a live cluster, admitted, with notes."""
