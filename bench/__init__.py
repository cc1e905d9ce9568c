"""What Moorage costs: `python -m bench`. See README.md; `themes.py` is the table of benchmarks."""
