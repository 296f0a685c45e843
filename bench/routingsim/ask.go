package main

import (
	"fmt"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/workload"
	"github.com/harmonyedge/harmonyedge/sim/batch"
)

// prepared is a workload with its prompts in token ids, as the filter renders them.
type prepared struct {
	name, about   string
	conversations []*talk
}

// talk is a conversation.
type talk struct {
	start time.Duration
	asks  []*ask
}

// ask is a request.
type ask struct {
	conversation string
	wait         time.Duration
	prompt       []uint32
	answer       int
	hashes       []batch.Hash
	next         *ask
}

const model = "gpt-oss-120b"

// prepare renders the prompts of a workload.
func prepare(w *workload.Workload) (*prepared, error) {
	translator := workload.NewTranslator(model)
	p := &prepared{name: w.Name, about: w.About}
	invented := uint32(1 << 24)
	for _, c := range w.Conversations {
		t := &talk{start: c.Start}
		for i := range c.Turns {
			prompt, err := translator.ChatPrompt(c.Body(model, i))
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", w.Name, c.ID, err)
			}
			a := &ask{conversation: c.ID, wait: c.Turns[i].Wait, prompt: prompt, answer: c.Turns[i].Answer}
			// A model's thoughts are not in the next prompt, so its answer is not either, as ids.
			answer := make([]uint32, a.answer)
			for j := range answer {
				answer[j] = invented
				invented++
			}
			a.hashes = batch.Hashes("", batch.DefaultBlockSize, a.prompt, answer)
			if i > 0 {
				t.asks[i-1].next = a
			}
			t.asks = append(t.asks, a)
		}
		p.conversations = append(p.conversations, t)
	}
	return p, nil
}

func (a *ask) request() *batch.Request { return batch.NewHashed(a.hashes, len(a.prompt), a.answer) }
