package inprocess

import (
	"github.com/harmonyedge/harmonyedge/filter/wasmhost/proxy"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/opening"
)

// hold does what the module does among the router's filters.
var hold = &proxy.Hold{MaxLost: contract.MaxLost, Begin: func(held, contentType string) proxy.Opening {
	attempt, ok := contract.ParseAttempt(held)
	if !ok {
		return nil
	}
	r := opening.New(attempt.Kind, contentType)
	if r == nil {
		return nil
	}
	return func(piece []byte, end bool) (decided, failed bool) {
		verdict := r.Write(piece, end)
		return verdict != opening.Undecided, verdict.Failed()
	}
}}
