package redisledger

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/services/limits/ledger"
)

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// TestLogTo checks that what the client of Redis reports is a line of the program's log.
func TestLogTo(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	_ = closed.Close()
	var out lockedBuffer
	LogTo(slog.New(slog.NewTextHandler(&out, nil)))
	l, err := Open("redis://"+address+"/0", "", ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.client.Ping(t.Context()).Err(); err == nil {
		t.Fatal("something answers")
	}
	clientLog{slog.New(slog.NewTextHandler(&out, nil))}.Printf(t.Context(), "redis: %s\n", "gone")
	out.mu.Lock()
	defer out.mu.Unlock()
	for line := range strings.Lines(out.text.String()) {
		if !strings.Contains(line, `level=WARN msg="a connection to Redis fails" error="redis: `) {
			t.Errorf("a line of another form: %s", line)
		}
	}
	if !strings.Contains(out.text.String(), `error="redis: gone"`) {
		t.Errorf("it logs %s", &out.text)
	}
}
