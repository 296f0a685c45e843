package filterfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// SectionName is the name of the custom section with the stamp. It is the last section of the module, so a file that was
// copied in part has none (RATIONALE.md#114).
const SectionName = "harmony-edge"

// MaxSize is the largest module that [Read] takes, in bytes. The filter is a quarter of it.
const MaxSize = 16 << 20

// stamp is the content of the section, as JSON.
type stamp struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"` // of everything before the section
}

// Info is what a module tells of itself.
type Info struct {
	// Version is the filter's version, as its metric harmony_build_info shows it.
	Version string
	// SHA256 is the checksum of the whole file, in hexadecimal digits. Envoy checks what it has fetched against it.
	SHA256 string
}

// Stamp returns a module with a stamp at its end. An earlier stamp is replaced.
func Stamp(module []byte, version string) ([]byte, error) {
	sections, err := wasmfile.Split(module)
	if err != nil {
		return nil, err
	}
	kept := sections[:0:0]
	for _, s := range sections {
		if _, stamped := stampOf(s); !stamped {
			kept = append(kept, s)
		}
	}
	plain := wasmfile.Join(kept)
	text, err := json.Marshal(stamp{Version: version, SHA256: sum(plain)})
	if err != nil {
		return nil, err
	}
	content := append(wasmfile.AppendSized(nil, []byte(SectionName)), text...)
	return wasmfile.AppendSized(append(plain, wasmfile.Custom), content), nil
}

// Read returns what a module tells of itself. Its error says why the bytes are not a whole filter of Harmony Edge for
// Envoys of today, and what to do.
func Read(module []byte) (Info, error) {
	if len(module) > MaxSize {
		return Info{}, fmt.Errorf("is larger than %d MiB; no filter is that large", MaxSize>>20)
	}
	if err := checkBeginning(module); err != nil {
		return Info{}, err
	}
	sections, err := wasmfile.Split(module)
	if err != nil {
		return Info{}, errors.New("ends in the middle of a WebAssembly module; copy the whole file")
	}
	if err := checkABI(sections); err != nil {
		return Info{}, err
	}
	last := sections[len(sections)-1]
	text, stamped := stampOf(last)
	if !stamped {
		return Info{}, errors.New("is not a filter of Harmony Edge, or its end is missing; " +
			"copy the whole harmony-filter.wasm")
	}
	var s stamp
	if err := json.Unmarshal(text, &s); err != nil {
		return Info{}, fmt.Errorf("has a stamp that cannot be read (%w); copy the file again", err)
	}
	before := len(module) - len(wasmfile.AppendSized([]byte{last.ID}, last.Content))
	if before < 0 || sum(module[:before]) != s.SHA256 {
		return Info{}, errors.New("is damaged: its content is not what it was built with; copy the file again")
	}
	return Info{Version: s.Version, SHA256: sum(module)}, nil
}

// checkBeginning returns an error unless the bytes begin as a module. It names what people take for one.
func checkBeginning(file []byte) error {
	const advice = "write the path of harmony-filter.wasm"
	switch {
	case len(file) == 0:
		return errors.New("is empty; " + advice)
	case bytes.HasPrefix(file, []byte("\x00asm\x01\x00\x00\x00")):
		return nil
	case bytes.HasPrefix(file, []byte("\x00asm\x0d\x00")):
		return errors.New("is a WebAssembly component, and Envoy runs modules; " + advice)
	case bytes.HasPrefix(file, []byte("\x1f\x8b")):
		return errors.New("is not a WebAssembly module, but compressed by gzip; decompress it first")
	}
	return errors.New("is not a WebAssembly module; " + advice)
}

// checkABI returns an error unless the module exports the version of proxy-wasm that Envoy and the filter share.
func checkABI(sections []wasmfile.Section) error {
	var found string
	for _, s := range sections {
		if s.ID != wasmfile.Export {
			continue
		}
		names, err := exports(s.Content)
		if err != nil {
			return err
		}
		for _, name := range names {
			switch name {
			case "proxy_abi_version_0_2_0", "proxy_abi_version_0_2_1":
				return nil
			}
			if bytes.HasPrefix([]byte(name), []byte("proxy_abi_version_")) {
				found = name
			}
		}
	}
	if found != "" {
		return fmt.Errorf("exports %s; a filter for Envoy exports proxy_abi_version_0_2_0 or 0_2_1", found)
	}
	return errors.New("is a WebAssembly module, but no filter for Envoy: it does not export proxy_abi_version_0_2_0")
}

func exports(content []byte) ([]string, error) {
	r := wasmfile.Reader{Rest: content}
	n, ok := r.Uint()
	var names []string
	for i := 0; ok && i < n; i++ {
		name, ok1 := r.Name()
		_, ok2 := r.Byte()
		_, ok3 := r.Uint()
		names, ok = append(names, name), ok1 && ok2 && ok3
	}
	if !ok {
		return nil, errors.New("is damaged: its exports cannot be read; copy the file again")
	}
	return names, nil
}

// stampOf returns the text of a section, and reports whether it is the stamp's.
func stampOf(s wasmfile.Section) (text []byte, stamped bool) {
	if s.ID != wasmfile.Custom {
		return nil, false
	}
	r := wasmfile.Reader{Rest: s.Content}
	name, ok := r.Name()
	return r.Rest, ok && name == SectionName
}

func sum(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}
