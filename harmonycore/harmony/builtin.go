package harmony

import _ "embed"

// builtin is the reference's description of the model's built-in tools (written by tools/harmonyvectors/builtin.py).
//
//go:embed builtin.json
var builtin []byte

// BrowserTools returns the namespace of the built-in tools browser.search, browser.open and browser.find, as gpt-oss is
// trained to use them. It belongs in [SystemContent.Tools].
func BrowserTools() Namespace { return builtinTools("browser") }

// PythonTools returns the namespace of the built-in tool python, which runs code. It belongs in [SystemContent.Tools].
func PythonTools() Namespace { return builtinTools("python") }

func builtinTools(key string) Namespace {
	var d decoder
	for _, n := range d.namespaces(rawValue(builtin)) {
		if n.Key == key {
			return n
		}
	}
	return Namespace{}
}
