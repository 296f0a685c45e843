//go:build e2e && vllm

package vllm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// ask is one of the ways to ask: an API, and whether its answer is streamed.
type ask struct {
	path   string
	stream bool
}

var asks = []ask{{lab.ChatPath, true}, {lab.ChatPath, false}, {lab.ResponsesPath, true}, {lab.ResponsesPath, false}}

// body returns a request whose only message is the text. A limit of 0 is none.
func (a ask) body(text string, limit int) string {
	request := map[string]any{"model": lab.Model, "stream": a.stream, "temperature": 0}
	if a.path == lab.ChatPath {
		request["messages"] = []any{map[string]any{"role": "user", "content": text}}
	} else {
		request["input"] = text
	}
	if limit > 0 {
		limits := map[string]string{lab.ChatPath: "max_completion_tokens", lab.ResponsesPath: "max_output_tokens"}
		request[limits[a.path]] = limit
	}
	encoded, _ := json.Marshal(request) // it has no value that JSON lacks
	return string(encoded)
}

// describe says what a client has seen, in the words of docs/faults.md.
func (a ask) describe(got lab.Answer) string {
	read, reset := lab.Read(got.Body), lab.IsReset(got.Err, "h1")
	switch {
	case got.Err != nil && !reset:
		return got.Err.Error()
	case got.Status != 200:
		return fmt.Sprintf("%d `%s`", got.Status, cmp.Or(got.ErrorCode(), got.Body))
	case read.Failure != "" && a.path == lab.ChatPath && reset:
		return "an error chunk, then a reset"
	case read.Failure != "" && a.path == lab.ChatPath:
		return "an error chunk"
	case read.Last && a.path == lab.ResponsesPath && a.stream:
		return "`response." + read.End + "`"
	case reset:
		return "a reset"
	case a.path == lab.ResponsesPath:
		return "`" + read.End + "`"
	}
	return "`finish_reason: " + read.End + "`"
}

// puppet returns the text of a message that the puppet answers with the script.
func puppet(t *testing.T, script string) string {
	t.Helper()
	text, err := engines.Text(script, engines.GenerationPrompt)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// endless is the script of an answer that the puppet never ends.
const endless = "<|channel|>final<|message|>On and on."

// faultKinds are the kinds that differ in what a failing vLLM is to them.
var faultKinds = []string{contract.VLLM, contract.VLLMGenerate, contract.Chat}

// before starts an Envoy before servers of a kind. With two they are a pool, and the second answers if the first fails.
func before(t *testing.T, kind string, stall time.Duration, urls ...string) *hosts.Host {
	t.Helper()
	return beforeContext(t, kind, contextLength, stall, urls...)
}

// beforeContext is before with the context that the gateway believes the servers to have.
func beforeContext(t *testing.T, kind string, tokens int, stall time.Duration, urls ...string) *hosts.Host {
	t.Helper()
	c := config.Default()
	c.Listen, c.Envoy.Concurrency, c.StallTimeout = "127.0.0.1:0", 1, config.Duration(stall)
	m := config.DefaultModel(lab.Model, kind+"="+urls[0])
	m.ContextLength = tokens
	if len(urls) > 1 {
		m.Servers, m.Pool = nil, "gpus"
		c.Pools = []config.Pool{{Name: m.Pool, Kind: kind, Servers: urls}}
	}
	c.Models = []config.Model{m}
	return lab.RunEnvoy(t, c)
}

// asked is a request of a client, through a gateway for a kind of servers, and what it has got.
type asked struct {
	kind string
	ask
	got lab.Answer
}

// askAll asks in every way through each gateway at once, calls during meanwhile, and returns what has come of it.
func askAll(t *testing.T, gateways map[string]*hosts.Host, text string, limit int, during func()) []*asked {
	t.Helper()
	return askEach(t, gateways, func(int) string { return text }, limit, during)
}

// askEach is askAll with a text for each request.
func askEach(t *testing.T, gateways map[string]*hosts.Host, text func(int) string, limit int, during func()) []*asked {
	t.Helper()
	var all []*asked
	for _, kind := range faultKinds {
		for _, a := range asks {
			all = append(all, &asked{kind: kind, ask: a})
		}
	}
	var running sync.WaitGroup
	own := lab.HTTP1(t)
	for i, a := range all {
		running.Go(func() { a.got = lab.Ask(own, gateways[a.kind].URL+a.path, a.body(text(i), limit)) })
	}
	during()
	running.Wait()
	return all
}

// rowsOf returns the rows of the table of docs/faults.md for what has come of [askAll]. Kinds with the same cells share
// a row. words, if not nil, says what a cell is called.
func rowsOf(fault string, all []*asked, words func(*asked) string) string {
	cells := map[string][]string{}
	for _, a := range all {
		cell := a.describe(a.got)
		if words != nil {
			cell = words(a)
		}
		cells[a.kind] = append(cells[a.kind], cell)
	}
	out, told := "", []string{}
	for _, same := range []struct {
		name  string
		kinds []string
	}{{"all", faultKinds}, {"ids", faultKinds[:2]}, {faultKinds[0], faultKinds[:1]}, {faultKinds[1], faultKinds[1:2]},
		{faultKinds[2], faultKinds[2:]}} {
		row := cells[same.kinds[0]]
		if slices.Contains(told, same.kinds[0]) ||
			slices.ContainsFunc(same.kinds, func(kind string) bool { return !slices.Equal(cells[kind], row) }) {
			continue
		}
		told = append(told, same.kinds...)
		if !slices.ContainsFunc(row, func(cell string) bool { return cell != row[0] }) {
			row = append([]string{row[0]}, slices.Repeat([]string{"the same"}, len(row)-1)...)
		}
		out += "| " + fault + " | " + same.name + " | " + strings.Join(row, " | ") + " |\n"
	}
	return out
}
