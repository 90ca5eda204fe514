"""`python -m wayveil`: the command line."""

from wayveil.cli import main

if __name__ == "__main__":
    main()
