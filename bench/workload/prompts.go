package workload

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/completion"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// Date is the day in the prompts of [NewTranslator]. A gateway with this date makes the same prompts.
const Date = "2026-11-26"

// NewTranslator returns what makes prompts in token ids of the bodies of requests, as the filter does with the default
// settings of a model.
func NewTranslator(model string) *completion.Translator {
	m := completion.GPTOSS(model)
	m.Date = Date
	return completion.New(completion.Options{Tokenizer: o200k.Tokenizer(), Model: m})
}
