// Command agentloops measures how much of a prompt an inference server computes again in each turn of an agent. A
// scripted gpt-oss plays whole loops of calls and results on real engines, through Envoy with the filter and
// through the engine's own front end.
//
// It knows Envoy, the filter and the engines from outside, and how the scripted model finds its script. It does not know
// how a conversation is rendered.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/harmonyedge/harmonyedge/bench/command"
)

// options are the flags.
type options struct {
	engines, loops string
	turns          int
	results, out   string
}

func main() {
	var o options
	flag.StringVar(&o.engines, "engines", ".", "measure only engines whose name matches this `expression`")
	flag.StringVar(&o.loops, "loops", ".", "play only loops whose name matches this `expression`")
	flag.IntVar(&o.turns, "turns", 43, "`turns` of a loop; 0 plays none, and writes the page of what was measured before")
	flag.StringVar(&o.results, "results", "build/bench/agent-loops", "`folder` of what was measured, an engine a file")
	flag.StringVar(&o.out, "out", "", "write agent-loops.md and its picture into this `folder` too")
	command.Main("agent-loops", func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) error {
	if o.turns > 0 {
		if err := play(ctx, o); err != nil {
			return err
		}
	}
	all, err := saved(o.results)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	write(&page, all)
	return command.Publish(page.String(), o.out, func() []command.File {
		return []command.File{{Name: "agent-loops.svg", Data: plot(all)}, {Name: "agent-loops.md", Data: page.Bytes()}}
	})
}

// play measures the engines.
func play(ctx context.Context, o options) error {
	byEngine, err := regexp.Compile(o.engines)
	if err != nil {
		return err
	}
	byLoop, err := regexp.Compile(o.loops)
	if err != nil {
		return err
	}
	found := false
	for _, e := range measurable {
		if !byEngine.MatchString(e.name) {
			continue
		}
		found = true
		m, err := measure(ctx, e, o.turns, byLoop)
		if err == nil {
			err = save(o.results, &m)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	if !found {
		return errors.New("no engine has such a name")
	}
	return nil
}

// save keeps what was measured of an engine. The page is written of all engines that were measured, in this run or
// before.
func save(folder string, m *measured) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, m.Engine+".json"), data, 0o644)
}

// saved returns what was measured of all engines.
func saved(folder string) (all []measured, err error) {
	for _, e := range measurable {
		data, err := os.ReadFile(filepath.Join(folder, e.name+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		m := measured{engine: e}
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err != nil {
			return nil, err
		}
		for i := range m.Loops {
			for _, l := range loopsOf(&e) {
				if l.name == m.Loops[i].Loop {
					m.Loops[i].loop = l
				}
			}
		}
		all = append(all, m)
	}
	return all, nil
}
