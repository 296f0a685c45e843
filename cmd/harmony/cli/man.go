package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/harmonyedge/harmonyedge/internal/version"
)

func manCommand() *cobra.Command {
	c := &cobra.Command{
		Use:        "man FOLDER",
		SuggestFor: []string{"manual", "docs"},
		Short:      "Write the manual pages of all commands into a folder",
		Long: `Writes the manual pages of all commands into a folder, which is made if it is not there.

  harmony man ~/.local/share/man/man1
  man harmony-up

An archive of a release has them in man/man1.

Exit status: 0, 1 when a file cannot be written, 2 when the command line is wrong.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return Usage(errors.New("name one folder, such as harmony man ~/.local/share/man/man1"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			pages := ManPages(cmd.Root(), version.Current().Version)
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for _, p := range pages {
				if err := os.WriteFile(filepath.Join(args[0], p.Name), []byte(p.Text), 0o644); err != nil {
					return err
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d pages; read one with man -l %s\n", len(pages),
				filepath.Join(args[0], pages[0].Name))
			return nil
		},
	}
	return c
}

// ManPage is a manual page: a file in the language of man.
type ManPage struct{ Name, Text string }

// ManPages returns a page for each command that help shows, the program's own first.
func ManPages(root *cobra.Command, version string) []ManPage {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var pages []ManPage
	var add func(c *cobra.Command)
	add = func(c *cobra.Command) {
		pages = append(pages, ManPage{manName(c) + ".1", manPage(c, version)})
		for _, sub := range shown(c) {
			add(sub)
		}
	}
	add(root)
	return pages
}

// shown returns the subcommands that help shows.
func shown(c *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(c.Commands()), func(sub *cobra.Command) bool { return !sub.IsAvailableCommand() })
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func manPage(c *cobra.Command, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"Harmony Edge %s\" \"Harmony Edge\"\n", strings.ToUpper(roff(manName(c))), roff(version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(c)), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.CommandPath()))
	if rest := strings.TrimSpace(strings.TrimPrefix(c.UseLine(), c.CommandPath())); rest != "" {
		fmt.Fprintf(&b, "%s\n", roff(rest))
	}
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n")
	manText(&b, long)
	if subs := shown(c); len(subs) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range subs {
			fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(manName(sub)), roff(sub.Short))
		}
	}
	manFlags(&b, "OPTIONS", c.LocalFlags())
	manFlags(&b, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		manText(&b, c.Example)
	}
	b.WriteString(".SH SEE ALSO\n")
	if c.HasParent() {
		fmt.Fprintf(&b, ".BR %s (1)\n.br\n", roff(manName(c.Parent())))
	}
	b.WriteString("https://github.com/harmonyedge/harmonyedge/tree/main/docs\n")
	return b.String()
}

// manText writes paragraphs, and lists whose entries begin with a dash. Other lines that begin with spaces, which are
// examples and tables, stay as they are.
func manText(b *strings.Builder, text string) {
	examples, entry := false, false
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if dashed, ok := strings.CutPrefix(line, "- "); ok && !examples {
			entry, line = true, dashed
			b.WriteString(".IP \\(bu 2\n")
		} else if entry {
			line = strings.TrimLeft(line, " ")
		}
		switch indented := strings.HasPrefix(line, " "); {
		case line == "":
			if examples {
				b.WriteString(".EE\n")
			}
			examples, entry = false, false
			b.WriteString(".PP\n")
			continue
		case indented && !examples:
			b.WriteString(".EX\n")
			examples = true
		case !indented && examples:
			b.WriteString(".EE\n")
			examples = false
		}
		b.WriteString(roff(line) + "\n")
	}
	if examples {
		b.WriteString(".EE\n")
	}
}

func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	begun := false
	machine, _ := os.Hostname() // a page has no word of the machine that has made it
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if !begun {
			fmt.Fprintf(b, ".SH %s\n", title)
			begun = true
		}
		kind, usage := pflag.UnquoteUsage(f)
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(b, "\\fB\\-%s\\fR, ", roff(f.Shorthand))
		}
		fmt.Fprintf(b, "\\fB\\-\\-%s\\fR", roff(f.Name))
		if kind != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(kind))
		}
		switch f.DefValue {
		case "", "false", "0", "0s", "[]":
		case machine:
			usage += " (default: the name of this machine)"
		default:
			usage += " (default " + f.DefValue + ")"
		}
		b.WriteString("\n" + roff(usage) + "\n")
	})
}

// roff returns a line of text with what man would read as a command of its own escaped.
func roff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "’", `\(cq`, "…", "...", "→", `\(->`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
