package vectors

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Conversation is a conversation in the reference's JSON, with the reference's renderings of it.
type Conversation struct {
	// Text is the conversation as it is spelled, which need not be valid JSON.
	Text     string
	NextRole string
	// Drop is auto_drop_analysis; nil renders without a configuration.
	Drop                        *bool
	Completion, Training, Plain Rendered
	// Message is one message of the conversation by itself ("" for none), and Alone its rendering.
	Message string
	Alone   Rendered
}

// Rendered is a list of ids, or an error.
type Rendered struct {
	IDs   []uint32
	Error *Error
}

// Error is an error of the reference.
type Error struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

// UnmarshalJSON implements [json.Unmarshaler] for a line of a vector file.
func (c *Conversation) UnmarshalJSON(data []byte) error {
	var line struct {
		Conversation json.RawMessage `json:"conversation"`
		Text         string          `json:"conversation_json"`
		NextRole     string          `json:"next_role"`
		Drop         *bool           `json:"auto_drop_analysis"`
		Completion   json.RawMessage `json:"completion"`
		Training     json.RawMessage `json:"training"`
		Plain        json.RawMessage `json:"plain"`
		Message      string          `json:"message_json"`
		Alone        json.RawMessage `json:"message"`
	}
	err := json.Unmarshal(data, &line)
	*c = Conversation{Text: line.Text, NextRole: line.NextRole, Drop: line.Drop, Message: line.Message}
	if line.Conversation != nil {
		c.Text = string(line.Conversation)
	}
	err = errors.Join(err, c.Completion.read(line.Completion, nil), c.Training.read(line.Training, &c.Completion),
		c.Plain.read(line.Plain, &c.Completion))
	if line.Message != "" {
		err = errors.Join(err, c.Alone.read(line.Alone, &c.Completion))
	}
	return err
}

// read reads one of three forms: all ids, an error, or a difference from base. A difference is the number of base's ids
// to keep and the ids that follow, or "same".
func (r *Rendered) read(data []byte, base *Rendered) error {
	switch {
	case bytes.HasPrefix(data, []byte("{")):
		return json.Unmarshal(data, r)
	case base == nil:
		return json.Unmarshal(data, &r.IDs)
	case bytes.Equal(data, []byte(`"same"`)):
		*r = *base
		return nil
	}
	var keep int
	var rest []uint32
	if err := json.Unmarshal(data, &[]any{&keep, &rest}); err != nil {
		return err
	}
	if keep < 0 || keep > len(base.IDs) {
		return errors.New("more ids are kept than there are")
	}
	r.IDs = append(base.IDs[:keep:keep], rest...)
	return nil
}

// UnmarshalJSON implements [json.Unmarshaler] for the object of an error; ids have forms of their own.
func (r *Rendered) UnmarshalJSON(data []byte) error {
	var line struct {
		Error *Error `json:"error"`
	}
	err := json.Unmarshal(data, &line)
	r.Error = line.Error
	if err == nil && line.Error == nil {
		err = errors.New("neither ids nor an error")
	}
	return err
}
