package follow

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/internal/memlog"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// limit is how long anything in these tests may take.
const limit = 20 * time.Second

const (
	first  = "models: [{name: first, servers: ['vllm=http://127.0.0.1:1']}]\n"
	second = "models: [{name: second, servers: ['vllm=http://127.0.0.1:1']}]\n"
	third  = "models: [{name: third, servers: ['vllm=http://127.0.0.1:1']}]\n"
)

// diary notes what happens to all parts, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// has waits for a line.
func (d *diary) has(t *testing.T, line string) {
	t.Helper()
	for end := time.Now().Add(limit); !slices.Contains(d.all(), line); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q is not among %q", line, d.all())
		}
	}
}

// part is a part that notes what it is told, and refuses models by their names.
type part struct {
	name            string
	diary           *diary
	unfit, breaking string        // the model that Check refuses, and the one at which Apply fails
	mends           atomic.Bool   // Apply fails no more
	fails           chan struct{} // closed: Run fails
}

func (p *part) Check(_ context.Context, v *Version) error {
	if name := v.Config.Models[0].Name; name == p.unfit {
		return &config.Error{Field: "models[0].name", Reason: p.name + " does not take it"}
	}
	return nil
}

func (p *part) Apply(_ context.Context, v *Version) error {
	name := v.Config.Models[0].Name
	if name == p.breaking && !p.mends.Load() {
		p.diary.note(p.name + " breaks")
		return errors.New(p.name + " breaks")
	}
	p.diary.note(p.name + " has " + name)
	return nil
}

func (p *part) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		p.diary.note(p.name + " ends")
		return nil
	case <-p.fails:
		return errors.New(p.name + " fails")
	}
}

func (p *part) Drain() { p.diary.note(p.name + " drains") }

// program is a program in a test.
type program struct {
	*Program
	t     *testing.T
	file  string
	diary *diary
	log   *memlog.Log
	stop  func() error
}

func begin(t *testing.T, text string, change func(*Program), parts ...*part) *program {
	t.Helper()
	p := &program{t: t, file: filepath.Join(t.TempDir(), "config.yaml"), diary: &diary{}, log: &memlog.Log{}}
	p.write(text)
	p.Program = &Program{Follower: Open(Options{File: p.file, Needs: Needs{Secret: Every, Clients: true}}),
		Log: slog.New(slog.NewTextHandler(p.log, nil)), Ready: func() { p.diary.note("ready") }}
	for _, one := range parts {
		one.diary = p.diary
		p.Parts = append(p.Parts, one)
	}
	if change != nil {
		change(p.Program)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	p.stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(limit):
			return errors.New("it does not end")
		}
	})
	t.Cleanup(func() { _ = p.stop() })
	return p
}

func (p *program) write(text string) {
	p.t.Helper()
	if err := os.WriteFile(p.file, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) logs(text string) {
	p.t.Helper()
	p.logsTimes(text, 1)
}

// logsTimes waits until the log has a text that often.
func (p *program) logsTimes(text string, n int) {
	p.t.Helper()
	for end := time.Now().Add(limit); strings.Count(p.log.String(), text) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("%q is not logged %d times:\n%s", text, n, p.log)
		}
	}
}

// TestAVersionReachesAllPartsOrNone checks both ways in which a part can refuse a version.
func TestAVersionReachesAllPartsOrNone(t *testing.T) {
	p := begin(t, first, nil, &part{name: "a", unfit: "second", breaking: "third"}, &part{name: "b"})
	p.diary.has(t, "ready")
	p.write(second) // a does not take it, so b does not get it
	p.logs("config.yaml:1: models[0].name: a does not take it")
	p.write(third) // a fails with it, so b gets the first again
	p.logs("a breaks")
	p.write(strings.ReplaceAll(first, "first", "fourth"))
	p.diary.has(t, "a has fourth")
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	want := []string{"b has first", "a has first", "ready", "b has third", "a breaks", "b has first",
		"b has fourth", "a has fourth", "a drains", "b drains", "b ends", "a ends"}
	if got := p.diary.all(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestNextStart checks that a change for the next start is refused, and that a later one that takes it back is not.
func TestNextStart(t *testing.T) {
	p := begin(t, first, func(p *Program) {
		p.NextStart = func(before, after *Version) error {
			if before.Config.Admin != after.Config.Admin {
				return &config.Error{Field: "admin", Reason: "takes effect at the next start"}
			}
			return nil
		}
	}, &part{name: "a"})
	p.diary.has(t, "ready")
	p.write("admin: 127.0.0.1:9999\n" + second)
	p.logs("config.yaml:1: admin: takes effect at the next start")
	p.write(second)
	p.diary.has(t, "a has second")
}

// TestChangedBeforeTheProgramRuns checks the first version against what the program has read before.
func TestChangedBeforeTheProgramRuns(t *testing.T) {
	began := &Version{Config: config.Default()}
	p := begin(t, "admin: 127.0.0.1:9999\n"+first, func(p *Program) {
		p.NextStart, p.Began = NextStart("harmony tested", config.PartPage), began
	}, &part{name: "a"})
	p.diary.has(t, "a ends")
	if err := p.stop(); err == nil || !strings.Contains(err.Error(), "config.yaml:1: admin: takes effect at the next start") {
		t.Errorf("it ended with %v", err)
	}
}

// TestKeysOfAHostWithoutEnvoy checks that other clients are refused where the filter reads them only when it starts.
func TestKeysOfAHostWithoutEnvoy(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	write := func(client string) {
		if err := os.WriteFile(keys, []byte("clients: [{name: "+client+"}]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("acme")
	p := begin(t, "clients: {keys_file: "+keys+"}\n"+first, func(p *Program) {
		p.NextStart = NextStart("harmony tested", config.PartHost)
	}, &part{name: "a"})
	p.diary.has(t, "ready")
	write("other")
	p.logs("config.yaml:1: clients.keys_file: takes effect at the next start: the filter in this program reads it only")
	if n := strings.Count(p.log.String(), "is in force"); n != 1 {
		t.Errorf("%d versions are in force:\n%s", n, p.log)
	}
}

// TestAFailedVersionIsTriedAgain checks that a version comes into force without another change when what has kept a part
// from applying it is over, and that each refusal is logged once.
func TestAFailedVersionIsTriedAgain(t *testing.T) {
	a := &part{name: "a", breaking: "second"}
	p := begin(t, first, func(p *Program) { p.pause = time.Millisecond }, a, &part{name: "b"})
	p.diary.has(t, "ready")
	tries := func(want int) {
		t.Helper()
		count := func() (n int) {
			for _, line := range p.diary.all() {
				if line == "a breaks" {
					n++
				}
			}
			return n
		}
		for end := time.Now().Add(limit); count() < want; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("it is not tried again: %q", p.diary.all())
			}
		}
	}
	p.write(second)
	tries(3)
	if n := strings.Count(p.log.String(), "a breaks"); n != 1 {
		t.Errorf("told %d times:\n%s", n, p.log)
	}
	p.write(second + "\n") // another file, with the same mistake
	for end := time.Now().Add(limit); strings.Count(p.log.String(), "a breaks") != 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it is not told again:\n%s", p.log)
		}
	}
	a.mends.Store(true)
	p.diary.has(t, "a has second")
	p.logs("in force\" models=1 pools=1 changed")
}

// TestABadFirstVersion checks that a program ends with a bad first version, unless it can do without.
func TestABadFirstVersion(t *testing.T) {
	p := begin(t, "models: [", nil, &part{name: "a"})
	p.diary.has(t, "a ends")
	if err := p.stop(); err == nil || !strings.Contains(err.Error(), "config.yaml:1: ") {
		t.Errorf("it ended with %v", err)
	}
	p = begin(t, "models: [", func(p *Program) { p.Without = func() bool { return false } }, &part{name: "a"})
	p.diary.has(t, "a ends")
	if err := p.stop(); err == nil || strings.Contains(p.log.String(), "last good") {
		t.Errorf("it ended with %v, and says that something is in force:\n%s", err, p.log)
	}
	p = begin(t, "models: [", func(p *Program) { p.Without = func() bool { return true } }, &part{name: "a"})
	p.diary.has(t, "ready")
	p.write(first)
	p.diary.has(t, "a has first")
	if err := p.stop(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestAFailedPart checks that a part that fails ends all others, and that the program tells why.
func TestAFailedPart(t *testing.T) {
	failing := &part{name: "b", fails: make(chan struct{})}
	p := begin(t, first, nil, &part{name: "a"}, failing, &part{name: "c"})
	p.diary.has(t, "ready")
	close(failing.fails)
	p.diary.has(t, "a ends")
	if err := p.stop(); err == nil || err.Error() != "b fails" {
		t.Errorf("it ended with %v", err)
	}
	if !slices.Contains(p.diary.all(), "c ends") {
		t.Errorf("c goes on: %q", p.diary.all())
	}
}

// TestTemplateOfAVersion: another response_template in the file of a model is in force, without a change of the
// configuration's file. One that cannot be used is refused, and one that can be used mends it.
func TestTemplateOfAVersion(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokenizer_config.json")
	write := func(begin string) {
		t.Helper()
		text := `{"response_template":{"fields":{"tool_calls":{"open_pattern":"` + begin + `","content":"json"}}}}`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("<tool_call>")
	p := begin(t, "pools: [{name: p, kind: chat, servers: ['http://127.0.0.1:1']}]\n"+
		"models: [{name: m, pool: p, response_template: "+file+"}]\n", nil, &part{name: "a"})
	p.diary.has(t, "ready")
	write(`\\[TOOL_CALLS\\](?P<name>\\w+)\\[ARGS\\]`)
	p.logs("models[m].speaks")
	write("<unknown>")
	p.logs("tool_calls that begin with")
	write("<tool_call>")
	p.logsTimes("models[m].speaks", 2)
}

// TestFilesOfAVersion changes each kind of file that a version refers to, and one that the program does not need.
func TestFilesOfAVersion(t *testing.T) {
	folder := t.TempDir()
	path := func(name, text string) string {
		t.Helper()
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	token, keys := path("token", "one"), path("keys.yaml", "clients: [{name: acme}]\n")
	further := path("further", "one")
	text := "secrets: [{name: s, file: " + token + "}, {name: unused, file: /nowhere}]\n" +
		"pools: [{name: p, kind: vllm, servers: ['http://127.0.0.1:1'], authorization: s}]\n" +
		"models: [{name: first, pool: p}]\nclients: {keys_file: " + keys + "}\n"
	p := begin(t, text, func(p *Program) {
		p.Follower.o.Needs.Files = func(*config.Config) []string { return []string{further, ""} }
	}, &part{name: "a"})
	p.diary.has(t, "ready")
	path("further", "two")
	p.logs(`changed="[the content of ` + further + `]"`)
	path("token", "two")
	p.logs(`changed="[the value of secrets[s]]"`)
	path("keys.yaml", "clients: [{name: other}]\n")
	p.logs(`changed="[the clients of clients.keys_file]"`)
	path("token", "")
	p.logs("secrets[0].file: " + token + " has no token")
	if log := p.log.String(); strings.Contains(log, "two") {
		t.Errorf("a secret is logged:\n%s", log)
	}
	path("token", "three") // this file alone mends it
	p.logsTimes("secrets[s]", 2)
}
