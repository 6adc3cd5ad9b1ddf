"""One sheet of what the swap does to the sample media, measured from outside the package and held against bounds."""
