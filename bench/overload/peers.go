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
	if b.options.smg == "" {
		return nil
	}
	return []row{{name: "SMG's priority scheduler", about: "SMG 1.13.0 between Envoy and the servers, with its defaults " +
		"but for the capacity; the quiet clients are `interactive`, a sixth is reserved for them, the others are `bulk`",
		pool: "policy: least_request", before: (*bench).withSMG, headers: func(c *workload.Conversation) map[string]string {
			class := "bulk"
			if quiet(c.Group) {
				class = "interactive"
			}
			return map[string]string{clientHeader: c.Client, priorityHeader: class}
		}}}
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
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return "", nil, err
	}
	c := exec.CommandContext(ctx, program, append([]string{"launch", "--host", "127.0.0.1", "--port", ports[0],
		"--prometheus-host", "127.0.0.1", "--prometheus-port", ports[1], "--max-concurrent-requests", fmt.Sprint(capacity),
		"--priority-scheduler-enabled", "--priority-scheduler-default-max-class", "interactive",
		"--priority-scheduler-config", file, "--worker-urls"}, servers...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it has children
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(folder))
	}
	stop := func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
		_ = log.Close()
		_ = os.RemoveAll(folder)
	}
	url := "http://127.0.0.1:" + ports[0]
	if err := awaitModels(ctx, url); err != nil {
		said, _ := os.ReadFile(log.Name())
		stop()
		return "", nil, fmt.Errorf("%w; it said:\n%.4000s", err, said)
	}
	return url, stop, nil
}

// awaitModels waits until a router lists the servers' model.
func awaitModels(ctx context.Context, url string) error {
	for end := time.Now().Add(startLimit); ; {
		if response, err := http.Get(url + "/v1/models"); err == nil {
			text, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK && strings.Contains(string(text), model) {
				return nil
			}
		}
		if time.Now().After(end) {
			return errors.New("the router does not know its servers")
		}
		if err := workload.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
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
