package vectors

import (
	"encoding/json"
	"errors"
)

// EOS stands, in a stream's tokens, for reporting the end of the stream to the parser. The stream continues after it.
const EOS = -1

// Stream is a token stream, with the state of the reference's parser after each token.
type Stream struct {
	Tokens []int64 `json:"tokens"`
	// Role is the role given in advance, nil for none.
	Role *string `json:"role"`
	// Strict is the reference's flag of this name.
	Strict bool `json:"strict"`
	// Resume reports whether tokens are fed after an error too.
	Resume bool `json:"resume"`
	// Ended reports whether the last step is the stream's end, for which there is no token.
	Ended    bool            `json:"ended"`
	Steps    Steps           `json:"steps"`
	Messages json.RawMessage `json:"messages"`
}

// Fed returns the tokens that have steps, with [EOS] for the end.
func (s *Stream) Fed() []int64 {
	if s.Ended {
		return append(s.Tokens[:len(s.Tokens):len(s.Tokens)], EOS)
	}
	return s.Tokens[:min(len(s.Steps), len(s.Tokens))]
}

// IDs returns the tokens without [EOS]. ok is false if there was one.
func (s *Stream) IDs() (ids []uint32, ok bool) {
	for _, token := range s.Tokens {
		if token != EOS {
			ids = append(ids, uint32(token))
		}
	}
	return ids, len(ids) == len(s.Tokens)
}

// Step is the parser's state after a token. Absent strings are nil.
type Step struct {
	Seen
	// Error is the text of the error that was raised, nil for none.
	Error *string
}

// Seen is the observable state of the parser. State is 0 to 2, as in the type State of the package harmony.
type Seen struct {
	State                                        int
	Role, Channel, Recipient, ContentType, Delta *string
}

// Steps are recorded as changes: a whole [Seen] as an array of six, a text for a step with only a new delta, a number
// for that many steps without a change, an object for an error.
type Steps []Step

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Steps) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	var now Seen
	for _, item := range list {
		switch item[0] {
		case '[':
			if err := json.Unmarshal(item, &now); err != nil {
				return err
			}
		case '"':
			now.Delta = new(string)
			if err := json.Unmarshal(item, now.Delta); err != nil {
				return err
			}
		case '{':
			var failed struct {
				Error *string `json:"error"`
				After *Seen   `json:"after"`
			}
			if err := json.Unmarshal(item, &failed); err != nil {
				return err
			}
			if failed.After != nil {
				now = *failed.After
			}
			*s = append(*s, Step{now, failed.Error})
			continue
		default:
			var times int
			if err := json.Unmarshal(item, &times); err != nil {
				return err
			}
			for range times {
				*s = append(*s, Step{Seen: now})
			}
			continue
		}
		*s = append(*s, Step{Seen: now})
	}
	return nil
}

// UnmarshalJSON implements [json.Unmarshaler] for the array of six.
func (s *Seen) UnmarshalJSON(data []byte) error {
	*s = Seen{}
	six := []any{&s.State, &s.Role, &s.Channel, &s.Recipient, &s.ContentType, &s.Delta}
	if err := json.Unmarshal(data, &six); err != nil {
		return err
	}
	if len(six) != 6 {
		return errors.New("an observation has six parts")
	}
	return nil
}
