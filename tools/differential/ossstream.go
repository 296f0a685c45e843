package main

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony/harmonytest"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

// ossParser is our strict parser with [ruleChannels]: it holds a header back, and reads it without its later channels.
type ossParser struct {
	t      *tokenizer.Tokenizer
	p      *harmony.StrictParser
	strict bool
	header []uint32
	// cuts counts the headers that were changed.
	cuts int
}

// step reads a token, or the end of the stream, and returns what is seen after it.
func (o *ossParser) step(token int64) vectors.Step {
	id := uint32(token)
	ends := token == vectors.EOS || id == tokenizer.Message || !o.strict && isStop(id)
	if o.p.State() == harmony.InHeader && !ends {
		o.header = append(o.header, id)
		return harmonytest.StepOf(o.p, nil)
	}
	if o.p.State() == harmony.InHeader && token != vectors.EOS {
		o.release()
	}
	if token == vectors.EOS {
		return harmonytest.StepOf(o.p, o.p.ProcessEOS())
	}
	return harmonytest.StepOf(o.p, o.p.Process(id))
}

// release feeds the header that was held back.
func (o *ossParser) release() {
	cut, changed := cutHeader(o.t, o.header)
	if changed {
		o.cuts++
	}
	for _, each := range cut {
		_ = o.p.Process(each) // what a header's token can fail with is seen at its end
	}
	o.header = nil
}

func isStop(id uint32) bool {
	return id == tokenizer.End || id == tokenizer.Return || id == tokenizer.Call
}

// ossStream compares oss-harmony's steps and messages with those of our strict parser under the rules. It returns the
// rules that were needed.
func ossStream(t *tokenizer.Tokenizer, v, oss *vectors.Stream) ([]string, error) {
	if err := sameInput(slices.Equal(v.Tokens, oss.Tokens)); err != nil {
		return nil, err
	}
	if len(oss.Steps) != len(oss.Fed()) {
		return nil, fmt.Errorf("%d steps of oss-harmony for %d tokens", len(oss.Steps), len(oss.Fed()))
	}
	role := harmony.Role(0)
	if oss.Role != nil {
		role = harmony.RoleOf(*oss.Role)
	}
	o := ossParser{t: t, p: harmony.NewStrictParser(t, role, oss.Strict), strict: oss.Strict}
	for i, token := range oss.Fed() {
		if got := o.step(token); !reflect.DeepEqual(got, oss.Steps[i]) {
			return nil, fmt.Errorf("token %d (number %d of %v):\nours with the rules %s\noss-harmony         %s", token, i,
				oss.Fed(), harmonytest.Show(got), harmonytest.Show(oss.Steps[i]))
		}
	}
	if got := harmony.AppendMessages(nil, o.p.Messages()); !harmonytest.SameJSON(got, oss.Messages) {
		return nil, fmt.Errorf("messages of %v:\nours with the rules %s\noss-harmony         %s", oss.Fed(), got,
			oss.Messages)
	}
	if o.cuts == 0 {
		return nil, nil
	}
	return []string{ruleChannels}, nil
}
