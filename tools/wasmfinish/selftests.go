package main

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// removeSelfTests empties the functions with which the standard library's cryptography tests itself. They run only in
// its FIPS mode, in which no program of TinyGo's starts: the mode wants a checksum that Go's own linker writes. Binaryen
// then removes the ciphers and hashes that nothing else needs. A module without such functions stays as it is.
func removeSelfTests(sections []wasmfile.Section) error {
	var code *wasmfile.Section
	var names map[int]string
	imported, ok := 0, true
	for i := range sections {
		s := &sections[i]
		r := wasmfile.Reader{Rest: s.Content}
		switch s.ID {
		case wasmfile.Import:
			imported, ok = imports(&r)
		case wasmfile.Code:
			code = s
		case wasmfile.Custom:
			if name, _ := r.Name(); name == "name" {
				names = readNames(r.Rest, namesOfFunctions)
			}
		}
		if !ok {
			return wasmfile.ErrMalformed
		}
	}
	empty := func(number int, body []byte) ([]byte, bool) {
		if isSelfTest(names[imported+number]) {
			body = []byte{0, wasmfile.OpUnreachable, wasmfile.OpEnd}
		}
		return body, true
	}
	if code != nil && !rewrite(code, empty) {
		return wasmfile.ErrMalformed
	}
	return nil
}

// isSelfTest reports whether a function is one that a package's init gives to fips140.CAST.
func isSelfTest(name string) bool {
	name, ok := strings.CutPrefix(name, "crypto/internal/fips140/")
	_, function, inside := strings.Cut(name, ".init#")
	return ok && inside && strings.Contains(function, "$")
}
