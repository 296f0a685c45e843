"""Lets PyPI's torch, which is built for CUDA, be imported without CUDA's libraries and without a GPU.

    stubs.py TORCH

TORCH is the installed package's folder. The libraries of torch that are for CUDA alone (520 MB) are removed. In place of
these, and of NVIDIA's, small ones are written (with gcc): every symbol that torch's other libraries want of them is there,
and every function of C says "no device". Nothing of it runs in a server for CPUs.
"""

import collections
import pathlib
import re
import subprocess
import sys

# Torch's own libraries that nothing needs without a GPU.
FOR_CUDA = ("libtorch_cuda.so", "libtorch_cuda_linalg.so", "libtorch_nvshmem.so", "libcaffe2_nvrtc.so", "libc10_cuda.so")
# Libraries that every Linux has. Their symbols are looked up in the files.
SYSTEM = (
    "libc.so.6 libm.so.6 libstdc++.so.6 libgcc_s.so.1 libpthread.so.0 libdl.so.2 librt.so.1 ld-linux-x86-64.so.2 libgomp.so.1"
).split()
# Symbols of no library: those of the interpreter, and of OpenMP, whose library torch brings along under another name.
ELSEWHERE = re.compile(r"_?Py|GOMP_|omp_")

NO_DEVICE = 100  # cudaErrorNoDevice


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Library:
    """What readelf says of a library: the symbols it has and wants, the libraries it needs, and whose each version is."""

    def __init__(self, path):
        self.has, self.wants = set(), {}
        for line in run("readelf", "-W", "--dyn-syms", str(path)).splitlines():
            field = line.split()
            if len(field) < 8 or not field[0].rstrip(":").isdigit():
                continue
            name, _, version = field[7].partition("@")
            if field[6] != "UND":
                self.has.add(name)
            elif field[4] != "WEAK" and name:
                self.wants[name] = version.lstrip("@")
        self.needs = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-W", "-d", str(path)))
        self.file_of, file = {}, ""
        for line in run("readelf", "-W", "-V", str(path)).splitlines():
            if found := re.search(r"File: (\S+)", line):
                file = found[1]
            elif (found := re.search(r"Name: (\S+)\s+Flags", line)) and file:
                self.file_of[found[1]] = file


def definition(symbol):
    """Returns a line of C that defines a symbol, by what its name says that it is."""
    if symbol.startswith("_ZTI"):  # a type, whose name must be readable
        return f'struct {{ void *of; const char *name; void *bases[6]; }} {symbol} = {{CLASS, "{symbol[4:]}"}};'
    if symbol.startswith("_ZTV"):  # a table of virtual functions
        return f"void *{symbol}[64];"
    if re.search("ErrorString|ErrorName|VersionString", symbol):
        return f'const char *{symbol}(void) {{ return "there is no CUDA here"; }}'
    if symbol.endswith("CUDACachingAllocator9allocatorE"):  # a variable
        return f"void *{symbol}[8];"
    if symbol == "_ZN4c10d16ProcessGroupNCCL7OptionsC1Eb":  # the binding to Python makes one, and asks for its type
        table = ", ".join(["method"] * 16)
        return (
            "extern char _ZTIN4c10d16ProcessGroupNCCL7OptionsE[];\nstatic void *method(void) { return nothing; }\n"
            f"static void *table[18] = {{0, _ZTIN4c10d16ProcessGroupNCCL7OptionsE, {table}}};\n"
            f"void *{symbol}(void **self) {{ *self = table + 2; return self; }}"
        )
    if symbol.startswith("_Z") and "device_count" not in symbol:  # most return a reference, so an empty object is given
        return f"void *{symbol}(void) {{ return nothing; }}"
    return f"long {symbol}(void) {{ return {0 if symbol.startswith('_Z') else NO_DEVICE}; }}"


def write(folder, name, versions):
    """Writes a library that defines symbols, which are listed by their version."""
    code = ["static long nothing[512];", "extern void *_ZTVN10__cxxabiv117__class_type_infoE[];"]
    code.append("#define CLASS (_ZTVN10__cxxabiv117__class_type_infoE + 2)")
    exports = ""
    for version, symbols in sorted(versions.items()):
        code += [definition(symbol) for symbol in sorted(symbols)]
        if version:
            exports += f"{version} {{ global: {' '.join(symbol + ';' for symbol in sorted(symbols))} }};\n"
    source, script = folder / "stub.c", folder / "stub.map"
    source.write_text("\n".join(code) + "\n")
    script.write_text(exports)
    flags = [f"-Wl,--version-script={script}"] if exports else []
    run("gcc", "-w", "-shared", "-fPIC", "-s", f"-Wl,-soname,{name}", *flags, "-o", str(folder / name), str(source), "-lstdc++")
    source.unlink()
    script.unlink()


def main():
    torch = pathlib.Path(sys.argv[1])
    folder = torch / "lib"
    for name in FOR_CUDA:
        (folder / name).unlink(missing_ok=True)
    libraries = [Library(path) for path in (*folder.glob("*.so*"), *torch.glob("_C.*.so"))]

    found = set().union(*(library.has for library in libraries))
    for name in SYSTEM:
        path = run("gcc", f"-print-file-name={name}").strip()
        if "/" in path:
            found |= Library(path).has
    missing = set(FOR_CUDA)
    for library in libraries:
        missing |= {name for name in library.needs if name not in SYSTEM and not (folder / name).exists()}
    missing = {name for name in missing if not name.startswith("libpython")}

    stubs = {name: collections.defaultdict(set) for name in sorted(missing)}
    symbols = {}
    for library in libraries:
        for symbol, version in library.wants.items():
            if symbol not in found and not ELSEWHERE.match(symbol):
                # A symbol without a version is taken from any library that is loaded.
                symbols[symbol] = (library.file_of[version] if version else FOR_CUDA[-1], version)
    for symbol, (name, version) in symbols.items():
        stubs[name][version].add(symbol)
    for name, versions in stubs.items():
        write(folder, name, versions)
    print(f"{len(stubs)} libraries with {len(symbols)} symbols")


if __name__ == "__main__":
    main()
