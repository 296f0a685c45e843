package inspect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

var update = flag.Bool("update", false, "write the golden files")

var modes = map[string]Mode{"tokenize": Tokenize, "render": Render, "parse": Parse, "typed": ParseTyped}

// TestGolden compares the answers to testdata/MODE.jsonl with testdata/MODE.golden, for every mode.
func TestGolden(t *testing.T) {
	for name, mode := range modes {
		in, err := os.ReadFile(filepath.Join("testdata", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		tally, err := Run(bytes.NewReader(in), &out, mode, o200k.Tokenizer())
		if err != nil {
			t.Fatal(err)
		}
		questions, answers := strings.Split(strings.TrimSuffix(string(in), "\n"), "\n"), strings.Split(out.String(), "\n")
		if len(answers) != len(questions)+1 || answers[len(questions)] != "" || tally.Lines != len(questions) {
			t.Fatalf("%s: %d answers and tally %+v for %d lines", name, len(answers)-1, tally, len(questions))
		}
		if failed := strings.Count(out.String(), `"class":"InputError"`); failed != tally.Failed || failed == 0 {
			t.Errorf("%s: %d lines failed, tally %+v", name, failed, tally)
		}
		for i, line := range answers[:len(questions)] {
			if !json.Valid([]byte(line)) {
				t.Errorf("%s: %s\nis answered %s", name, questions[i], line)
			}
		}
		golden := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		wantLines := strings.Split(string(want), "\n")
		for i, line := range answers {
			if i >= len(wantLines) || line != wantLines[i] {
				t.Errorf("%s:%d\n got %s\nwant %s", golden, i+1, line, wantLines[min(i, len(wantLines)-1)])
			}
		}
	}
}

// TestCutsChangeNothing shows that the answer to a text is the same wherever the text is cut.
func TestCutsChangeNothing(t *testing.T) {
	const text = "<|channel|>analysis<|message|>é😀<|end|><|start|>assistant<|channel|>fin<|message|>x<|<|end|><|end|>"
	runLine := func(cuts []int) string {
		line, _ := json.Marshal(map[string]any{"text": text, "role": "assistant", "cuts": cuts})
		var out bytes.Buffer
		if tally, err := Run(bytes.NewReader(line), &out, Parse, o200k.Tokenizer()); err != nil || tally.Failed > 0 {
			t.Fatal(err, out.String())
		}
		return out.String()
	}
	want := runLine([]int{})
	if !strings.Contains(want, `"text":"é😀"`) || !strings.Contains(want, `"stray_terminator":1`) {
		t.Fatal(want)
	}
	var all []int
	for i := range text {
		all = append(all, i)
		if got := runLine([]int{i}); got != want {
			t.Errorf("cut at %d\n got %swant %s", i, got, want)
		}
	}
	if got := runLine(all); got != want {
		t.Errorf("cut everywhere\n got %swant %s", got, want)
	}
}

// TestAnswersAtOnce shows that each answer is written before the next line is read.
func TestAnswersAtOnce(t *testing.T) {
	in, questions := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := Run(in, out, Tokenize, o200k.Tokenizer())
		out.Close()
		done <- err
	}()
	lines := bufio.NewScanner(answers)
	for _, question := range []string{`{"ids":[13225]}`, `x`, `{"text":"Hello"}`} {
		if _, err := io.WriteString(questions, question+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatal("no answer")
		}
	}
	if lines.Text() != `{"ids":[13225]}` {
		t.Errorf("got %s", lines.Text())
	}
	questions.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestLargeLines(t *testing.T) {
	text := strings.Repeat("many words ", 1<<16)
	var out bytes.Buffer
	tally, err := Run(strings.NewReader(`{"text":"`+text+"\"}\n"), &out, Tokenize, o200k.Tokenizer())
	if err != nil || tally != (Tally{Lines: 1}) {
		t.Fatal(tally, err)
	}
	line := `{"ids":` + strings.TrimPrefix(out.String(), `{"ids":`)
	out.Reset()
	if _, err := Run(strings.NewReader(line), &out, Tokenize, o200k.Tokenizer()); err != nil {
		t.Fatal(err)
	}
	if out.String() != `{"text":"`+text+"\"}\n" {
		t.Error("a large text does not come back")
	}
}

func TestLineReader(t *testing.T) {
	long := strings.Repeat("x", 100)
	l := lineReader{r: bufio.NewReaderSize(strings.NewReader("a\n\n"+long+"\nb\r\n"+long), 16), max: 50}
	for _, want := range []string{"a", "", "long", "b\r", "long", "EOF"} {
		line, err := l.next()
		got := string(line)
		if errors.Is(err, errLongLine) {
			got = "long"
		} else if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %.20q, want %q", got, want)
		}
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Read([]byte) (int, error)  { return 0, errBroken }
func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestBrokenStreams(t *testing.T) {
	if _, err := Run(broken{}, io.Discard, Tokenize, o200k.Tokenizer()); !errors.Is(err, errBroken) {
		t.Errorf("reading: %v", err)
	}
	if _, err := Run(strings.NewReader("{}\n{}\n"), broken{}, Tokenize, o200k.Tokenizer()); !errors.Is(err, errBroken) {
		t.Errorf("writing: %v", err)
	}
}
