package main

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// addressDefaults returns the rows of docs/processes.md that follow from the program: each flag whose default is an
// address, and the settings of the file that are one.
func addressDefaults() []string {
	rows := []string{
		config.DefaultListen + " listen in the file",
		config.DefaultServiceListen + " responses_service.listen in the file",
		":" + strconv.Itoa(contract.DefaultBootstrapPort) + " pools[].prefill.bootstrap_port",
	}
	address := regexp.MustCompile(`^[0-9.]+:[0-9]+$`)
	var add func(c *cobra.Command)
	add = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if address.MatchString(f.DefValue) {
				rows = append(rows, f.DefValue+" "+c.CommandPath()+" --"+f.Name)
			}
		})
		for _, sub := range c.Commands() {
			add(sub)
		}
	}
	add(root())
	slices.Sort(rows)
	return rows
}

// TestProcesses compares the ports of docs/processes.md with the program's defaults, in both directions. The page has no
// other port.
func TestProcesses(t *testing.T) {
	page, err := os.ReadFile("../../docs/processes.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	ports := map[string]bool{}
	row := regexp.MustCompile("(?m)^\\| `([0-9.]*:([0-9]+))` \\| (.+?) \\|")
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		rows = append(rows, m[1]+" "+strings.ReplaceAll(m[3], "`", ""))
		ports[m[2]] = true
	}
	slices.Sort(rows)
	if want := addressDefaults(); !slices.Equal(rows, want) {
		t.Errorf("the page has\n%s\nthe program has\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	for _, port := range regexp.MustCompile(`\b[0-9]{4,5}\b`).FindAllString(string(page), -1) {
		if !ports[port] {
			t.Errorf("the page has the port %s, which is in none of its tables", port)
		}
	}
}
