package harmony

import _ "embed"

// builtin.json is what the reference tells the model of its built-in tools (tools/harmonyvectors/builtin.py).
//
//go:embed builtin.json
var builtin []byte

// BrowserTools is the namespace of the built-in tools browser.search, browser.open and browser.find, as gpt-oss is
// trained to use them. It belongs into [SystemContent.Tools].
func BrowserTools() Namespace { return builtinTools("browser") }

// PythonTools is the namespace of the built-in tool python, which runs code. It belongs into [SystemContent.Tools].
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
