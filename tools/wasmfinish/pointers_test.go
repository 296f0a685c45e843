package main

import (
	"strings"
	"testing"
)

// TestCheckPointers shows that a module does not ship if numbers among its variables look like addresses in a large
// heap. Such numbers among constants, small numbers, and text do no harm.
func TestCheckPointers(t *testing.T) {
	const numbers = "\x00\x00\x00\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x00\x00\x00\x3f"
	for _, tt := range []struct {
		name, variables, constants string
		fails                      bool
	}{
		{"a table among the variables", numbers, "", true},
		{"a table among the constants", "", numbers, false},
		{"two words", numbers[:8], "", false},
		{"small numbers and text", "\x00\x00\xff\x00\x01\x00\x00\x00text text text.", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := checkPointers(sectionsOf(piece{".rodata", 4, []byte("abcd" + tt.constants)},
				piece{".data", 32, append([]byte(tt.variables), mark...)}))
			if (err != nil) != tt.fails {
				t.Errorf("got %v", err)
			}
		})
	}
	// Binaryen omits zeros, so this segment begins inside a word: its words are 0x06050400, 0x0a090807 and 0x0e0d0c0b.
	err := checkPointers(sectionsOf(piece{".data", 33, []byte("\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e")},
		piece{".data.1", 48, mark}))
	if err == nil || !strings.Contains(err.Error(), "3 words") || !strings.Contains(err.Error(), "0x6050400 at 32") {
		t.Errorf("got %v", err)
	}
	if err := checkPointers(sectionsOf(piece{".data", 32, []byte(numbers)})); err != nil {
		t.Errorf("a module of somebody else's: %v", err)
	}
	random := sectionsOf(piece{".data", 32, mark})
	random[1].Content = append(random[1].Content, "\x01\x0farc4random_buf"...)
	if err := checkPointers(random); err == nil {
		t.Error("the C library's random numbers are let through")
	}
}
