package main

import (
	"encoding/binary"

	"github.com/harmonyedge/harmonyedge/internal/wasmfile"
)

// maxGap is how many zeros may be between two data segments that become one.
const maxGap = 64

// joinData joins data segments that have only a few zeros between them, and removes all names except the names of
// functions. Binaryen begins a new segment wherever it can omit zeros. The address and the size of each, and its name,
// take more room in a compressed module than the zeros do. A module with passive segments stays as it is.
func joinData(sections []wasmfile.Section) error {
	var data, count, names *wasmfile.Section
	for i := range sections {
		s := &sections[i]
		switch s.ID {
		case wasmfile.Data:
			data = s
		case wasmfile.DataCount:
			count = s
		case wasmfile.Custom:
			r := wasmfile.Reader{Rest: s.Content}
			if name, _ := r.Name(); name == "name" {
				names = s
			}
		}
	}
	if data == nil {
		return nil
	}
	segments, err := readSegments(data.Content)
	if err != nil {
		return err
	}
	joined := segments[:0:0]
	for _, s := range segments {
		if !s.active {
			return nil
		}
		if n := len(joined); n > 0 {
			last := &joined[n-1]
			if gap := s.address - last.address - last.size; gap >= 0 && gap <= maxGap {
				last.content = append(append(last.content, make([]byte, gap)...), s.content...)
				last.size = len(last.content)
				continue
			}
		}
		s.content = append([]byte(nil), s.content...)
		joined = append(joined, s)
	}
	data.Content = binary.AppendUvarint(nil, uint64(len(joined)))
	for _, s := range joined {
		data.Content = wasmfile.AppendSint(append(data.Content, 0, wasmfile.OpI32Const), s.address)
		data.Content = wasmfile.AppendSized(append(data.Content, wasmfile.OpEnd), s.content)
	}
	if count != nil {
		count.Content = binary.AppendUvarint(nil, uint64(len(joined)))
	}
	if names != nil {
		names.Content = functionNames(names.Content)
	}
	return nil
}

// functionNames returns the content of the custom section "name" with the names of functions alone.
func functionNames(content []byte) []byte {
	r := wasmfile.Reader{Rest: content}
	_, ok := r.Name()
	out := append([]byte(nil), content[:len(content)-len(r.Rest)]...)
	for ok && len(r.Rest) > 0 {
		var part []byte
		id, _ := r.Byte()
		if part, ok = r.Sized(); ok && id == namesOfFunctions {
			out = wasmfile.AppendSized(append(out, id), part)
		}
	}
	return out
}
