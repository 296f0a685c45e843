package harmony

import _ "embed"

// builtin describes the model's built-in tools. tools/harmonyvectors/builtin.py wrote it: browser and python are the
// reference's, container is ours, because the reference has none.
//
//go:embed builtin.json
var builtin string

// BrowserTools returns the namespace of the built-in tools browser.search, browser.open and browser.find, as gpt-oss is
// trained to use them. It belongs in [SystemContent.Tools].
func BrowserTools() Namespace { return builtinTools("browser") }

// PythonTools returns the namespace of the built-in tool python, which runs code. It belongs in [SystemContent.Tools].
func PythonTools() Namespace { return builtinTools("python") }

// ContainerTools returns the namespace of the built-in tool container.exec, which runs commands. Its arguments are
// those that vLLM documents. It belongs in [SystemContent.Tools].
func ContainerTools() Namespace { return builtinTools("container") }

// BuiltinTools returns the namespace of the built-in tool with this name: browser, container or python. ok reports
// whether there is one.
func BuiltinTools(name string) (n Namespace, ok bool) {
	n = builtinTools(name)
	return n, n.Key != ""
}

func builtinTools(key string) (n Namespace) {
	var d decoder
	d.object(rawValue([]byte(builtin)), "tools", func(name string, v raw) {
		if name == key {
			n = d.namespace(v)
			n.Key = name
		}
	})
	return n
}
