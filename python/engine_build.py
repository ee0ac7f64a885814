"""Makes foedus._engine, the C interface of the engine as a cffi module, with the engine in it.

The engine is FOEDUS_LIBRARY, a libfoedus.a; else that of ../build/release; else it is built, which
takes CMake, a compiler of C++20 and some minutes.
"""

import os
import pathlib
import re
import subprocess

import cffi

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "foedus-core" / "include"
BUILT = ROOT / "build" / "release" / "lib" / "libfoedus.a"
LIBRARIES = ["numa", "liburing"]

# Functions of this package that the engine calls.
CALLBACKS = """
extern "Python" int foedus_python_transact(foedus_txn*, void*, foedus_error*);
extern "Python" void foedus_python_durable(void*, int);
extern "Python" void foedus_python_log(void*, int, const char*, size_t);
extern "Python" void foedus_python_progress(void*, int, uint64_t, uint64_t);
"""


def declarations(header):
    """What cffi has to know of the header: no comments, macros, and guards for C++."""
    text = re.sub(r"//[^\n]*", "", header)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.DOTALL)
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
    return text.replace("FOEDUS_API ", "")


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


def library():
    """The path of libfoedus.a."""
    if "FOEDUS_LIBRARY" in os.environ:
        return pathlib.Path(os.environ["FOEDUS_LIBRARY"]).resolve()
    if BUILT.exists():
        return BUILT
    build = pathlib.Path(__file__).resolve().parent / "build" / "engine"
    run("cmake", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
        "-DFOEDUS_BUILD_TOOLS=OFF", "-DFOEDUS_BUILD_EXPERIMENTS=OFF", "-DFOEDUS_BUILD_TESTS=OFF")
    run("cmake", "--build", build, "--parallel", os.cpu_count() or 1, "--target", "foedus")
    return build / "lib" / "libfoedus.a"


def has_package(name):
    return subprocess.run(["pkg-config", "--exists", name], check=False).returncode == 0


def link_flags():
    """What libfoedus.a needs of the system."""
    packages = LIBRARIES + [name for name in ("libpmem",) if has_package(name)]
    found = subprocess.run(["pkg-config", "--libs", *packages], check=True, capture_output=True,
                           text=True)
    flags = ["-Wl,--exclude-libs,ALL,-O1,--strip-debug", *found.stdout.split()]
    if has_package("libisal"):  # its only use is weak: a linker would leave it out
        flags.append("-Wl,--push-state,--no-as-needed,-lisal,--pop-state")
    return flags + ["-lstdc++", "-pthread"]


builder = cffi.FFI()
builder.cdef(declarations((INCLUDE / "foedus" / "foedus_c.h").read_text(encoding="utf-8"))
             + CALLBACKS)
builder.set_source("foedus._engine", "#include <foedus/foedus_c.h>",
                   include_dirs=[str(INCLUDE)], extra_objects=[str(library())],
                   extra_link_args=link_flags())
