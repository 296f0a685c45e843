package toolserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/harmonyedge/harmonyedge/internal/memlog"
)

// runProcess is a server that is a process. The tests start their own program.
func runProcess(mode string) {
	fmt.Fprintln(os.Stderr, "start of "+mode)
	switch mode {
	case "silent": // it neither reads nor answers
		time.Sleep(time.Hour)
	case "garbage":
		fmt.Println("Hello! I am a server.")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "dies":
	case "deaf": // it does not end when it is asked to, and has a child
		child := exec.Command("sleep", "1000")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			panic(err)
		}
		path := os.Getenv("TOOLSERVER_PIDS")
		_ = os.WriteFile(path+".new", fmt.Appendf(nil, "%d %d", os.Getpid(), child.Process.Pid), 0o600)
		_ = os.Rename(path+".new", path)
		serveLines(func(*rpc) string { return textResult("here") })
		time.Sleep(time.Hour)
	case "toolbox":
		if err := newToolbox(nil).Run(context.Background(), &mcp.StdioTransport{}); err != nil && !errors.Is(err, io.EOF) {
			panic(err)
		}
	case "lines":
		serveLines(func(m *rpc) string {
			var p struct {
				Name      string
				Arguments struct{ Zebra string }
			}
			_ = json.Unmarshal(m.Params, &p)
			fmt.Fprintln(os.Stderr, "called with "+p.Arguments.Zebra)
			switch p.Name {
			case "pid":
				return textResult(strconv.Itoa(os.Getpid()))
			case "environment":
				return textResult(strings.Join(os.Environ(), "\n"))
			case "die":
				os.Exit(3)
			case "garbage":
				fmt.Println(`{"jsonrpc":`)
				fmt.Println("oh")
			case "large":
				_, _ = os.Stdout.Write(append([]byte(`{"a":"`), bytes.Repeat([]byte("a"), 8<<20)...))
			case "spread":
				_, _ = os.Stdout.Write(bytes.Repeat([]byte("[\n"), 4<<20))
			case "hang":
				select {}
			case "flood":
				w := bufio.NewWriter(os.Stdout)
				for i := range 100_000 {
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"p%d","method":"ping"}`+"\n", i)
				}
				w.Flush()
				time.Sleep(time.Hour)
			}
			return textResult("?")
		})
	}
}

// serveLines is a server without the SDK. It answers calls by a function.
func serveLines(f func(*rpc) string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var m rpc
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			panic(err)
		}
		switch {
		case m.ID == nil || m.Method == "":
		case m.Method == methodInitialize:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, handshake)
		case m.Method == methodCall:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, f(&m))
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", m.ID)
		}
	}
}

func program(mode string, environment ...string) *Server {
	return &Server{Label: "program", Command: []string{os.Args[0]},
		// The race detector would wait for a second when the program ends.
		Environment: append(environment, "TOOLSERVER_PROCESS="+mode, "GORACE=atexit_sleep_ms=0")}
}

// A process that dies, writes garbage or too much, or hangs, is an error. The next call has a new process.
func TestProcessRestarts(t *testing.T) {
	for name, want := range map[string]func(*testing.T, error){
		"die":     func(t *testing.T, err error) { fails[*ConnectionError](t, err) },
		"garbage": func(t *testing.T, err error) { fails[*ConnectionError](t, err) },
		"large":   func(t *testing.T, err error) { fails[*LimitError](t, err) },
		"spread":  func(t *testing.T, err error) { fails[error](t, err) },
		"flood":   func(t *testing.T, err error) { fails[error](t, err) },
		"hang":    func(t *testing.T, err error) { fails[*TimeoutError](t, err) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, Limits{Message: 1 << 20})
			s := program("lines")
			before := mustCall(t, p, s, "pid")
			if name == "hang" || name == "flood" { // nothing but time ends these
				limitCalls(p, time.Second)
			}
			_, err := p.Call(t.Context(), s, "", call(name))
			limitCalls(p, time.Minute)
			want(t, err)
			if after := mustCall(t, p, s, "pid"); after == before {
				t.Error("it is the same process")
			}
		})
	}
}

// A process that has died between two calls is started again without an error.
func TestProcessDiesBetweenCalls(t *testing.T) {
	p := newPool(t, Limits{})
	s := program("lines")
	before, err := strconv.Atoi(mustCall(t, p, s, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the session", func() bool { return p.count() == 0 })
	if after := mustCall(t, p, s, "pid"); after == strconv.Itoa(before) {
		t.Error("it is the same process")
	}
}

// There are as many processes as there may be. They do not take the places of other sessions.
func TestProcessesAreLimited(t *testing.T) {
	p := newPool(t, Limits{Processes: 1})
	box := newToolbox(nil)
	other := serve(t, box.streamable(nil), nil)
	mustCall(t, p, other, "echo")
	first := mustCall(t, p, program("lines"), "pid")
	// One that nobody uses makes room.
	if second := mustCall(t, p, program("lines", "A=b"), "pid"); second == first {
		t.Error("it is the same process")
	}
	if n := p.count(); n != 2 {
		t.Errorf("there are %d sessions", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := p.Call(ctx, program("lines", "A=b"), "", call("hang"))
		done <- err
	}()
	eventually(t, "the call", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		s := p.sessions[program("lines", "A=b").session("")]
		return s != nil && s.users > 0
	})
	_, err := p.Call(t.Context(), program("lines"), "", call("pid"))
	if e := fails[*LimitError](t, err); e != nil && e.What != "processes of tool servers" {
		t.Errorf("it is %v", e)
	}
	cancel()
	if err := wait(t, "the end of the call", done); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestProcessCannotStart(t *testing.T) {
	p := newPool(t, Limits{Connect: 3 * time.Second})
	for name, s := range map[string]*Server{
		"no such program": {Command: []string{"/nonexistent/secret-program"}},
		"garbage":         program("garbage"),
		"dies":            program("dies"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.Call(t.Context(), s, "", call("x"))
			fails[*ConnectionError](t, err)
		})
	}
	_, err := p.Call(t.Context(), program("silent"), "", call("x"))
	if e := fails[*TimeoutError](t, err); e.What != whatConnecting {
		t.Errorf("what took too long: %s", e.What)
	}
}

// The end of a session ends the process and what it has started, though they ignore that stdin is closed.
func TestProcessGroupEnds(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	p := NewPool(Limits{}, nil, slog.New(slog.DiscardHandler))
	if text := mustCall(t, p, program("deaf", "TOOLSERVER_PIDS="+pids), "x"); text != "here" {
		t.Fatal(text)
	}
	data, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	closePool(t, p)
	for text := range strings.FieldsSeq(string(data)) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the end of process "+text, func() bool { return hasEnded(pid) })
	}
	if _, err := p.Call(t.Context(), program("lines"), "", call("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed pool answers %v", err)
	}
}

// hasEnded reports whether a process has ended. Its parent may not have seen that.
func hasEnded(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

func TestProcessEnvironment(t *testing.T) {
	t.Setenv("DATABASE_PASSWORD", "secret")
	text := mustCall(t, newPool(t, Limits{}), program("lines", "GREETING=hello=there"), "environment")
	if strings.Contains(text, "DATABASE_PASSWORD") || !strings.Contains(text, "GREETING=hello=there") ||
		!strings.Contains(text, "PATH=") {
		t.Error(text)
	}
}

// TestStderr: the lines of a process on stderr are logged until a tool is called. Then they may be a user's words.
func TestStderr(t *testing.T) {
	l := &memlog.Log{}
	p := NewPool(Limits{}, nil, slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})))
	server := program("lines")
	_, err := p.Tools(t.Context(), server, "") // it has no list, and has started then
	fails[*ProtocolError](t, err)
	eventually(t, "the log of the start", func() bool { return strings.Contains(l.String(), "start of lines") })
	c := call("pid")
	c.Arguments = json.RawMessage(`{"zebra":"a stripe"}`)
	if _, err := p.Call(t.Context(), server, "", c); err != nil {
		t.Fatal(err)
	}
	closePool(t, p)
	eventually(t, "the log of stderr", func() bool { return strings.Contains(l.String(), "what is not logged") })
	if text := l.String(); strings.Contains(text, "stripe") {
		t.Error(text)
	}
}
