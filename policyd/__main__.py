"""`python -m policyd`: the same as the `policyd` command."""

from policyd.cli import main

if __name__ == "__main__":
    main()
