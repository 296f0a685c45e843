package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/harmonyedge/harmonyedge/bench/workload"
	"github.com/harmonyedge/harmonyedge/sim/batch"
)

// promptsOf returns the prompts of each conversation, in token ids.
func promptsOf(w *workload.Workload) ([][][]uint32, error) {
	translator := workload.NewTranslator(model)
	all := make([][][]uint32, len(w.Conversations))
	for i, c := range w.Conversations {
		for turn := range c.Turns {
			ids, err := translator.ChatPrompt(c.Body(model, turn))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.ID, err)
			}
			all[i] = append(all[i], ids)
		}
	}
	return all, nil
}

// oracleAnswer is what the oracle says: the tokens that the best caches would have had.
type oracleAnswer struct {
	Queried int `json:"queried"`
	// Hits is with the capacity of all servers together, and Unbounded with a cache that forgets nothing.
	Hits      int `json:"hits"`
	Unbounded int `json:"unbounded"`
}

// askOracle asks bench/routingsim/oracle.py, which knows the prompts in their order and the capacity, and nothing else.
func (b *bench) askOracle(ctx context.Context, prompts [][][]uint32, order []place) (answer oracleAnswer, err error) {
	f, err := os.CreateTemp("", "harmony-bench-*.jsonl")
	if err != nil {
		return answer, err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	out := bufio.NewWriter(f)
	lines := json.NewEncoder(out)
	for _, p := range order {
		if err := lines.Encode(prompts[p.conversation][p.turn]); err != nil {
			return answer, errors.Join(err, f.Close())
		}
	}
	if err := errors.Join(out.Flush(), f.Close()); err != nil {
		return answer, err
	}
	blocks := b.options.servers * (b.options.server.CacheBlocks - 1)
	cmd := exec.CommandContext(ctx, b.options.python, b.options.oracle, "--blocks",
		strconv.Itoa(blocks), "--block-size", strconv.Itoa(batch.DefaultBlockSize), f.Name())
	cmd.Stderr = os.Stderr
	said, err := cmd.Output()
	if err != nil {
		return answer, fmt.Errorf("the oracle: %w", err)
	}
	return answer, json.Unmarshal(said, &answer)
}
