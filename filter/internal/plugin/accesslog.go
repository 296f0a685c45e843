package plugin

import (
	"strconv"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"

	"github.com/harmonyedge/harmonyedge/filter/internal/metrics"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// describe writes the exchange's fields for the access log into the host's filter state, as wasm.harmony_NAME. A field
// without a value is not set.
func describe(r *exchange.Report) {
	model := r.Model
	if model == "" {
		model = metrics.Other
	}
	setState(contract.LogAPI, r.API)
	setState(contract.LogModel, model)
	setState(contract.LogServer, r.Server)
	if !r.Translated {
		return
	}
	setState(contract.LogPromptTokens, strconv.Itoa(r.PromptTokens))
	setState(contract.LogReasoningTokens, strconv.Itoa(r.Reasoning))
	setState(contract.LogFinalTokens, strconv.Itoa(r.Final))
	setState(contract.LogRecoveries, strconv.FormatUint(r.Recoveries.Total(), 10))
	setState(contract.LogFinish, r.Finish)
	setState(contract.LogEarlyEnd, r.EarlyEnd)
	setState(contract.LogCut, r.Cut)
}

func setState(field, value string) {
	if value != "" {
		name := contract.LogStatePrefix + field
		check("set "+name, proxywasm.SetProperty([]string{name}, []byte(value)))
	}
}
