//go:build e2e && vllm

package vllm

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/inspect"
)

var blockSize = regexp.MustCompile(`vllm:cache_config_info\{[^}]*[,{]block_size="(\d+)"`)

// TestDiff sends two turns of an agent for each change, and compares what the server says of its cache with what
// `harmony inspect diff` has foretold: to the block. A salt of its own keeps each pair from the others' blocks. Of the
// layers with a sliding window the server keeps by default what is at the prompt's end, and so it can go on only there.
func TestDiff(t *testing.T) {
	for name, flags := range map[string][]string{"whole": {"--prefix-cache-retention-interval", "128"}, "default": nil} {
		t.Run(name, func(t *testing.T) {
			v := servers.New(t, slices.Concat(wideFlags, []string{"--block-size", "32"}, flags)...)
			block := blockOf(t, v)
			for i, c := range engines.Changes() {
				compareCache(t, v, i, &c, block, name == "whole")
			}
		})
	}
}

// compareCache compares the server's numbers with ours for a change. whole is set for a server that keeps all
// of those layers.
func compareCache(t *testing.T, v *engines.VLLM, number int, c *engines.Change, block int, whole bool) {
	t.Helper()
	var cached, prompt int
	for _, line := range [][]byte{c.First, c.Next} {
		ids, err := engines.RenderLine(line)
		if err != nil {
			t.Fatal(err)
		}
		prompt, cached = len(ids), cachedTokens(t, v, ids, fmt.Sprintf("diff-%d", number))
	}
	d, err := inspect.NewDiff(o200k.Tokenizer(), inspect.DiffFile{Name: "before", Data: c.First},
		inspect.DiffFile{Name: "now", Data: c.Next}, inspect.DiffOptions{Block: block, Ends: !whole})
	if err != nil {
		t.Fatal(err)
	}
	if d.Reason.String() != c.Reason || cached != d.Cached || prompt-cached != d.Computed {
		t.Errorf("change %d, %s: the server has read %d of %d tokens from its cache, we say %+v", number, c.Reason, cached,
			prompt, d.Difference)
	}
	t.Logf("%-17s: %d tokens (%d blocks of %d) read from the cache, %d computed; foretold %d, %d, of which %d again",
		c.Reason, cached, cached/block, block, prompt-cached, d.Cached, d.Computed, d.Again)
}

// blockOf returns how many tokens a block of the server's cache has.
func blockOf(t *testing.T, v *engines.VLLM) int {
	t.Helper()
	response, err := client.Get(v.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := blockSize.FindSubmatch(text)
	if found == nil {
		t.Fatal("vLLM's metrics have no block size")
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil || n < 1 {
		t.Fatal(n, err)
	}
	return n
}

// cachedTokens sends a prompt, and returns how much of it the server has read from its cache.
func cachedTokens(t *testing.T, v *engines.VLLM, ids []uint32, salt string) int {
	t.Helper()
	status, body := post(t, v.URL+"/v1/completions", map[string]any{
		"model": engines.VLLMModel, "prompt": ids, "max_tokens": 1, "temperature": 0, "cache_salt": salt})
	var answer struct {
		Usage struct {
			Prompt  int `json:"prompt_tokens"`
			Details *struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || status != http.StatusOK || answer.Usage.Prompt != len(ids) ||
		answer.Usage.Details == nil {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	return answer.Usage.Details.Cached
}
