package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// TinyGo's collector takes every word of the variables for a pointer that could be one. Numbers that look like an
// address of a large heap keep whatever lies there alive for ever, and nothing shows it until a worker is full. So a
// module that has more than a few of them does not ship (RATIONALE.md#71).

// Where the addresses of large objects are, in bytes. A small heap's are below. TinyGo doubles a memory that begins with
// 640 KiB, and Envoy gives it less than 1 GiB, so it ends at 640 MiB; digits in a text, such as a commit's, spell more.
const lowestLarge, endOfLarge = 16 << 20, 704 << 20

// mostFalse is how many words of the variables may look like an address of a large object.
const mostFalse = 2

// checkPointers returns an error where the collector would find many pointers that are none. Modules without filter/gcroots are
// not looked at.
func checkPointers(sections []wasmSection) error {
	var names map[int]string
	var segments []segment
	ours, random := false, false
	for _, s := range sections {
		switch s.id {
		case sectionCustom:
			r := reader{s.content}
			if name, _ := r.name(); name == "name" {
				names = segmentNames(r.left)
				random = bytes.Contains(s.content, []byte("arc4random_buf"))
			}
		case sectionData:
			var err error
			if segments, err = readSegments(s.content); err != nil {
				return err
			}
			ours = bytes.Contains(s.content, mark[4:])
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
		// Binaryen leaves out runs of zeros, so that a segment begins anywhere in a word.
		content := append(make([]byte, s.address%4), s.content...)
		for at := 0; at+4 <= len(content); at += 4 {
			if word := binary.LittleEndian.Uint32(content[at:]); word >= lowestLarge && word < endOfLarge {
				found = append(found, fmt.Sprintf("%#x at %d", word, s.address&^3+at))
			}
		}
	}
	if len(found) > mostFalse {
		return fmt.Errorf("has %d words among its variables that look like pointers: %s; make them on the heap, or constant", len(found), strings.Join(found, ", "))
	}
	return nil
}
