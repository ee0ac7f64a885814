"""What tests that build as a user does have in common: the program of README.md, and how to run a
command.
"""

import os
import subprocess

SOURCE = os.environ.get("FOEDUS_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "..", ".."))
BINARY = os.environ.get("FOEDUS_BINARY_DIR", "")
README_PRINTS = "apples: 12\n"
PROGRAM_IN_C = os.path.join(SOURCE, "tests", "c", "interface_program.c")


def read(*path):
    """The text of a file of the repository."""
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as file:
        return file.read()


def readme_block(language):
    """The first block of README.md in that language."""
    return read("README.md").split(f"```{language}\n")[1].split("```")[0]


def readme_program():
    """The first program in C++ of README.md."""
    return readme_block("cpp")


def write(folder, name, text):
    """Makes the file with its folders, and returns its path."""
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def run(*command, folder=None, **environment):
    """What the command prints. An error if it fails, with all of its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout
