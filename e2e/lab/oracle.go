//go:build e2e

package lab

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// OracleRequest is one line for e2e/lab/oracle/prompt.py.
type OracleRequest struct {
	API    string          `json:"api"`
	Body   json.RawMessage `json:"body"`
	Date   *string         `json:"date"`
	Effort string          `json:"effort"`
	// DropCommentary is the setting drop_commentary_from_history.
	DropCommentary bool `json:"drop_commentary"`
	// History has the forms of past calls and results, each sampled or template.
	History OracleHistory `json:"history"`
	// Context is how many tokens the model takes.
	Context int `json:"context"`
	// Prefill says that the call of a named function is begun by the prompt.
	Prefill bool `json:"prefill"`
}

// OracleHistory is the block history of a model's settings.
type OracleHistory struct {
	Calls   string `json:"calls"`
	Results string `json:"results"`
}

// OracleAnswer is a prompt of the reference.
type OracleAnswer struct {
	IDs  []uint32 `json:"ids"`
	Text string   `json:"text"`
}

// The environments of the two implementations of Harmony: openai-harmony, the reference, and oss-harmony, which vLLM
// uses.
const (
	OpenAIHarmony = "HARMONY_ORACLE_PYTHON"
	OSSHarmony    = "HARMONY_OSS_PYTHON"
)

// AskOracle renders the requests by PyPI's openai-harmony.
func AskOracle(t *testing.T, requests []OracleRequest) []OracleAnswer {
	t.Helper()
	return AskOracleOf(t, OpenAIHarmony, requests)
}

// AskOracleOf renders the requests by the implementation of an environment.
func AskOracleOf(t *testing.T, environment string, requests []OracleRequest) []OracleAnswer {
	t.Helper()
	var in bytes.Buffer
	for _, r := range requests {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	return askReference[OracleAnswer](t, environment, "prompt.py", &in, len(requests))
}

// ReferenceMessage is a message as the reference reads it.
type ReferenceMessage struct{ Channel, Recipient, Text string }

// ReadByReference reads what a model has generated, after <|start|>assistant, by PyPI's openai-harmony.
func ReadByReference(t *testing.T, answers [][]uint32) [][]ReferenceMessage {
	t.Helper()
	var in bytes.Buffer
	for _, ids := range answers {
		line, err := json.Marshal(ids)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	return askReference[[]ReferenceMessage](t, OpenAIHarmony, "parse.py", &in, len(answers))
}

// askReference runs a program of the folder oracle, which answers each line of in with a line of JSON.
func askReference[T any](t *testing.T, environment, program string, in io.Reader, lines int) []T {
	t.Helper()
	cmd := exec.Command(Tool(t, environment), File("e2e/lab/oracle/"+program))
	cmd.Stdin = in
	cmd.Env = append(os.Environ(), "TIKTOKEN_ENCODINGS_BASE="+vocabularyFolder(t))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("oracle: %v\n%s", err, stderr.Bytes())
	}
	var answers []T
	for line := range bytes.Lines(out) {
		var a T
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	if len(answers) != lines {
		t.Fatalf("oracle: %d answers to %d lines", len(answers), lines)
	}
	return answers
}

// vocabularyHash is the reference's own check of its vocabulary file.
const vocabularyHash = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

// vocabularyFolder writes the reference's vocabulary file out of our own packed one: the hash shows that they are the
// same, so the oracle needs no download and stays independent.
func vocabularyFolder(t *testing.T) string {
	t.Helper()
	var file bytes.Buffer
	for id := uint32(0); ; id++ {
		token, ok := Vocabulary.TokenBytes(id)
		if !ok || id >= 199998 {
			break
		}
		fmt.Fprintf(&file, "%s %d\n", base64.StdEncoding.EncodeToString(token), id)
	}
	if sum := sha256.Sum256(file.Bytes()); hex.EncodeToString(sum[:]) != vocabularyHash {
		t.Fatalf("our vocabulary is not the reference's: %x", sum)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "o200k_base.tiktoken"), file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// SameIDs says where two prompts part.
func SameIDs(got, want []uint32) error {
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			window := func(ids []uint32) string {
				from, to := max(0, min(len(ids), i-10)), min(len(ids), i+10)
				return strconv.Quote(Vocabulary.DecodeString(ids[from:to]))
			}
			return fmt.Errorf("ids differ at %d of %d: got %s, reference %s", i, len(want), window(got), window(want))
		}
	}
	return nil
}
