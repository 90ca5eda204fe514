"""STRAP, the scale for trajectory privacy of Singh et al. (2018): how far is a rider's trip from what is released?

`StrapStudy` is prepared once with the raw trips and asked about any number of releases, so that what the adversary
knows is the same for all of them. docs/risk.md says what the equations leave open and how it is read here.
"""
