#!/usr/bin/env bash
# Texts that goccy/go-yaml writes without quotes, and what readers of YAML make of them.
#
# Software: github.com/goccy/go-yaml v1.19.2, go.yaml.in/yaml/v3 v3.0.6 (Go modules), PyYAML 6.0.3 (PyPI). A map with one
# text is written by goccy/go-yaml and read by all three.
# A good guess: the text comes back, since a writer puts quotes around what would be read as something else.
# Seen: a tab between two words is lost when goccy/go-yaml reads what it has written ("a<tab>b" becomes "ab"; v1.15.0 kept
# it), and PyYAML refuses the file. "-.inf" and ".nan" come back as floats from all three. "+.inf" and "1e3" come back
# from goccy/go-yaml, and are floats to yaml.v3. "0x10", "1_000", "yes" and "12:30" have their quotes and come back.
# Consequence: what this library writes for others is to be read again by another reader and compared.
set -euo pipefail

dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/goccy/go-yaml"
	yaml3 "go.yaml.in/yaml/v3"
)

func value(read func([]byte, any) error, text []byte) string {
	var back map[string]any
	if err := read(text, &back); err != nil {
		return "refused"
	}
	return fmt.Sprintf("%T %#[1]v", back["k"])
}

func main() {
	plain := func(text []byte, into any) error { return yaml.Unmarshal(text, into) }
	for i, s := range []string{"a\tb", "-.inf", ".nan", "+.inf", "1e3", "0x10", "1_000", "yes", "12:30"} {
		text, err := yaml.Marshal(map[string]string{"k": s})
		if err != nil {
			panic(err)
		}
		if err := os.WriteFile(fmt.Sprintf("%d.yaml", i), text, 0o600); err != nil {
			panic(err)
		}
		fmt.Printf("%q itself: %s, yaml.v3: %s\n", text, value(plain, text), value(yaml3.Unmarshal, text))
	}
}
GO
cat >read.py <<'PY'
import yaml

for i in range(9):
    try:
        print(type(value := yaml.safe_load(open(f"{i}.yaml"))["k"]).__name__, repr(value))
    except yaml.YAMLError:
        print("refused")
PY
printf 'module try\n\ngo 1.26\n' >go.mod
go get github.com/goccy/go-yaml@v1.19.2 go.yaml.in/yaml/v3@v3.0.6 2>/dev/null
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyyaml==6.0.3
go run . >go.txt
venv/bin/python read.py >python.txt
seen="$(paste -d '|' go.txt python.txt | sed 's/|/, PyYAML: /')"
echo "$seen"
expected='"k: a\tb\n" itself: string "ab", yaml.v3: string "a\tb", PyYAML: refused
"k: -.inf\n" itself: float64 -Inf, yaml.v3: float64 -Inf, PyYAML: float -inf
"k: .nan\n" itself: float64 NaN, yaml.v3: float64 NaN, PyYAML: float nan
"k: +.inf\n" itself: string "+.inf", yaml.v3: float64 +Inf, PyYAML: float inf
"k: 1e3\n" itself: string "1e3", yaml.v3: float64 1000, PyYAML: str '"'1e3'"'
"k: \"0x10\"\n" itself: string "0x10", yaml.v3: string "0x10", PyYAML: str '"'0x10'"'
"k: \"1_000\"\n" itself: string "1_000", yaml.v3: string "1_000", PyYAML: str '"'1_000'"'
"k: \"yes\"\n" itself: string "yes", yaml.v3: string "yes", PyYAML: str '"'yes'"'
"k: \"12:30\"\n" itself: string "12:30", yaml.v3: string "12:30", PyYAML: str '"'12:30'"
[[ "$seen" == "$expected" ]] || { echo "This has changed. Expected:"; echo "$expected"; exit 1; }
