package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// keptExport reports whether Envoy, or a proxy-wasm host that behaves like it, needs the export.
func keptExport(name string) bool {
	return name == "memory" || name == "malloc" || name == "_initialize" || strings.HasPrefix(name, "proxy_")
}

// keptCustom reports whether a custom section ships: only the function names, for Envoy's backtraces.
func keptCustom(name string) bool { return name == "name" }

// finish returns the module with only the exports and custom sections that ship, and without tests of itself.
func finish(module []byte) ([]byte, error) {
	sections, err := wasmfile.Split(module)
	if err != nil {
		return nil, err
	}
	if err := markConstants(sections); err != nil {
		return nil, err
	}
	if err := removeSelfTests(sections); err != nil {
		return nil, err
	}
	var out []wasmfile.Section
	for _, s := range sections {
		switch s.ID {
		case wasmfile.Custom:
			r := wasmfile.Reader{Rest: s.Content}
			name, ok := r.Name()
			if !ok {
				return nil, wasmfile.ErrMalformed
			}
			if !keptCustom(name) {
				continue
			}
		case wasmfile.Export:
			exports, err := readExports(s.Content)
			if err != nil {
				return nil, err
			}
			exports = slices.DeleteFunc(exports, func(e export) bool { return !keptExport(e.name) })
			s.Content = binary.AppendUvarint(nil, uint64(len(exports)))
			for _, e := range exports {
				s.Content = append(s.Content, e.raw...)
			}
		}
		out = append(out, s)
	}
	return wasmfile.Join(out), nil
}

// ship returns the module with V8's inlining limited and its data joined, if it may ship.
func ship(module []byte) ([]byte, error) {
	sections, err := wasmfile.Split(module)
	if err != nil {
		return nil, err
	}
	if err := limitInlining(sections); err != nil {
		return nil, err
	}
	if err := check(wasmfile.Join(sections)); err != nil {
		return nil, err
	}
	if err := joinData(sections); err != nil {
		return nil, err
	}
	return wasmfile.Join(sections), nil
}

// check returns an error if the module must not ship.
func check(module []byte) error {
	sections, err := wasmfile.Split(module)
	if err != nil {
		return err
	}
	var exports []export
	problems := []error{checkPointers(sections)}
	for _, s := range sections {
		switch s.ID {
		case wasmfile.Custom:
			r := wasmfile.Reader{Rest: s.Content}
			if name, ok := r.Name(); !ok || !keptCustom(name) {
				problems = append(problems, fmt.Errorf("custom section %q", name))
			}
		case wasmfile.Import:
			r := wasmfile.Reader{Rest: s.Content}
			n, ok := r.Uint()
			for i := 0; ok && i < n; i++ {
				var from, name string
				if from, name, ok = r.FunctionImport(); ok && from != "env" && from != "wasi_snapshot_preview1" {
					problems = append(problems, fmt.Errorf("imports %s.%s, which no Envoy has", from, name))
				}
			}
			if !ok {
				return wasmfile.ErrMalformed
			}
		case wasmfile.Export:
			if exports, err = readExports(s.Content); err != nil {
				return err
			}
		case wasmfile.Data:
			if bytes.Contains(s.Content, mark) {
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

type export struct {
	name string
	raw  []byte // the whole entry
}

func readExports(content []byte) ([]export, error) {
	r := wasmfile.Reader{Rest: content}
	n, ok := r.Uint()
	var exports []export
	for i := 0; ok && i < n; i++ {
		before := r.Rest
		var name string
		name, ok = r.Name()
		_, okKind := r.Byte()
		_, okIndex := r.Uint()
		ok = ok && okKind && okIndex
		exports = append(exports, export{name, before[:len(before)-len(r.Rest)]})
	}
	if !ok {
		return nil, wasmfile.ErrMalformed
	}
	return exports, nil
}
