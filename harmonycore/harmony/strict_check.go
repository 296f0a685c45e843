package harmony

import "github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"

// StrictCheck finds the first error that a [StrictParser] of the same answer would return. It keeps only headers.
// Beside a [StreamParser] it costs one comparison for each token of content.
type StrictCheck struct {
	machine strictMachine
	err     *ParseError
}

// NewStrictCheck returns a check of a completion: its first token follows "<|start|>assistant".
func NewStrictCheck(t *tokenizer.Tokenizer) *StrictCheck {
	return &StrictCheck{machine: newStrictMachine(t, Assistant, true)}
}

// Process takes the next token.
func (c *StrictCheck) Process(id uint32) {
	if c.err != nil {
		return
	}
	if c.machine.state == InContent && !tokenizer.IsSpecial(id) {
		c.machine.tokensFed++
		return
	}
	_, err := c.machine.step(id)
	c.keep(err)
}

// Finish ends the stream.
func (c *StrictCheck) Finish() {
	if c.err == nil {
		_, err := c.machine.end()
		c.keep(err)
	}
}

// Err returns the first error, or nil.
func (c *StrictCheck) Err() *ParseError { return c.err }

func (c *StrictCheck) keep(err error) {
	if e, ok := err.(*ParseError); ok {
		c.err = e
	}
}
