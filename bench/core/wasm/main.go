// Command wasm is our own column of `make bench-core` in Envoy's V8: a filter built like the one that ships, with the
// same vocabulary. It does the work that a request asks for and answers the request itself.
//
//	POST /load?op=OP   keeps the body as the input of an operation
//	GET /run/N         does it N times and answers {"count", "sum"}
//	GET /memory        what the vocabulary cost at the start of the VM, in time and memory
package main

import (
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/harmonyedge/harmonyedge/bench/core/ours"
	"github.com/harmonyedge/harmonyedge/filter/vocabulary"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

func main() {}

func init() { proxywasm.SetVMContext(&vm{}) }

// malloc allocates the memory for what the host returns. The build tag custommalloc leaves out TinyGo's own malloc.
//
//export malloc
func malloc(size uintptr) *byte {
	block := make([]byte, max(size, 1))
	return &block[0]
}

type vm struct {
	types.DefaultVMContext
	bench  *ours.Bench
	memory string
}

// OnVMStart implements [types.VMContext].
func (v *vm) OnVMStart(int) types.OnVMStartStatus {
	start := time.Now()
	table := vocabulary.Table()
	t, err := tokenizer.New(table)
	if err != nil {
		proxywasm.LogCritical(err.Error())
		return types.OnVMStartStatusFailed
	}
	t.AppendEncode(nil, "a")
	load := time.Since(start)
	v.bench = ours.New(t)

	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	v.memory = `{"load":` + strconv.FormatInt(load.Nanoseconds(), 10) +
		`,"table":` + strconv.Itoa(len(table)) +
		`,"heap":` + strconv.FormatUint(stats.HeapInuse, 10) +
		`,"linear":` + strconv.FormatUint(uint64(pages(0))<<16, 10) + `}`
	return types.OnVMStartStatusOK
}

// NewPluginContext implements [types.VMContext].
func (v *vm) NewPluginContext(uint32) types.PluginContext { return &plugin{vm: v} }

type plugin struct {
	types.DefaultPluginContext
	vm *vm
}

// NewHttpContext implements [types.PluginContext].
func (p *plugin) NewHttpContext(uint32) types.HttpContext { return &stream{vm: p.vm} }

type stream struct {
	types.DefaultHttpContext
	vm *vm
	op string
}

// OnHttpRequestHeaders implements [types.HttpContext].
func (s *stream) OnHttpRequestHeaders(int, bool) types.Action {
	path, err := proxywasm.GetHttpRequestHeader(":path")
	if err != nil {
		return answer("", err)
	}
	if op, ok := strings.CutPrefix(path, "/load?op="); ok {
		s.op = op
		return types.ActionPause
	}
	if times, ok := strings.CutPrefix(path, "/run/"); ok {
		return answer(s.vm.run(times))
	}
	return answer(s.vm.memory, nil)
}

func (v *vm) run(times string) (string, error) {
	n, err := strconv.Atoi(times)
	if err != nil {
		return "", err
	}
	for range n {
		v.bench.Run()
	}
	count, sum, err := v.bench.Result()
	return `{"count":` + strconv.Itoa(count) + `,"sum":` + strconv.FormatUint(uint64(sum), 10) + `}`, err
}

// OnHttpRequestBody implements [types.HttpContext].
func (s *stream) OnHttpRequestBody(size int, end bool) types.Action {
	if !end {
		return types.ActionPause
	}
	input, err := proxywasm.GetHttpRequestBody(0, size)
	if err == nil {
		err = s.vm.bench.Load(s.op, input)
	}
	return answer("{}", err)
}

func answer(body string, err error) types.Action {
	status := uint32(200)
	if err != nil {
		status, body = 500, err.Error()
	}
	if err := proxywasm.SendHttpResponse(status, nil, []byte(body), -1); err != nil {
		proxywasm.LogError(err.Error())
	}
	return types.ActionPause
}
