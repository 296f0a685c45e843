package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
)

const (
	sectionData = 11
	// namesOfData is the subsection of the custom section "name" that names data segments.
	namesOfData = 9
)

// mark is what filter/internal/gcroots has where it needs the end of the constants: two words, of which the second
// stays.
var mark = []byte{0x73, 0x6e, 0x6f, 0x63, 0x1b, 0xd5, 0xe4, 0xa7}

// markConstants writes the address of the end of the module's constants over the first word of the mark. The linker
// places constants before variables and names the constants' segments ".rodata". A module without the mark is
// unchanged.
func markConstants(sections []wasmSection) error {
	var names map[int]string
	var data []byte
	for _, s := range sections {
		switch s.id {
		case sectionCustom:
			r := reader{s.content}
			if name, _ := r.name(); name == "name" {
				names = segmentNames(r.rest)
			}
		case sectionData:
			data = s.content
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

// segmentNames reads the names of data segments, by index.
func segmentNames(content []byte) map[int]string {
	names := make(map[int]string)
	for r := (reader{content}); len(r.rest) > 0; {
		id, _ := r.byte()
		part, ok := r.sized()
		if !ok {
			break
		}
		if id != namesOfData {
			continue
		}
		p := reader{part}
		n, ok := p.uint()
		for i := 0; ok && i < n; i++ {
			var index int
			var name string
			if index, ok = p.uint(); ok {
				if name, ok = p.name(); ok {
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
	r := reader{data}
	n, ok := r.uint()
	var segments []segment
	for i := 0; ok && i < n; i++ {
		var s segment
		flags, _ := r.uint()
		if s.active = flags != passive; s.active {
			if flags != 0 {
				return nil, errMalformed
			}
			op, _ := r.byte()
			s.address, ok = r.sint()
			if last, _ := r.byte(); op != constant || last != end {
				return nil, errMalformed
			}
		}
		content, sized := r.sized()
		ok = ok && sized
		s.size, s.content = len(content), content
		segments = append(segments, s)
	}
	if !ok {
		return nil, errMalformed
	}
	return segments, nil
}

// sint reads a signed LEB128 number.
func (r *reader) sint() (int, bool) {
	v, shift := 0, 0
	for {
		b, ok := r.byte()
		if !ok || shift > 35 {
			return 0, false
		}
		v |= int(b&0x7f) << shift
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 {
				v -= 1 << shift
			}
			return v, true
		}
	}
}
