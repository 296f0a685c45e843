package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandInPage matches a line of code with a command of this program, by the name that an installation gives it or by
// the one of a checkout. commandInText matches one inside a sentence or a table, without those that are left
// unfinished.
var (
	commandInPage = regexp.MustCompile(`^(?:    )?(?:\$ )?(?:dist/)?harmony ([a-z].*)`)
	commandInText = regexp.MustCompile("`(?:dist/)?harmony ([a-z-][^`…]*)`")
)

// endOfCommand is what ends a command in a shell's line.
var endOfCommand = regexp.MustCompile(`\s*(\||>|&|;|\s#).*`)

// pageCommand is a command of this program in a page.
type pageCommand struct {
	text string
	// mentioned reports whether it stands in a sentence, where its arguments may be left out.
	mentioned bool
}

func pageCommands(text string) []pageCommand {
	var commands []pageCommand
	inFence := false
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(strings.TrimSpace(lines[i]), "```") {
			inFence = !inFence
			continue
		}
		if !inFence && !strings.HasPrefix(lines[i], "    ") {
			for _, m := range commandInText.FindAllStringSubmatch(lines[i], -1) {
				commands = append(commands, pageCommand{m[1], true})
			}
			continue
		}
		m := commandInPage.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		command := m[1]
		for strings.HasSuffix(command, `\`) && i+1 < len(lines) {
			i++
			command = strings.TrimSuffix(command, `\`) + " " + strings.TrimSpace(lines[i])
		}
		commands = append(commands, pageCommand{endOfCommand.ReplaceAllString(command, ""), false})
	}
	return commands
}

// words splits a command as a shell does. It knows only what the pages need.
func words(command string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`).FindAllString(command, -1) {
		all = append(all, strings.NewReplacer(`"`, "", `'`, "").Replace(m))
	}
	return all
}

// TestCommandsOfPages checks every command of this program in the documentation: the command exists, it has the flags,
// and it takes the arguments. Tests of the pages run most of them; this one misses none.
func TestCommandsOfPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md", "../../CHANGELOG.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range pageCommands(string(text)) {
			if one.text == "serve --config config.yaml" && filepath.Base(page) == "ten-broken-things.md" {
				continue // it is one of the ten
			}
			checked++
			if err := one.parse(root()); err != nil {
				t.Errorf("%s: harmony %s: %v", filepath.Base(page), one.text, err)
			}
		}
	}
	if checked < 150 {
		t.Errorf("only %d commands were found", checked)
	}
}

// parse finds the command and reads its flags and arguments, without running it.
func (p pageCommand) parse(root *cobra.Command) error {
	c, rest, err := root.Find(words(p.text))
	if err != nil {
		return err
	}
	err = c.ParseFlags(rest)
	var incomplete *pflag.ValueRequiredError
	switch {
	case errors.Is(err, pflag.ErrHelp), p.mentioned && errors.As(err, &incomplete):
		return nil
	case err != nil || p.mentioned:
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}

// TestPageCommands checks that commands are found, and that a wrong one is an error.
func TestPageCommands(t *testing.T) {
	got := pageCommands("Text of harmony up.\n\n    harmony up --model m \\\n      --backend vllm=http://h:1 > log # why\n" +
		"```console\n$ dist/harmony status --adress x | head\nharmony_requests_total\n$ harmony probe\n```\n" +
		"harmony up --nothing, `harmony sim --what`, `harmony up --backend`, `harmony up …`\n")
	want := []struct {
		pageCommand
		right bool
	}{
		{pageCommand{"up --model m  --backend vllm=http://h:1", false}, true},
		{pageCommand{"status --adress x", false}, false},
		{pageCommand{"probe", false}, false},
		{pageCommand{"sim --what", true}, false},
		{pageCommand{"up --backend", true}, true},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i, one := range want {
		if err := got[i].parse(root()); got[i] != one.pageCommand || (err == nil) != one.right {
			t.Errorf("%+v, %v", got[i], err)
		}
	}
}
