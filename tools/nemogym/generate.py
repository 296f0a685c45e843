"""Writes e2e/nemogym/testdata/vectors/*.json: what NeMo Gym's VLLMModel asks a server, and what it answers its clients. And
keys.json: the keys of its configuration.

    make nemogym-vectors

NeMo Gym's code is fetched at COMMIT; --git names a repository that has it already. The same commit and the same packages
(tools/python/nemogym.txt) write the same bytes. e2e/nemogym/testdata/README.md describes the files.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

COMMIT = "07d6b0d07b22fcf530b4c211dae2ee23100428e4"
SOURCE = "https://github.com/NVIDIA-NeMo/Gym"
FOLDERS = ["nemo_gym", "responses_api_models/vllm_model"]
OUT = pathlib.Path(__file__).resolve().parents[2] / "e2e" / "nemogym" / "testdata"


def git(*arguments, **options):
    return subprocess.run(["git", *map(str, arguments)], check=True, **options)


def fetch(repository, folder):
    """Puts FOLDERS at COMMIT into a folder. Without a repository it asks SOURCE, for these files only."""
    if repository is None:
        repository = folder / ".git"
        git("init", "--quiet", folder)
        git("-C", folder, "remote", "add", "origin", SOURCE)
        git("-C", folder, "fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", COMMIT)
    archive = git("--git-dir", repository, "archive", COMMIT, *FOLDERS, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)


def write(file, member):
    file.parent.mkdir(exist_ok=True)
    file.write_text(f'{{"commit":"{COMMIT}",{member}}}\n', encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--git", type=pathlib.Path, help="a git directory that has the commit")
    parser.add_argument("--out", type=pathlib.Path, default=OUT)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        fetch(arguments.git, folder)
        sys.path.insert(0, str(folder))
        import cases
        import gym

        for name, group in cases.groups().items():
            vectors = [gym.vector(each) for each in group]
            names = [v["name"] for v in vectors]
            if len(set(names)) != len(names):
                sys.exit(f"{name}: two cases have one name")
            lines = ",\n".join(json.dumps(v, ensure_ascii=False, separators=(",", ":")) for v in vectors)
            write(arguments.out / "vectors" / f"{name}.json", f'"vectors":[\n{lines}\n]')
            print(f"{name}: {len(vectors)} vectors")
        keys = ",\n".join(json.dumps(key) for key in gym.keys())
        write(arguments.out / "keys.json", f'"keys":[\n{keys}\n]')


if __name__ == "__main__":
    main()
