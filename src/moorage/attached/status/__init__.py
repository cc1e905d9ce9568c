"""Check an installation of attach piece by piece, and say with which command each problem is mended."""
