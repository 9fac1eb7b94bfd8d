"""The command line: parse, call one operation, render its result. No decision is made here."""
