"""Studies by one command: their data shape, parameters, tables and figures, ours beside theirs. For internal eyes.

Every folder in this room is a study: `describe(lab)` in it says what is run and what is shown (`study.py`), `run.py`
runs it, `page.py` shows it. A study sees raw trips; its page says whose they are.
"""
