// Command takeports runs a command while the ports that the program listens on by default are taken:
//
//	go run ./tools/takeports go test -tags e2e ./e2e/...
//
// A test that uses such a port fails then, as it would on a machine where somebody works with the program. Ports that
// another program has are taken already.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// ports are the defaults of the program's commands, 8000 of an inference server, and 18080 of docs/testing-filters.md.
var ports = []string{"8000", "8080", "8090", "9001", "9002", "9005", "9006", "9901", "9903", "18000", "18001", "18005",
	"18080", "18092"}

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		code = 1
	}
	os.Exit(code)
}

func run(command []string) (code int, err error) {
	if len(command) == 0 {
		return 0, errors.New("no command is given")
	}
	for _, port := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err == nil {
			defer l.Close()
		} else if !errors.Is(err, syscall.EADDRINUSE) {
			return 0, err
		}
	}
	// A signal from the terminal reaches the command too, which ends first.
	signal.Ignore(os.Interrupt)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return failed.ExitCode(), nil
	}
	return 0, err
}
