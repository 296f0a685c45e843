package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
)

// TestManPages: every command that help shows has a page with all its flags, and no line is one that man would read as
// an unknown request.
func TestManPages(t *testing.T) {
	pages := map[string]string{}
	for _, p := range cli.ManPages(root(), "1.2.3") {
		pages[p.Name] = p.Text
	}
	request := regexp.MustCompile(`^\.(TH|SH|TP|PP|IP|EX|EE|B|BR|br)( |$)`)
	for name, text := range pages {
		examples := 0
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if strings.HasPrefix(line, ".") && !request.MatchString(line) || strings.HasPrefix(line, "'") || line == "" {
				t.Errorf("%s:%d: %q", name, i+1, line)
			}
			switch line {
			case ".EX":
				examples++
			case ".EE":
				examples--
			}
			if examples < 0 || examples > 1 {
				t.Fatalf("%s:%d: examples are not in pairs", name, i+1)
			}
		}
		if examples != 0 || !strings.Contains(text, ".SH NAME\n") || !strings.Contains(text, "Harmony Edge 1.2.3") {
			t.Errorf("%s is not whole:\n%s", name, text)
		}
	}
	for page, want := range map[string]string{
		"harmony-status.1": ".IP \\(bu 2\nno server refuses all requests, passes structural tags over or has a " +
			"smaller context than\ncontext_length says;\n.IP ",
		"harmony-chat.1": ".SH EXAMPLES\n.EX\n  harmony chat\n",
	} {
		if !strings.Contains(pages[page], want) {
			t.Errorf("%s has no\n%s in\n%s", page, want, pages[page])
		}
	}
	seen := 0
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		if !c.IsAvailableCommand() && c.HasParent() {
			return
		}
		seen++
		text := pages[strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"]
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if flag := `\fB\-\-` + strings.ReplaceAll(f.Name, "-", `\-`) + `\fR`; !f.Hidden && !strings.Contains(text, flag) {
				t.Errorf("%s: no --%s", c.CommandPath(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	all := root()
	cli.ManPages(all, "") // it adds the commands of the library
	check(all)
	if seen != len(pages) {
		t.Errorf("%d commands, and %d pages", seen, len(pages))
	}
}

// TestManCommand writes the pages, and refuses a command line without a folder.
func TestManCommand(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "man1")
	var out, errors strings.Builder
	if status := run(t.Context(), []string{"man", folder}, &out, &errors); status != 0 ||
		!strings.Contains(out.String(), "pages") {
		t.Fatalf("status %d: %s%s", status, out.String(), errors.String())
	}
	if text, err := os.ReadFile(filepath.Join(folder, "harmony-up.1")); err != nil ||
		!strings.Contains(string(text), `harmony up`) {
		t.Errorf("%v: %s", err, text)
	}
	if status := run(t.Context(), []string{"man"}, &out, &errors); status != 2 ||
		!strings.Contains(errors.String(), "name one folder") {
		t.Errorf("status %d: %s", status, errors.String())
	}
}
