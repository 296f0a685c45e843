package plugin

import (
	"strconv"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"

	"github.com/harmonyedge/harmonyedge/filter/metrics"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// describe leaves what an exchange was for the access log, as filter state of the host's: wasm.harmony_NAME. A name
// without a value is not set.
func describe(r *exchange.Report) {
	model := r.Model
	if model == "" {
		model = metrics.Other
	}
	setState("harmony_api", r.API)
	setState("harmony_model", model)
	setState("harmony_server", r.Server)
	if !r.Translated {
		return
	}
	setState("harmony_prompt_tokens", strconv.Itoa(r.PromptTokens))
	setState("harmony_reasoning_tokens", strconv.Itoa(r.Reasoning))
	setState("harmony_final_tokens", strconv.Itoa(r.Final))
	setState("harmony_recoveries", strconv.FormatUint(r.Recoveries.Total(), 10))
	setState("harmony_finish", r.Finish)
	setState("harmony_early_end", r.EarlyEnd)
	setState("harmony_cut", r.Cut)
}

func setState(name, value string) {
	if value != "" {
		check("set "+name, proxywasm.SetProperty([]string{name}, []byte(value)))
	}
}
