package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// Script is a list of prepared answers, each given as exact token ids. A line with a match answers every prompt that
// contains it. A line with neither a match nor a last one is used once, in the order of the list. The other lines are
// tried first.
type Script struct {
	mu    sync.Mutex
	lines []Line
	next  int
}

// Line is one answer of a Script.
type Line struct {
	// Match is text to find in the decoded prompt, which spells out special tokens, and Last is text to find in its last
	// whole message, header and all. If both are empty, the line takes the next prompt.
	Match, Last string
	// Tokens is the answer. Stop tokens and max_tokens end it as they would end a model's answer.
	Tokens []uint32
	// Chunks are the sizes of the events, in tokens. The last size repeats.
	Chunks []int
	// Fault, if set, replaces the server's fault.
	Fault *Fault
	// Finish is the finish reason if the tokens run out without a stop token. Empty is "length".
	Finish string
	// Continues reports whether a prompt that ends with the beginning of Tokens gets only what follows. Its answer has no
	// fault.
	Continues bool
}

// begun returns how many of the line's tokens the prompt ends with.
func (l *Line) begun(prompt []uint32) int {
	if !l.Continues {
		return 0
	}
	for n := min(len(l.Tokens), len(prompt)); n > 0; n-- {
		if slices.Equal(prompt[len(prompt)-n:], l.Tokens[:n]) {
			return n
		}
	}
	return 0
}

// NewScript returns a script of these lines.
func NewScript(lines ...Line) *Script { return &Script{lines: lines} }

// ReadScript reads a script as JSON lines: {"match": TEXT, "last": TEXT, "tokens": [IDS] or "text": HARMONY TEXT,
// "chunks": [SIZES], "fault": FAULT, "finish": REASON, "continues": BOOL}. In "text" the spelling of a special token is that token. Empty
// lines and lines that begin with # are skipped.
func ReadScript(r io.Reader, t *tokenizer.Tokenizer) (*Script, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	s := &Script{}
	for i, raw := range bytes.Split(data, []byte("\n")) {
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 || raw[0] == '#' {
			continue
		}
		line, err := readLine(raw, t)
		if err != nil {
			return nil, fmt.Errorf("script line %d: %w", i+1, err)
		}
		s.lines = append(s.lines, line)
	}
	return s, nil
}

func readLine(raw []byte, t *tokenizer.Tokenizer) (Line, error) {
	var in struct {
		Match  string   `json:"match"`
		Last   string   `json:"last"`
		Tokens []uint32 `json:"tokens"`
		Text   *string  `json:"text"`
		Chunks []int    `json:"chunks"`
		Fault  *string  `json:"fault"`
		Finish string   `json:"finish"`
		Goes   bool     `json:"continues"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return Line{}, err
	}
	line := Line{Match: in.Match, Last: in.Last, Tokens: in.Tokens, Chunks: in.Chunks, Finish: in.Finish,
		Continues: in.Goes}
	if in.Text != nil {
		if in.Tokens != nil {
			return Line{}, fmt.Errorf(`both "tokens" and "text"`)
		}
		line.Tokens = t.AppendEncodeSpecial(nil, *in.Text)
	}
	for _, n := range in.Chunks {
		if n < 1 {
			return Line{}, fmt.Errorf("a chunk of %d tokens", n)
		}
	}
	if in.Fault != nil {
		f, err := ParseFault(*in.Fault)
		if err != nil {
			return Line{}, err
		}
		line.Fault = &f
	}
	return line, nil
}

// Regroup removes the sizes of events from the lines, so that [Options.TokensPerChunk] applies.
func (s *Script) Regroup() {
	for i := range s.lines {
		s.lines[i].Chunks = nil
	}
}

// pick returns the line for a prompt, if there is one.
func (s *Script) pick(prompt string) (Line, bool) {
	if s == nil {
		return Line{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := lastMessage(prompt)
	for _, line := range s.lines {
		if line.matches() && strings.Contains(prompt, line.Match) && strings.Contains(last, line.Last) {
			return line, true
		}
	}
	for ; s.next < len(s.lines); s.next++ {
		if !s.lines[s.next].matches() {
			s.next++
			return s.lines[s.next-1], true
		}
	}
	return Line{}, false
}

// matches reports whether the line is for certain prompts.
func (l *Line) matches() bool { return l.Match != "" || l.Last != "" }

// lastMessage returns the last whole message of a prompt, from its role on. The begun answer follows it.
func lastMessage(prompt string) string {
	const start = "<|start|>"
	end := max(0, strings.LastIndex(prompt, start))
	return prompt[max(0, strings.LastIndex(prompt[:end], start)):end]
}
