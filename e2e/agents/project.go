package agents

import (
	"fmt"
	"strings"
)

// project is what an agent works on.
type project struct {
	*writer
	module string
	files  []file
}

type file struct {
	path  string
	lines []string
}

func newProject(w *writer) *project {
	p := &project{writer: w, module: "example.com/" + w.noun() + "/" + w.noun()}
	for range 12 {
		folder := w.one("internal/", "cmd/", "pkg/") + w.noun()
		for range w.between(2, 5) {
			p.files = append(p.files, p.source(folder))
		}
	}
	for range 8 {
		p.files = append(p.files, file{"docs/" + w.noun() + ".md", lines(w.prose(w.between(2000, 12_000)))},
			file{"testdata/" + w.noun() + ".json", lines(p.value("", 3))})
	}
	return p
}

func lines(text string) []string { return strings.SplitAfter(text+"\n", "\n") }

// source returns a file in Go.
func (p *project) source(folder string) file {
	g := &code{writer: p.writer}
	for range 30 {
		g.names = append(g.names, p.name(p.between(1, 3)))
	}
	g.line("package " + folder[strings.LastIndexByte(folder, '/')+1:])
	g.line("")
	g.line("import (")
	for range p.between(2, 6) {
		from := p.one("context", "errors", "fmt", "io", "net/http", "strings", p.module+"/internal/"+p.noun())
		g.line("\t\"" + from + "\"")
	}
	g.line(")")
	for range p.between(4, 14) {
		g.line("")
		if p.IntN(5) == 0 {
			g.structure()
		} else {
			g.function()
		}
	}
	return file{folder + "/" + p.noun() + p.one(".go", ".go", "_test.go"), g.lines}
}

// code writes a file in Go. A file has few names, which it repeats.
type code struct {
	*writer
	names []string
	lines []string
}

func (g *code) line(text string) { g.lines = append(g.lines, text+"\n") }

func (g *code) known() string { return g.names[g.IntN(len(g.names))] }

func (g *code) typ() string {
	return g.one("string", "int", "[]byte", "error", "*"+capital(g.known()), capital(g.known()), "map[string]"+g.known())
}

func (g *code) structure() {
	name := capital(g.known())
	g.line("// " + name + " " + g.sentence(8))
	g.line("type " + name + " struct {")
	for range g.between(2, 8) {
		if g.IntN(3) == 0 {
			g.line("\t// " + g.sentence(9))
		}
		g.line("\t" + g.known() + " " + g.typ() + g.one("", "", " `json:\""+g.noun()+"\"`"))
	}
	g.line("}")
}

func (g *code) function() {
	name := capital(g.known())
	g.line("// " + name + " " + g.sentence(10))
	g.line(fmt.Sprintf("func (%c *%s) %s(%s %s, %s %s) (%s, error) {", 'a'+rune(g.IntN(26)), capital(g.known()), name,
		g.known(), g.typ(), g.known(), g.typ(), g.typ()))
	for range g.between(3, 9) {
		g.statement("\t", 2)
	}
	g.line("\treturn " + g.known() + ", nil")
	g.line("}")
}

func (g *code) statement(indent string, depth int) {
	choice := g.IntN(10)
	if depth == 0 && choice < 4 {
		choice += 4
	}
	switch choice {
	case 0:
		g.line(indent + "if err := " + g.known() + "." + capital(g.known()) + "(" + g.known() + "); err != nil {")
		g.line(indent + "\treturn nil, fmt.Errorf(\"" + g.sentence(4) + ": %w\", err)")
		g.line(indent + "}")
	case 1, 2:
		g.line(indent + "for i, " + g.known() + " := range " + g.known() + " {")
		for range g.between(1, 3) {
			g.statement(indent+"\t", depth-1)
		}
		g.line(indent + "}")
	case 3:
		g.line(indent + "switch " + g.known() + " {")
		for range g.between(2, 4) {
			g.line(indent + "case \"" + g.noun() + "\":")
			g.statement(indent+"\t", depth-1)
		}
		g.line(indent + "}")
	case 4:
		g.line(indent + "// " + g.sentence(9))
	case 5:
		g.line(fmt.Sprintf("%s%s = append(%s, %s[%d:])", indent, g.known(), g.known(), g.known(), g.IntN(20)))
	case 6:
		g.line(fmt.Sprintf("%sconst %s = %d", indent, g.known(), g.IntN(100_000)))
	default:
		g.line(fmt.Sprintf("%s%s := %s.%s(%s, %q)", indent, g.known(), g.known(), capital(g.known()), g.known(), g.noun()))
	}
}

// value returns a value of JSON.
func (p *project) value(indent string, depth int) string {
	var text strings.Builder
	text.WriteString("{\n")
	n := p.between(3, 9)
	for i := range n {
		fmt.Fprintf(&text, "%s  %q: ", indent, p.noun()+"_"+p.noun())
		switch kind := p.IntN(6); {
		case kind < 2 && depth > 0:
			text.WriteString(p.value(indent+"  ", depth-1))
		case kind < 4:
			fmt.Fprintf(&text, "%q", p.sentence(5))
		case kind == 4:
			fmt.Fprintf(&text, "%d", p.IntN(1_000_000))
		default:
			fmt.Fprintf(&text, "\"%s\"", p.hex(32))
		}
		if i < n-1 {
			text.WriteByte(',')
		}
		text.WriteByte('\n')
	}
	return text.String() + indent + "}"
}

// ran is a command and what it has printed.
type ran struct{ command, output string }

// run returns a command whose output has about n bytes.
func (p *project) run(n int) ran {
	f := p.files[p.IntN(len(p.files))]
	if n < 400 {
		return ran{"git status --short", " M " + f.path + "\n?? " + f.path + ".orig\n"}
	}
	switch p.IntN(10) {
	case 0:
		return ran{"go test ./... 2>&1 | tail -n 200", p.tests(n)}
	case 1, 2:
		word := p.noun()
		return ran{"rg -n '" + word + "' --glob '!vendor'", p.matches(n)}
	case 3:
		return ran{"ls -la " + folder(f), p.list(n)}
	case 4:
		return ran{"git diff -U5 -- " + folder(f), p.diff(n)}
	case 5:
		values := p.many(n, func() string { return p.value("", 3) + "\n" })
		return ran{"curl -s localhost:8080/debug/" + p.noun() + " | jq .", cut(values, n)}
	}
	from := p.IntN(max(1, len(f.lines)/2))
	text := cut(strings.Join(f.lines[from:], ""), n)
	for len(text) < n*3/4 { // the command shows several files
		f = p.files[p.IntN(len(p.files))]
		text += cut("==> "+f.path+" <==\n"+strings.Join(f.lines, ""), n-len(text))
	}
	return ran{fmt.Sprintf("sed -n '%d,%dp' %s", from+1, from+strings.Count(text, "\n"), f.path), text}
}

func folder(f file) string { return f.path[:strings.LastIndexByte(f.path, '/')] }

// many returns texts until there are n bytes.
func (p *project) many(n int, next func() string) string {
	var text strings.Builder
	for text.Len() < n {
		text.WriteString(next())
	}
	return text.String()
}

func (p *project) tests(n int) string {
	return p.many(n, func() string {
		f := p.files[p.IntN(len(p.files))]
		switch p.IntN(4) {
		case 0:
			return fmt.Sprintf("--- FAIL: Test%s (%d.%02ds)\n    %s:%d: %s\n        got  %q\n        want %q\n",
				p.Name(2), p.IntN(9), p.IntN(100), f.path[strings.LastIndexByte(f.path, '/')+1:], p.IntN(400), p.sentence(6),
				p.name(2), p.name(2))
		case 1:
			return fmt.Sprintf("?   \t%s/%s\t[no test files]\n", p.module, folder(f))
		}
		return fmt.Sprintf("ok  \t%s/%s\t%d.%03ds\n", p.module, folder(f), p.IntN(20), p.IntN(1000))
	})
}

func (p *project) matches(n int) string {
	return p.many(n, func() string {
		f := p.files[p.IntN(len(p.files))]
		at := p.IntN(len(f.lines) - 1)
		return fmt.Sprintf("%s:%d:%s", f.path, at+1, f.lines[at])
	})
}

func (p *project) list(n int) string {
	return p.many(n, func() string {
		return fmt.Sprintf("-rw-r--r-- 1 dev dev %7d Nov %2d %02d:%02d %s%s\n", p.IntN(200_000), p.between(1, 28), p.IntN(24),
			p.IntN(60), p.noun(), p.one(".go", "_test.go", ".md", ".json"))
	})
}

func (p *project) diff(n int) string {
	return p.many(n, func() string {
		f := p.files[p.IntN(len(p.files))]
		return fmt.Sprintf("diff --git a/%s b/%s\nindex %s..%s 100644\n--- a/%s\n+++ b/%s\n", f.path, f.path, p.hex(8),
			p.hex(8), f.path, f.path) + p.hunk(f, 30)
	})
}

// hunk returns a part of a file in which lines change.
func (p *project) hunk(f file, most int) string {
	from := p.IntN(max(1, len(f.lines)-most))
	part := f.lines[from:min(len(f.lines)-1, from+most)]
	var text strings.Builder
	fmt.Fprintf(&text, "@@ -%d,%d +%d,%d @@\n", from+1, len(part), from+1, len(part))
	for _, line := range part {
		if p.IntN(4) > 0 {
			text.WriteString(" " + line)
			continue
		}
		text.WriteString("-" + line + "+" + strings.Replace(line, " ", " "+p.name(2)+" ", 1))
	}
	return text.String()
}

// patch returns the input of an apply_patch of about n bytes.
func (p *project) patch(n int) (f file, text string) {
	f = p.files[p.IntN(len(p.files))]
	return f, "*** Begin Patch\n*** Update File: " + f.path + "\n" + cut(p.hunk(f, 2+n/50), n) + "\n*** End Patch\n"
}
