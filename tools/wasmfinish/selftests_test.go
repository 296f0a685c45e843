package main

import (
	"bytes"
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// TestRemoveSelfTests: of the cryptography's functions only those lose their bodies that an init gives away.
func TestRemoveSelfTests(t *testing.T) {
	names := []string{"env.random", "crypto/internal/fips140/aes.init#1$1", "crypto/internal/fips140/aes.init#1",
		"crypto/internal/fips140/sha256.block$1", "internal/seal.init#1$1"}
	named := []byte{byte(len(names))}
	for i, name := range names {
		named = append(named, byte(i))
		named = wasmfile.AppendSized(named, []byte(name))
	}
	custom := wasmfile.AppendSized(append([]byte("\x04name"), namesOfFunctions), named)
	const body, emptied = "\x03\x00\x01\x0b", "\x03\x00\x00\x0b"
	sections := []wasmfile.Section{
		{ID: wasmfile.Import, Content: []byte("\x01\x03env\x06random\x00\x00")},
		{ID: wasmfile.Code, Content: []byte("\x04" + body + body + body + body)},
		{ID: wasmfile.Custom, Content: custom},
	}
	if err := removeSelfTests(sections); err != nil {
		t.Fatal(err)
	}
	if want := []byte("\x04" + emptied + body + body + body); !bytes.Equal(sections[1].Content, want) {
		t.Errorf("got %x, want %x", sections[1].Content, want)
	}
	sections[1].Content = sections[1].Content[:7]
	if removeSelfTests(sections) == nil {
		t.Error("functions that are cut are not refused")
	}
}
