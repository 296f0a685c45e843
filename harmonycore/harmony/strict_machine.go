package harmony

import (
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/wholerunes"
)

// strictMachine is the automaton of the reference's parser: a Moore machine of three states that reads headers and
// keeps no content.
//
//	ExpectingStart --START--> InHeader --MESSAGE--> InContent --END, RETURN, CALL, end of stream--> ExpectingStart
//
// An error leaves the state as it was, except that a bad header before MESSAGE leaves [ExpectingStart].
type strictMachine struct {
	t      *tokenizer.Tokenizer
	strict bool
	state  State
	// pending is the role given in advance, until a header has been read.
	pending Role
	header  strictHeader
	// headerTokens are the tokens of the header being read.
	headerTokens []uint32
	// tokensFed is the number of all tokens fed, including those that failed.
	tokensFed int
}

// strictStep is the effect of a token.
type strictStep uint8

const (
	stepNone strictStep = iota
	// stepOpen is the end of a header.
	stepOpen
	stepContent
	// stepClose is the end of a message.
	stepClose
	// stepSalvage is a message recovered from a header that a stop token ended. The header's unassigned words are its
	// content.
	stepSalvage
)

func newStrictMachine(t *tokenizer.Tokenizer, role Role, strict bool) strictMachine {
	m := strictMachine{t: t, strict: strict, pending: role}
	if role != 0 {
		m.state = InHeader
	}
	return m
}

func (m *strictMachine) step(id uint32) (strictStep, error) {
	m.tokensFed++
	_, stop := endOf(id)
	switch m.state {
	case ExpectingStart:
		if id != tokenizer.Start {
			return stepNone, m.fail(ExpectedStart, "Unexpected token "+decimal(id)+" while expecting start token 200006")
		}
		m.state = InHeader
		m.headerTokens = m.headerTokens[:0]
	case InHeader:
		switch {
		case id == tokenizer.Message:
			return m.readHeader()
		case stop && !m.strict:
			return m.recoverHeader()
		}
		m.headerTokens = append(m.headerTokens, id)
	case InContent:
		if !stop {
			return stepContent, nil
		}
		m.state = ExpectingStart
		return stepClose, nil
	}
	return stepNone, nil
}

// end ends the stream.
func (m *strictMachine) end() (strictStep, error) {
	switch m.state {
	case InHeader:
		return stepNone, &ParseError{Kind: EndInHeader, Token: m.tokensFed,
			Message: "Unexpected EOS while waiting for message header to complete"}
	case InContent:
		m.state = ExpectingStart
		return stepClose, nil
	}
	return stepNone, nil
}

func (m *strictMachine) fail(kind ParseErrorKind, message string) error {
	return &ParseError{Kind: kind, Token: m.tokensFed - 1, Message: message}
}

func (m *strictMachine) readHeader() (strictStep, error) {
	m.state = ExpectingStart
	raw, ok := m.t.AppendDecode(nil, m.headerTokens)
	if !ok || !utf8.Valid(raw) {
		return stepNone, m.fail(Undecodable, "could not decode header")
	}
	h, kind, message := readHeader(string(raw), m.pending, false)
	if kind != 0 {
		return stepNone, m.fail(kind, message)
	}
	m.header = h
	m.pending = 0
	m.state = InContent
	return stepOpen, nil
}

// recoverHeader recovers a message from a header that a stop token ended, in the non-strict mode. It works only for a
// role given in advance. Every later header is lost without an error.
func (m *strictMachine) recoverHeader() (strictStep, error) {
	step := stepNone
	if m.pending != 0 && len(m.headerTokens) > 0 {
		raw, ok := m.t.AppendDecode(nil, m.headerTokens)
		if !ok {
			return stepNone, m.fail(Undecodable, "Could not decode tokens: Invalid token error: Invalid token for decoding: "+
				m.unknownToken())
		}
		if !utf8.Valid(raw) {
			return stepNone, m.fail(Undecodable, "Could not decode tokens: Invalid utf-8 sequence: "+utf8Complaint(raw))
		}
		h, kind, message := readHeader(string(raw), m.pending, true)
		if kind != 0 {
			return stepNone, m.fail(kind, message)
		}
		m.header = h
		step = stepSalvage
	}
	m.state = ExpectingStart
	m.pending = 0
	return step, nil
}

func (m *strictMachine) unknownToken() string {
	for _, id := range m.headerTokens {
		if _, ok := m.t.TokenBytes(id); !ok {
			return decimal(id)
		}
	}
	return ""
}

// utf8Complaint describes the first bad bytes as the reference's library does.
func utf8Complaint(raw []byte) string {
	at := wholerunes.ValidPrefix(raw)
	if at == len(raw) {
		return ""
	}
	n, cut := wholerunes.BadPrefix(raw[at:])
	if cut {
		return "incomplete utf-8 byte sequence from index " + decimal(uint32(at))
	}
	return "invalid utf-8 sequence of " + decimal(uint32(n)) + " bytes from index " + decimal(uint32(at))
}
