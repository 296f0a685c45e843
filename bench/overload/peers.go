package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/stand"
	"github.com/harmonyedge/harmonyedge/bench/workload"
	"github.com/harmonyedge/harmonyedge/sim"
)

// startLimit is how long a peer may take until it knows its servers.
const startLimit = 60 * time.Second

// priorityHeader is in which SMG gets a request's class.
const priorityHeader = "x-smg-priority"

// peers returns the rows of other programs.
func (b *bench) peers() []row {
	rows := b.gaieRows()
	if b.options.smg == "" {
		return rows
	}
	headers := func(c *workload.Conversation) map[string]string {
		class := "bulk"
		if quiet(c.Group) {
			class = "interactive"
		}
		return map[string]string{clientHeader: c.Client, priorityHeader: class}
	}
	return append(rows, row{name: "SMG's priority scheduler", about: "SMG 1.13.0 between Envoy and the servers, with its " +
		"defaults but for the capacity; the quiet clients are `interactive`, a sixth is reserved for them, the others are " +
		"`bulk`", pool: "policy: least_request", kind: "sglang", peer: (*bench).withSMG, headers: headers})
}

// withSMG puts SMG between Envoy and servers of SGLang's API: it passes on no other prompts of token ids.
func (b *bench) withSMG(o *stand.Options) error {
	program, err := filepath.Abs(b.options.smg)
	if err != nil {
		return err
	}
	o.Server.Kind, o.Server.BlockSize = sim.SGLang, 16
	o.Before = func(ctx context.Context, servers []string) (string, func(), error) {
		return b.startSMG(ctx, program, servers)
	}
	return nil
}

// schedulerFile is the configuration of SMG's scheduler. Its defaults reserve more than there is here.
const schedulerFile = `classes:
  system: { reserved_floor: 0, reserved_per_slot: 0.0, queue_size: 64, queue_timeout_secs: %[1]d,
    starvation_threshold_secs: 5, can_preempt: true }
  interactive: { reserved_floor: %[2]d, reserved_per_slot: 0.0, queue_size: 2000, queue_timeout_secs: %[1]d,
    starvation_threshold_secs: 5, can_preempt: true }
  bulk: { reserved_floor: 0, reserved_per_slot: 0.0, queue_size: 2000, queue_timeout_secs: %[1]d,
    starvation_threshold_secs: 120, can_preempt: false }
`

func (b *bench) startSMG(ctx context.Context, program string, servers []string) (_ string, _ func(), err error) {
	ports, err := freePorts(2)
	if err != nil {
		return "", nil, err
	}
	folder, err := os.MkdirTemp("", "harmony-bench-smg-")
	if err != nil {
		return "", nil, err
	}
	o := &b.options
	capacity := o.servers * o.capacity
	file := filepath.Join(folder, "scheduler.yaml")
	text := fmt.Sprintf(schedulerFile, int(o.deadline.Seconds()), capacity/6)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", nil, err
	}
	p, err := startPeer(ctx, folder, program, nil, append([]string{"launch", "--host", "127.0.0.1", "--port", ports[0],
		"--prometheus-host", "127.0.0.1", "--prometheus-port", ports[1], "--max-concurrent-requests", fmt.Sprint(capacity),
		"--priority-scheduler-enabled", "--priority-scheduler-default-max-class", "interactive",
		"--priority-scheduler-config", file, "--worker-urls"}, servers...)...)
	if err != nil {
		return "", nil, err
	}
	url := "http://127.0.0.1:" + ports[0]
	if err := await(ctx, func() bool { return strings.Contains(get(url+"/v1/models"), model) }); err != nil {
		return "", nil, p.failed(err)
	}
	return url, p.stop, nil
}

// peer is another program that runs.
type peer struct {
	command *exec.Cmd
	folder  string
	log     *os.File
}

// startPeer starts a program with more variables in its environment. What it says goes into a file in the folder, which
// is removed when it is stopped.
func startPeer(ctx context.Context, folder, program string, variables []string, arguments ...string) (*peer, error) {
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	p := &peer{exec.CommandContext(ctx, program, arguments...), folder, log}
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // SMG has children
	p.command.Env = append(os.Environ(), variables...)
	p.command.Stdout, p.command.Stderr = log, log
	if err := p.command.Start(); err != nil {
		return nil, errors.Join(err, log.Close(), os.RemoveAll(folder))
	}
	return p, nil
}

func (p *peer) stop() {
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
	_ = p.command.Wait()
	_ = p.log.Close()
	_ = os.RemoveAll(p.folder)
}

// failed stops a program that does not do what it should, and returns the error with what it said.
func (p *peer) failed(err error) error {
	said, _ := os.ReadFile(p.log.Name())
	p.stop()
	return fmt.Errorf("%w; it said:\n%.9000s", err, said)
}

// await waits until a program is ready.
func await(ctx context.Context, ready func() bool) error {
	for end := time.Now().Add(startLimit); !ready(); {
		if time.Now().After(end) {
			return errors.New("it does not know its servers")
		}
		if err := workload.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// get returns what a URL answers, or nothing.
func get(url string) string {
	response, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return string(text)
}

func freePorts(n int) (ports []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}
