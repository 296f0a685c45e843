package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

// ask runs the script in both environments and checks each line with the other's. A difference is printed at once.
func ask[T any](ctx context.Context, r *run, what string, count int, check func(v, oss *T) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	script, out, err := start(ctx, r, r.python, what, count)
	if err != nil {
		return err
	}
	second, secondOut, err := start(ctx, r, r.oss, what, count)
	if err != nil {
		return err
	}
	lines, ended := make(chan *T), make(chan error, 1)
	go func() {
		defer close(lines)
		_, err := vectors.Read(secondOut, func(_ int, v *T) error {
			select {
			case lines <- v:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		ended <- err
	}()
	n, err := vectors.Read(out, func(line int, v *T) error {
		if line%max(count/20, 1) == 0 {
			fmt.Fprintf(os.Stderr, "%d of %d %s\n", line, count, what)
		}
		oss, ok := <-lines
		if !ok {
			return errors.Join(fmt.Errorf("%s ended at line %d", second, line), <-ended)
		}
		err := check(v, oss)
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
		_, _ = script.Wait(), second.Wait()
		return err
	}
	if err := errors.Join(<-ended, script.Wait(), second.Wait()); err != nil {
		return fmt.Errorf("%s: %w", script, err)
	}
	if n != count {
		return fmt.Errorf("%s: %d lines, want %d", script, n, count)
	}
	return nil
}

// start runs the script in an environment.
func start(ctx context.Context, r *run, python, what string, count int) (*exec.Cmd, io.ReadCloser, error) {
	script := exec.CommandContext(ctx, python, r.script, what, "--seed", strconv.FormatInt(r.seed, 10), "--count",
		strconv.Itoa(count))
	script.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	script.Stderr = os.Stderr
	out, err := script.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	return script, out, script.Start()
}
