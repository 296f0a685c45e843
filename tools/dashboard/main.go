// Command dashboard writes examples/monitoring/dashboard.json, the dashboard for Grafana, from the rows in rows.go. Run it
// from the root of the module: make dashboard.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// file is what the command writes.
const file = "examples/monitoring/dashboard.json"

func main() {
	text, err := generate()
	if err == nil {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

// generate returns the dashboard's JSON.
func generate() ([]byte, error) {
	board, err := build(rows())
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(board, "", "  ")
	return append(text, '\n'), err
}
