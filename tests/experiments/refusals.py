"""The check of options that are refused, shared by tests of experiments."""

import os


def expect_refused(test, run, db, options):
    """Each of the options ends the program with an error that names it, and makes no database.

    run: a function of command line options. db: a directory that does not exist.
    """
    for option in options:
        with test.subTest(option=option):
            done = run("--dir", db, *option)
            test.assertEqual(done.returncode, 1)
            test.assertIn(option[0], done.stderr)
            test.assertFalse(os.path.exists(db))
