// Command redact is an independent filter: written with proxy-wasm/proxy-wasm-go-sdk, built by Go itself.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o redact.wasm ./redact
//
// It refuses requests without a header, and removes a word from streamed responses, also where the network has cut it.
package main

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm"
	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm/types"
)

func main() {}

func init() {
	proxywasm.SetPluginContext(func(uint32) types.PluginContext { return &plugin{} })
}

// plugin is the filter's configuration.
type plugin struct {
	types.DefaultPluginContext
	Header string `json:"header"` // a request without it is refused
	Word   string `json:"word"`   // the word that no client may see
	mask   string
	hits   proxywasm.MetricCounter
}

// OnPluginStart reads the configuration.
func (p *plugin) OnPluginStart(int) types.OnPluginStartStatus {
	configuration, err := proxywasm.GetPluginConfiguration()
	if err == nil {
		err = json.Unmarshal(configuration, p)
	}
	if err != nil || p.Header == "" || p.Word == "" {
		proxywasm.LogCriticalf("redact: the configuration wants a header and a word: %v", err)
		return types.OnPluginStartStatusFailed
	}
	if p.mask = os.Getenv("REDACT_MASK"); p.mask == "" {
		p.mask = "[redacted]"
	}
	p.hits = proxywasm.DefineCounterMetric("redact.words")
	return types.OnPluginStartStatusOK
}

// NewHttpContext begins a request.
func (p *plugin) NewHttpContext(uint32) types.HttpContext { return &stream{plugin: p} }

type stream struct {
	types.DefaultHttpContext
	*plugin
}

// OnHttpRequestHeaders refuses requests without the header.
func (s *stream) OnHttpRequestHeaders(int, bool) types.Action {
	if _, err := proxywasm.GetHttpRequestHeader(s.Header); err != nil {
		must(proxywasm.SendHttpResponse(401, [][2]string{{"content-type", "text/plain"}}, []byte("this needs "+s.Header+"\n"),
			-1))
		return types.ActionPause
	}
	must(proxywasm.RemoveHttpRequestHeader("accept-encoding")) // a compressed body cannot be read
	return types.ActionContinue
}

// OnHttpResponseHeaders removes the length, which will be wrong after the redaction.
func (s *stream) OnHttpResponseHeaders(int, bool) types.Action {
	must(proxywasm.RemoveHttpResponseHeader("content-length"))
	return types.ActionContinue
}

// OnHttpResponseBody removes the word from a chunk. A chunk that ends with a possible beginning of the word waits in
// Envoy's buffer for the next chunk. There it is not lost, however the response ends.
func (s *stream) OnHttpResponseBody(size int, end bool) types.Action {
	if size == 0 {
		return types.ActionContinue // the end of an HTTP/1.1 body; the SDK calls it an error to read nothing
	}
	body, err := proxywasm.GetHttpResponseBody(0, size)
	must(err)
	if n := bytes.Count(body, []byte(s.Word)); n > 0 {
		body = bytes.ReplaceAll(body, []byte(s.Word), []byte(s.mask))
		must(proxywasm.ReplaceHttpResponseBody(body))
		s.hits.Increment(uint64(n))
	}
	if !end && endsWithin(body, s.Word) {
		return types.ActionPause
	}
	return types.ActionContinue
}

// endsWithin reports whether body ends with the beginning of word, but not with all of it.
func endsWithin(body []byte, word string) bool {
	for n := min(len(body), len(word)-1); n > 0; n-- {
		if bytes.HasSuffix(body, []byte(word[:n])) {
			return true
		}
	}
	return false
}

// must ends the VM if Envoy refuses a call that it should never refuse.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
