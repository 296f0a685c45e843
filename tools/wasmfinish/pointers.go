package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// TinyGo's collector treats every word of the variables that could be a pointer as one. Numbers that look like
// addresses in a large heap keep blocks alive for ever, unnoticed until a worker's memory is full. So a module with
// more than a few of them does not ship (RATIONALE.md#71).

// The range of addresses of large objects, in bytes. A small heap lies below it. TinyGo doubles a memory that begins
// with 10 MiB (tools/build-filter.sh), and Envoy allows less than 1 GiB, so the memory ends at 640 MiB. Digits in a
// text, such as a commit's hash, look like higher addresses.
const lowestLarge, endOfLarge = 16 << 20, 704 << 20

// maxFalse is how many words of the variables may look like an address of a large object.
const maxFalse = 2

// checkPointers returns an error if the collector would mistake too many words for pointers. Modules without
// filter/internal/gcroots are not checked.
func checkPointers(sections []wasmfile.Section) error {
	var names map[int]string
	var segments []segment
	ours, random := false, false
	for _, s := range sections {
		switch s.ID {
		case wasmfile.Custom:
			r := wasmfile.Reader{Rest: s.Content}
			if name, _ := r.Name(); name == "name" {
				names = readNames(r.Rest, namesOfData)
				random = bytes.Contains(s.Content, []byte("arc4random_buf"))
			}
		case wasmfile.Data:
			var err error
			if segments, err = readSegments(s.Content); err != nil {
				return err
			}
			ours = bytes.Contains(s.Content, mark[4:])
		}
	}
	switch {
	case !ours:
		return nil
	case random:
		return errors.New("has the C library's random numbers, 512 bytes of them among the variables: use WASI's random_get")
	}
	var found []string
	for i, s := range segments {
		if !s.active || strings.HasPrefix(names[i], ".rodata") {
			continue
		}
		// Binaryen omits runs of zeros, so a segment may begin inside a word.
		content := append(make([]byte, s.address%4), s.content...)
		for at := 0; at+4 <= len(content); at += 4 {
			if word := binary.LittleEndian.Uint32(content[at:]); word >= lowestLarge && word < endOfLarge {
				found = append(found, fmt.Sprintf("%#x at %d", word, s.address&^3+at))
			}
		}
	}
	if len(found) > maxFalse {
		return fmt.Errorf("has %d words among its variables that look like pointers: %s; make them on the heap, or constant",
			len(found), strings.Join(found, ", "))
	}
	return nil
}
