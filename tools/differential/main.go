// Command differential feeds the same random token streams and conversations to the reference implementation and to the
// core. It compares both after every token and in every rendering, and prints what was covered.
//
//	HARMONY_ORACLE_PYTHON=… TIKTOKEN_ENCODINGS_BASE=… go run ./tools/differential [-seed N] [-streams N] [-conversations N]
//
// It fails on any difference. It also fails if a combination of state and token class, or an error, came up fewer than
// -least times.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"os/signal"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony/harmonytest"
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
	flag.StringVar(&r.script, "script", "tools/harmonyvectors/differential.py", "what asks the reference")
	flag.Parse()
	r.python = os.Getenv("HARMONY_ORACLE_PYTHON")
	if r.python == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: HARMONY_ORACLE_PYTHON=PYTHON differential [FLAGS]; see -help")
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
	python, script                string
	coverage                      coverage
	tokens, tolerant, differences int
}

func (r *run) all(ctx context.Context) error {
	t := o200k.Tokenizer()
	r.coverage = newCoverage(t)
	random := rand.New(rand.NewSource(r.seed))
	err := ask(ctx, r, "streams", r.streams, func(v *vectors.Stream) error {
		err := harmonytest.CheckStream(t, v, r.coverage.stream(v))
		compared, tolerantErr := harmonytest.CheckTolerant(t, v, random)
		r.tokens += len(v.Steps)
		if compared {
			r.tolerant++
		}
		return errors.Join(err, tolerantErr)
	})
	if err != nil {
		return err
	}
	err = ask(ctx, r, "conversations", r.conversations, func(v *vectors.Conversation) error {
		r.coverage.conversation(v)
		return harmonytest.CheckConversation(t, v)
	})
	if err != nil {
		return err
	}
	r.coverage.print(os.Stdout)
	fmt.Printf("seed %d: %d streams of %d tokens, %d of them through the tolerant parsers too, and %d conversations: "+
		"%d differences\n",
		r.seed, r.streams, r.tokens, r.tolerant, r.conversations, r.differences)
	if r.differences > 0 {
		return fmt.Errorf("%d differences", r.differences)
	}
	return r.coverage.missing(r.least)
}

// ask reads the lines that the script prints and checks each. A difference is printed at once.
func ask[T any](ctx context.Context, r *run, what string, count int, check func(v *T) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	script := exec.CommandContext(ctx, r.python, r.script, what, "--seed", strconv.FormatInt(r.seed, 10), "--count",
		strconv.Itoa(count))
	script.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	script.Stderr = os.Stderr
	out, err := script.StdoutPipe()
	if err != nil {
		return err
	}
	if err := script.Start(); err != nil {
		return err
	}
	n, err := vectors.Read(out, func(line int, v *T) error {
		if line%max(count/20, 1) == 0 {
			fmt.Fprintf(os.Stderr, "%d of %d %s\n", line, count, what)
		}
		err := check(v)
		if err == nil {
			return nil
		}
		r.differences++
		fmt.Fprintf(os.Stderr, "line %d of: %s\n%v\n", line, script, err)
		if r.differences >= enough {
			return errors.New("too many differences")
		}
		return nil
	})
	if err != nil {
		stop()
		_, _ = io.Copy(io.Discard, out)
		_ = script.Wait()
		return err
	}
	if err := script.Wait(); err != nil {
		return fmt.Errorf("%s: %w", script, err)
	}
	if n != count {
		return fmt.Errorf("%s: %d lines, want %d", script, n, count)
	}
	return nil
}
