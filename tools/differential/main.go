// Command differential feeds the same random token streams and conversations to openai-harmony, the reference, to
// oss-harmony and to the core. It compares them after every token and in every rendering, and prints what was covered.
//
//	HARMONY_ORACLE_PYTHON=… HARMONY_OSS_PYTHON=… TIKTOKEN_ENCODINGS_BASE=… go run ./tools/differential \
//	  [-seed N] [-streams N] [-conversations N]
//
// The core must be equal to openai-harmony. oss-harmony may differ by the rules of docs/harmony-format.md#oss-harmony.
// The run fails on any other difference. It also fails if a combination of state and token class, an error or a rule
// came up fewer than -least times.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/signal"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony/harmonytest"
	"github.com/harmonyedge/harmonyedge/harmonycore/repetition"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

// enough is the number of differences after which a run stops.
const enough = 10

func main() {
	var r run
	flag.Int64Var(&r.seed, "seed", 1, "seed of everything random")
	flag.IntVar(&r.streams, "streams", 100_000, "token streams")
	flag.IntVar(&r.conversations, "conversations", 30_000, "conversations")
	flag.IntVar(&r.least, "least", 100, "how often everything in the tables must be covered")
	flag.StringVar(&r.script, "script", "tools/harmonyvectors/differential.py", "what asks a reference")
	flag.Parse()
	r.python, r.oss = os.Getenv("HARMONY_ORACLE_PYTHON"), os.Getenv("HARMONY_OSS_PYTHON")
	if r.python == "" || r.oss == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: HARMONY_ORACLE_PYTHON=… HARMONY_OSS_PYTHON=… differential [FLAGS]; see -help")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := r.all(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(1)
	}
}

type run struct {
	seed                          int64
	streams, conversations, least int
	python, oss, script           string
	coverage                      coverage
	tokens, tolerant, differences int
	// repetitions is the number of streams that the defaults of repetition_detection would end early.
	repetitions int
}

func (r *run) all(ctx context.Context) error {
	t := o200k.Tokenizer()
	r.coverage = newCoverage(t)
	random := rand.New(rand.NewSource(r.seed))
	err := ask(ctx, r, "streams", r.streams, func(v, oss *vectors.Stream) error {
		err := harmonytest.CheckStream(t, v, r.coverage.stream(v))
		compared, tolerantErr := harmonytest.CheckTolerant(t, v, random)
		rules, ossErr := ossStream(t, v, oss)
		r.coverage.rules(rules)
		r.tokens += len(v.Steps)
		if compared {
			r.tolerant++
			r.repetitions += repeats(v)
		}
		return errors.Join(err, tolerantErr, ossErr)
	})
	if err != nil {
		return err
	}
	err = ask(ctx, r, "conversations", r.conversations, func(v, oss *vectors.Conversation) error {
		r.coverage.conversation(v)
		rules, err := ossConversation(t, v, oss)
		r.coverage.rules(rules)
		return errors.Join(harmonytest.CheckConversation(t, v), err)
	})
	if err != nil {
		return err
	}
	r.coverage.print(os.Stdout)
	fmt.Printf("seed %d: %d streams of %d tokens, %d of them through the tolerant parsers too, and %d conversations: "+
		"%d differences; %d of the tolerant streams would end as repetitions\n",
		r.seed, r.streams, r.tokens, r.tolerant, r.conversations, r.differences, r.repetitions)
	if r.differences > 0 {
		return fmt.Errorf("%d differences", r.differences)
	}
	return r.coverage.missing(r.least)
}

// repeats returns 1 if the stream's messages, taken for one, have a repetition by the defaults of the setting.
func repeats(v *vectors.Stream) int {
	r := contract.DefaultModel("").Repetition
	d := repetition.New(repetition.Limits{MaxPatternSize: r.MaxPatternSize, MinCount: r.MinCount, MinTokens: r.MinTokens},
		o200k.Tokenizer())
	for _, id := range v.Tokens {
		if d.Add(uint32(id)) && d.Look() {
			return 1
		}
	}
	return 0
}
