package vectors

import (
	"encoding/json"
	"errors"
)

// EOS in a stream's tokens stands for telling the parser that the stream has ended; afterwards it goes on.
const EOS = -1

// Stream is a token stream, and what the reference's parser showed after each token of it.
type Stream struct {
	Tokens []int64 `json:"tokens"`
	// Role is the role given in advance, nil for none.
	Role *string `json:"role"`
	// Strict is the reference's own flag.
	Strict bool `json:"strict"`
	// Resume says that tokens are fed behind an error too.
	Resume bool `json:"resume"`
	// Ended says that the last step is that of the end of the stream, which stands in no token.
	Ended    bool            `json:"ended"`
	Steps    Steps           `json:"steps"`
	Messages json.RawMessage `json:"messages"`
}

// Fed are the tokens that there are steps for, EOS for the end.
func (s *Stream) Fed() []int64 {
	if s.Ended {
		return append(s.Tokens[:len(s.Tokens):len(s.Tokens)], EOS)
	}
	return s.Tokens[:min(len(s.Steps), len(s.Tokens))]
}

// IDs are the tokens without EOS. ok is false if there was one.
func (s *Stream) IDs() (ids []uint32, ok bool) {
	for _, token := range s.Tokens {
		if token != EOS {
			ids = append(ids, uint32(token))
		}
	}
	return ids, len(ids) == len(s.Tokens)
}

// Step is what the parser showed after a token. Strings that may be absent are nil then.
type Step struct {
	Seen
	// Error is the text of what was raised, nil for nothing.
	Error *string
}

// Seen are the parser's observables, state 0 to 2 as harmony.State counts.
type Seen struct {
	State                                        int
	Role, Channel, Recipient, ContentType, Delta *string
}

// Steps are written as changes: a whole Seen as an array of six, a text for a new delta alone, a number for so many
// steps in which nothing changed, an object for an error.
type Steps []Step

// UnmarshalJSON reads them.
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

// UnmarshalJSON reads the array of six.
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
