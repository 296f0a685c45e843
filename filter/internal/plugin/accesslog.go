package plugin

import (
	"strconv"
	"unsafe"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"

	"github.com/harmonyedge/harmonyedge/filter/internal/metrics"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// stringType is the type of a property that is a text, in a call of declare_property.
const stringType = 1

// declareNumbers tells the host that the numbers of the access log are texts. Envoy's CEL cannot read a number in bytes,
// which properties are otherwise. A host without the function has no CEL either.
func declareNumbers() {
	for _, field := range contract.LogNumbers() {
		name := contract.LogStatePrefix + field
		// envoy.source.extensions.common.wasm.DeclarePropertyArguments: 1 is the name, 3 the type.
		message := append([]byte{1<<3 | 2, byte(len(name))}, name...)
		_, _ = proxywasm.CallForeignFunction("declare_property", append(message, 3<<3, stringType))
	}
}

// describe writes the exchange's fields for the access log into the host's filter state, as wasm.harmony_NAME. A field
// without a value is not set.
func (v *vm) describe(r *exchange.Report) {
	v.describeRequest(r)
	v.describePrefill(r)
	if r.Rendered.Asked && r.Rendered.Time >= 0 {
		v.setCount(contract.LogStatePrefix+contract.LogRenderMS, uint64(r.Rendered.Time))
	}
	if r.Reserves {
		v.setCount(contract.LogStatePrefix+contract.UsedTokensState, uint64(r.UsedTokens))
		setState(contract.LogStatePrefix+contract.ReservationState, r.Reservation)
		v.setCount(contract.LogStatePrefix+contract.LogReservedTokens, uint64(r.ReservedTokens))
		unused := strconv.Itoa(r.ReservedTokens - r.UsedTokens) // below 0 where an estimate was too low
		setState(contract.LogStatePrefix+contract.LogUnusedTokens, unused)
	}
	if !r.Translated {
		return
	}
	v.setCount(contract.LogStatePrefix+contract.LogPromptTokens, uint64(r.PromptTokens))
	v.setCount(contract.LogStatePrefix+contract.LogReasoningTokens, uint64(r.Reasoning))
	v.setCount(contract.LogStatePrefix+contract.LogPreambleTokens, uint64(r.Preamble))
	v.setCount(contract.LogStatePrefix+contract.LogFinalTokens, uint64(r.Final))
	v.setCount(contract.LogStatePrefix+contract.LogToolCallTokens, uint64(r.ToolCall))
	v.setCount(contract.LogStatePrefix+contract.LogCompletionTokens, uint64(r.CompletionTokens))
	if r.FirstToken >= 0 {
		v.setCount(contract.LogStatePrefix+contract.LogFirstTokenMS, uint64(r.FirstToken))
	}
	v.setCount(contract.LogStatePrefix+contract.LogRecoveries, r.Recoveries.Total())
	setState(contract.LogStatePrefix+contract.LogFinish, r.Finish)
	setState(contract.LogStatePrefix+contract.LogEarlyEnd, r.EarlyEnd)
	setState(contract.LogStatePrefix+contract.LogCut, r.Cut)
	if r.Missed.Tokens > 0 {
		setState(contract.LogStatePrefix+contract.LogCacheReason, r.Missed.Reason.String())
		v.setCount(contract.LogStatePrefix+contract.LogMissedTokens, uint64(r.Missed.Tokens))
	}
}

// describeRequest writes the fields that are known when the request has been read.
func (v *vm) describeRequest(r *exchange.Report) {
	model := r.Model
	if model == "" {
		model = metrics.Other
	}
	setState(contract.LogStatePrefix+contract.LogAPI, r.API)
	setState(contract.LogStatePrefix+contract.LogModel, model)
	setState(contract.LogStatePrefix+contract.LogServer, r.Server)
	setState(contract.LogStatePrefix+contract.LogPool, r.Pool)
	setState(contract.LogStatePrefix+contract.LogPolicy, r.Policy)
	setState(contract.LogStatePrefix+contract.LogRoute, r.Route)
	setState(contract.LogStatePrefix+contract.LogRoutedBy, r.RoutedBy)
	setState(contract.LogStatePrefix+contract.LogClient, r.Client)
	setState(contract.LogStatePrefix+contract.LogClientKey, r.ClientKey)
	if r.Untranslated {
		setState(contract.LogStatePrefix+contract.LogUntranslated, "true")
	}
}

// describePrefill writes the fields about the call of a server that was to read the prompt.
func (v *vm) describePrefill(r *exchange.Report) {
	if r.Prefill.Result == "" {
		return
	}
	setState(contract.LogStatePrefix+contract.LogRole, r.Role)
	setState(contract.LogStatePrefix+contract.LogPrefill, r.Prefill.Result)
	setState(contract.LogStatePrefix+contract.LogPrefillServer, r.Prefill.Server)
	if r.Prefill.Time >= 0 {
		v.setCount(contract.LogStatePrefix+contract.LogPrefillMS, uint64(r.Prefill.Time))
	}
}

func setState(name, value string) {
	if value == "" {
		return
	}
	// The host only reads the value.
	if err := writeProperty(name, unsafe.Slice(unsafe.StringData(value), len(value))); err != nil {
		check("set "+name, err)
	}
}

func (v *vm) setCount(name string, n uint64) {
	text := strconv.AppendUint(v.digits[:0], n, 10)
	setState(name, unsafe.String(&text[0], len(text)))
}
