package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	sectionCustom = 0
	sectionImport = 2
	sectionExport = 7
)

var errMalformed = errors.New("not a well-formed WebAssembly module")

// keptExport reports whether Envoy, or a proxy-wasm host that behaves like it, needs the export.
func keptExport(name string) bool {
	return name == "memory" || name == "malloc" || name == "_initialize" || strings.HasPrefix(name, "proxy_")
}

// keptCustom reports whether a custom section ships: only the function names, for Envoy's backtraces.
func keptCustom(name string) bool { return name == "name" }

// finish returns the module with only the exports and custom sections that ship.
func finish(module []byte) ([]byte, error) {
	sections, err := split(module)
	if err != nil {
		return nil, err
	}
	if err := markConstants(sections); err != nil {
		return nil, err
	}
	out := slices.Clone(module[:8])
	for _, s := range sections {
		content := s.content
		switch s.id {
		case sectionCustom:
			r := reader{content}
			name, ok := r.name()
			if !ok {
				return nil, errMalformed
			}
			if !keptCustom(name) {
				continue
			}
		case sectionExport:
			exports, err := readExports(content)
			if err != nil {
				return nil, err
			}
			exports = slices.DeleteFunc(exports, func(e export) bool { return !keptExport(e.name) })
			content = binary.AppendUvarint(nil, uint64(len(exports)))
			for _, e := range exports {
				content = append(content, e.raw...)
			}
		}
		out = append(out, s.id)
		out = binary.AppendUvarint(out, uint64(len(content)))
		out = append(out, content...)
	}
	return out, nil
}

// check returns an error if the module must not ship.
func check(module []byte) error {
	sections, err := split(module)
	if err != nil {
		return err
	}
	var exports []export
	problems := []error{checkPointers(sections)}
	for _, s := range sections {
		switch s.id {
		case sectionCustom:
			r := reader{s.content}
			if name, ok := r.name(); !ok || !keptCustom(name) {
				problems = append(problems, fmt.Errorf("custom section %q", name))
			}
		case sectionImport:
			r := reader{s.content}
			n, ok := r.uint()
			for i := 0; ok && i < n; i++ {
				var from, name string
				if from, name, ok = r.importEntry(); ok && from != "env" && from != "wasi_snapshot_preview1" {
					problems = append(problems, fmt.Errorf("imports %s.%s, which no Envoy has", from, name))
				}
			}
			if !ok {
				return errMalformed
			}
		case sectionExport:
			if exports, err = readExports(s.content); err != nil {
				return err
			}
		case sectionData:
			if bytes.Contains(s.content, mark) {
				problems = append(problems, errors.New("does not know where its constants end, see filter/internal/gcroots"))
			}
		}
	}
	for _, e := range exports {
		if !keptExport(e.name) {
			problems = append(problems, fmt.Errorf("exports %s, which no host needs", e.name))
		}
	}
	for _, name := range []string{"memory", "_initialize", "malloc", "proxy_abi_version_0_2_0",
		"proxy_on_context_create"} {
		if !slices.ContainsFunc(exports, func(e export) bool { return e.name == name }) {
			problems = append(problems, fmt.Errorf("does not export %s", name))
		}
	}
	return errors.Join(problems...)
}

type wasmSection struct {
	id      byte
	content []byte
}

func split(module []byte) ([]wasmSection, error) {
	if !strings.HasPrefix(string(module), "\x00asm\x01\x00\x00\x00") {
		return nil, errMalformed
	}
	var sections []wasmSection
	r := reader{module[8:]}
	for len(r.rest) > 0 {
		id, _ := r.byte()
		content, ok := r.sized()
		if !ok {
			return nil, errMalformed
		}
		sections = append(sections, wasmSection{id, content})
	}
	return sections, nil
}

type export struct {
	name string
	raw  []byte // the whole entry
}

func readExports(content []byte) ([]export, error) {
	r := reader{content}
	n, ok := r.uint()
	var exports []export
	for i := 0; ok && i < n; i++ {
		before := r.rest
		var name string
		name, ok = r.name()
		_, okKind := r.byte()
		_, okIndex := r.uint()
		ok = ok && okKind && okIndex
		exports = append(exports, export{name, before[:len(before)-len(r.rest)]})
	}
	if !ok {
		return nil, errMalformed
	}
	return exports, nil
}

// reader reads values from the front of a section. The last result of each method reports whether the value was
// complete.
type reader struct{ rest []byte }

func (r *reader) byte() (byte, bool) {
	if len(r.rest) == 0 {
		return 0, false
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b, true
}

func (r *reader) uint() (int, bool) {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > 1<<32-1 {
		return 0, false
	}
	r.rest = r.rest[n:]
	return int(v), true
}

func (r *reader) sized() ([]byte, bool) {
	n, ok := r.uint()
	if !ok || n > len(r.rest) {
		return nil, false
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b, true
}

func (r *reader) name() (string, bool) {
	b, ok := r.sized()
	return string(b), ok
}

// importEntry reads one import. Only functions may be imported; any other import counts as malformed.
func (r *reader) importEntry() (module, name string, ok bool) {
	module, ok1 := r.name()
	name, ok2 := r.name()
	kind, ok3 := r.byte()
	_, ok4 := r.uint()
	return module, name, ok1 && ok2 && ok3 && ok4 && kind == 0
}
