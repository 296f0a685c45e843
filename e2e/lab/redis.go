//go:build e2e

package lab

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Redis is a Redis server on loopback that keeps nothing on disk.
type Redis struct {
	*Program
	t    *testing.T
	port string
	URL  string
}

// StartRedis runs the Redis of $HARMONY_REDIS, which is empty.
func StartRedis(t *testing.T) *Redis {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Redis{t: t, port: strconv.Itoa(l.Addr().(*net.TCPAddr).Port)}
	r.URL = fmt.Sprintf("redis://127.0.0.1:%s/0", r.port)
	l.Close()
	r.Start()
	return r
}

// Start runs the server, again after [Program.Kill], and waits until it answers. It is empty.
func (r *Redis) Start() {
	r.t.Helper()
	c := exec.Command(filepath.Join(Tool(r.t, "HARMONY_REDIS"), "redis-server"), "--port", r.port, "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--databases", "64")
	c.Dir = r.t.TempDir()
	r.Program = Run(r.t, c)
	for end := time.Now().Add(ReadyLimit); ; {
		if r.answers() {
			return
		}
		if time.Now().After(end) || r.Ended(10*time.Millisecond) {
			r.t.Fatalf("Redis does not answer: %v\n%s%s", r.Err, &r.Stdout, &r.Stderr)
		}
	}
}

func (r *Redis) answers() bool {
	c, err := net.DialTimeout("tcp", "127.0.0.1:"+r.port, time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	answer := make([]byte, len("+PONG"))
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	n, _ := c.Read(answer)
	return string(answer[:n]) == "+PONG"
}
