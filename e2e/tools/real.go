//go:build e2e

package tools

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// everythingProgram is the program of the reference's server with a tool of each kind, below the folder of packages.
const everythingProgram = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"

// everythingCommand is the command of that server. transport is "stdio", "sse" or "streamableHttp".
func everythingCommand(t *testing.T, transport string) []string {
	t.Helper()
	return []string{filepath.Join(lab.Tool(t, "HARMONY_CLIENTS"), "node"),
		filepath.Join(lab.Tool(t, "HARMONY_MCP"), everythingProgram), transport}
}

// timeCommand is the command of the reference's server of times, by stdio.
func timeCommand(t *testing.T) []string {
	t.Helper()
	return []string{lab.Tool(t, "HARMONY_MCP_PYTHON"), "-m", "mcp_server_time", "--local-timezone", "UTC"}
}

// runEverything runs that server with a transport over HTTP, and returns its address.
func runEverything(t *testing.T, transport string) string {
	t.Helper()
	address := lab.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	command := everythingCommand(t, transport)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "PORT="+port)
	program := lab.Run(t, cmd)
	client := lab.HTTP1(t)
	for end := time.Now().Add(lab.ReadyLimit); ; time.Sleep(20 * time.Millisecond) {
		answer, err := client.Get(fmt.Sprintf("http://%s/", address)) // any answer shows that it listens
		if err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			return "http://" + address
		}
		if time.Now().After(end) || program.Ended(0) {
			t.Fatalf("server-everything does not listen: %v", err)
		}
	}
}
