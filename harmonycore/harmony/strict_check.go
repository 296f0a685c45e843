package harmony

import "github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"

// StrictCheck finds the error at which a [StrictParser] of an answer would stop. It keeps headers only, so that it can
// run beside a [StreamParser] at the price of a comparison for each token of content.
type StrictCheck struct {
	machine strictMachine
	err     *ParseError
}

// NewStrictCheck makes a check that stands as behind "<|start|>assistant", where a completion begins.
func NewStrictCheck(t *tokenizer.Tokenizer) *StrictCheck {
	return &StrictCheck{machine: newStrictMachine(t, Assistant, true)}
}

// Process takes one token.
func (c *StrictCheck) Process(id uint32) {
	if c.err != nil {
		return
	}
	if c.machine.state == InContent && !tokenizer.IsSpecial(id) {
		c.machine.fed++
		return
	}
	_, err := c.machine.step(id)
	c.keep(err)
}

// Finish is the end of the stream.
func (c *StrictCheck) Finish() {
	if c.err == nil {
		_, err := c.machine.end()
		c.keep(err)
	}
}

// Err is the first error, nil while there is none.
func (c *StrictCheck) Err() *ParseError { return c.err }

func (c *StrictCheck) keep(err error) {
	if e, ok := err.(*ParseError); ok {
		c.err = e
	}
}
