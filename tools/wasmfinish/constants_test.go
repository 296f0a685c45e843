package main

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// piece is a data segment to write. Its address must fit into one byte of LEB128.
type piece struct {
	name    string
	address byte
	content []byte
}

// sectionsOf returns the data and name sections of a module with these segments.
func sectionsOf(pieces ...piece) []wasmfile.Section {
	data, names := []byte{byte(len(pieces))}, []byte{byte(len(pieces))}
	for i, p := range pieces {
		data = append(data, 0, 0x41, p.address, 0x0b, byte(len(p.content)))
		data = append(data, p.content...)
		names = append(append(names, byte(i), byte(len(p.name))), p.name...)
	}
	custom := append([]byte("\x04name"), namesOfData, byte(len(names)))
	return []wasmfile.Section{{ID: wasmfile.Data, Content: data}, {ID: wasmfile.Custom, Content: append(custom, names...)}}
}

func TestMarkConstants(t *testing.T) {
	variables := append([]byte{1, 2, 3, 4}, mark...)
	for _, tt := range []struct {
		name   string
		pieces []piece
		want   uint32
		fails  string
	}{
		{"two pieces of constants", []piece{{".rodata", 8, []byte("abcd")}, {".rodata.1", 16, []byte("abcdefg")},
			{".data", 32, variables}}, 20, ""},
		{"no constants", []piece{{".data", 32, variables}}, 0, "no segment is called .rodata"},
		{"a variable among them", []piece{{".rodata", 8, []byte("abcd")}, {".data", 9, variables}}, 0,
			"is between the constants"},
		{"two marks", []piece{{".rodata", 8, mark}, {".data", 32, variables}}, 0, "more than once"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sections := sectionsOf(tt.pieces...)
			err := markConstants(sections)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("got %v, want an error with %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			at := bytes.Index(sections[0].Content, mark[4:])
			if got := binary.LittleEndian.Uint32(sections[0].Content[at-4:]); got != tt.want {
				t.Errorf("the constants end at %d, want %d", got, tt.want)
			}
		})
	}
}

func TestMarkConstantsLeavesOthers(t *testing.T) {
	sections := sectionsOf(piece{".data", 32, []byte("abcd")})
	before := bytes.Clone(sections[0].Content)
	if err := markConstants(sections); err != nil || !bytes.Equal(before, sections[0].Content) {
		t.Errorf("a module without the mark: %v, changed: %t", err, !bytes.Equal(before, sections[0].Content))
	}
}
