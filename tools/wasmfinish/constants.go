package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// The subsections of the custom section "name" that name functions and data segments.
const namesOfFunctions, namesOfData = 1, 9

// mark is what filter/internal/gcroots has where it needs the end of the constants: two words, of which the second
// stays.
var mark = []byte{0x73, 0x6e, 0x6f, 0x63, 0x1b, 0xd5, 0xe4, 0xa7}

// markConstants writes the address of the end of the module's constants over the first word of the mark. The linker
// places constants before variables and names the constants' segments ".rodata". A module without the mark is
// unchanged.
func markConstants(sections []wasmfile.Section) error {
	var names map[int]string
	var data []byte
	for _, s := range sections {
		switch s.ID {
		case wasmfile.Custom:
			r := wasmfile.Reader{Rest: s.Content}
			if name, _ := r.Name(); name == "name" {
				names = readNames(r.Rest, namesOfData)
			}
		case wasmfile.Data:
			data = s.Content
		}
	}
	at := bytes.Index(data, mark)
	if at < 0 {
		return nil
	}
	if bytes.Count(data, mark) != 1 {
		return errors.New("the mark of filter/internal/gcroots occurs more than once in the data")
	}
	segments, err := readSegments(data)
	if err != nil {
		return err
	}
	end := 0
	for i, s := range segments {
		if s.active && strings.HasPrefix(names[i], ".rodata") {
			end = max(end, s.address+s.size)
		}
	}
	if end == 0 {
		return errors.New("no segment is called .rodata, so the end of the constants is unknown")
	}
	for i, s := range segments {
		if s.active && !strings.HasPrefix(names[i], ".rodata") && s.address < end {
			return errors.New("segment " + names[i] + " is between the constants")
		}
	}
	// The word that contains the end of the last constant has no variable in it. Rounding up could skip one.
	binary.LittleEndian.PutUint32(data[at:], uint32(end&^3))
	return nil
}

// readNames reads the names in a subsection of the custom section "name", by index.
func readNames(content []byte, subsection byte) map[int]string {
	names := make(map[int]string)
	for r := (wasmfile.Reader{Rest: content}); len(r.Rest) > 0; {
		id, _ := r.Byte()
		part, ok := r.Sized()
		if !ok {
			break
		}
		if id != subsection {
			continue
		}
		p := wasmfile.Reader{Rest: part}
		n, ok := p.Uint()
		for i := 0; ok && i < n; i++ {
			var index int
			var name string
			if index, ok = p.Uint(); ok {
				if name, ok = p.Name(); ok {
					names[index] = name
				}
			}
		}
	}
	return names
}

// segment is a data segment. An active one is copied to its address when the module is instantiated.
type segment struct {
	active        bool
	address, size int
	content       []byte
}

func readSegments(data []byte) ([]segment, error) {
	const passive, constant, end = 1, 0x41, 0x0b
	r := wasmfile.Reader{Rest: data}
	n, ok := r.Uint()
	var segments []segment
	for i := 0; ok && i < n; i++ {
		var s segment
		flags, _ := r.Uint()
		if s.active = flags != passive; s.active {
			if flags != 0 {
				return nil, wasmfile.ErrMalformed
			}
			op, _ := r.Byte()
			s.address, ok = r.Sint()
			if last, _ := r.Byte(); op != constant || last != end {
				return nil, wasmfile.ErrMalformed
			}
		}
		content, sized := r.Sized()
		ok = ok && sized
		s.size, s.content = len(content), content
		segments = append(segments, s)
	}
	if !ok {
		return nil, wasmfile.ErrMalformed
	}
	return segments, nil
}
