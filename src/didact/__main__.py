"""`python -m didact` is the command line."""

from didact.cli import main

if __name__ == "__main__":
    main()
