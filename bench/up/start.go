package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// limit is how long a start may take.
const limit = time.Minute

func split(words string) []string { return strings.Split(words, ",") }

// start starts the program, asks it until it answers, and stops it. It asks every few milliseconds, so that the time
// does not depend on what the program prints.
func (v *variant) start(ctx context.Context, o *options, server string) (s sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	listen, err := freeAddress()
	if err != nil {
		return s, err
	}
	admin, err := freeAddress()
	if err != nil {
		return s, err
	}
	args := append([]string{"up"}, v.server(server)...)
	args = append(args, "--listen", listen, "--admin", admin, "--host", v.host, "--drain-time", "0s", "--wasm",
		filepath.Join(filepath.Dir(v.program), "harmony-filter.wasm"))
	if v.host == "envoy" {
		args = append(args, "--envoy", o.envoy)
	}
	var log bytes.Buffer
	c := exec.CommandContext(ctx, v.program, args...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 10 * time.Second
	c.Stdout, c.Stderr = &log, &log
	begun := time.Now()
	if err := c.Start(); err != nil {
		return s, err
	}
	ended := make(chan struct{})
	go func() {
		_ = c.Wait() // a status other than 0 is in what the program has said; it may still have been starting
		close(ended)
	}()
	err = firstToken(ctx, "http://"+listen, ended)
	s.took = time.Since(begun)
	if err == nil {
		s.own, s.envoy = usedBy(c.Process.Pid)
	}
	_ = c.Process.Signal(syscall.SIGTERM) // it may have ended
	<-ended
	if err != nil {
		return s, fmt.Errorf("%w; it said:\n%s", err, log.String())
	}
	return s, nil
}

const pause = 2 * time.Millisecond

var errEnded = errors.New("the program has ended before it answered")

// firstToken asks until the first event of an answer has come.
func firstToken(ctx context.Context, url string, ended <-chan struct{}) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		err := ask(ctx, client, url)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errEnded
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

const question = `{"model":"gpt-oss-120b","stream":true,"messages":[{"role":"user","content":"Hi"}]}`

func ask(ctx context.Context, client *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(question))
	if err != nil {
		return err
	}
	r.Header.Set("content-type", "application/json")
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(line, "data: ") {
		return fmt.Errorf("status %d: %s", response.StatusCode, line)
	}
	return nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// tick is the unit in which Linux counts processor time for programs.
const tick = time.Second / 100

// usedBy returns the processor time of a process, and of its children. Both are 0 where the system has no /proc.
func usedBy(pid int) (own, children time.Duration) {
	own, _ = used(strconv.Itoa(pid))
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return own, 0
	}
	for _, folder := range all {
		if t, parent := used(filepath.Base(folder)); parent == pid {
			children += t
		}
	}
	return own, children
}

// used reads the processor time of a process, with its children that have ended, and its parent.
func used(pid string) (t time.Duration, parent int) {
	data, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return 0, 0
	}
	// The name of the program, in brackets, may have spaces.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	const parentAt, firstAt, lastAt = 1, 11, 14
	if len(fields) <= lastAt {
		return 0, 0
	}
	parent, _ = strconv.Atoi(fields[parentAt])
	for _, f := range fields[firstAt : lastAt+1] {
		n, _ := strconv.Atoi(f)
		t += time.Duration(n) * tick
	}
	return t, parent
}
