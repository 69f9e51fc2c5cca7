"""`python -m manyhands` is the command line."""

from manyhands.cli.app import main

if __name__ == "__main__":
    main()
