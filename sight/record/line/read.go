package line

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Read reads a line. It returns nil for a type that this version does not know.
func Read(text []byte) (Line, error) {
	var h Head
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, err
	}
	l := newLine(h.Type)
	if l == nil {
		return nil, nil
	}
	if err := json.Unmarshal(text, l); err != nil {
		return nil, err
	}
	if r, ok := l.(*Request); ok && r.Record > Version {
		return nil, fmt.Errorf("the record has version %d; this program reads %d", r.Record, Version)
	}
	return l, nil
}

func newLine(kind string) Line {
	switch kind {
	case TypeRequest:
		return &Request{}
	case TypeSent:
		return &Sent{}
	case TypeHead, TypeAnswerHead:
		return &Response{}
	case TypeMessage:
		return &Message{}
	case TypeTokens:
		return &Tokens{}
	case TypeRecovery:
		return &Recovery{}
	case TypeChunk, TypeAnswer:
		return &Piece{}
	case TypeEnd:
		return &End{}
	}
	return nil
}

// Append appends a line as JSON with a line end. Its JSON bodies must be valid.
func Append(dst []byte, l Line) []byte {
	b := bytes.NewBuffer(dst)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false) // control tokens stay readable
	if err := e.Encode(l); err != nil {
		return dst
	}
	return b.Bytes()
}
