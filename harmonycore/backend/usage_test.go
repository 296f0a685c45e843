package backend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// stdMember is a member of an object as encoding/json reads it.
type stdMember struct {
	name  string
	value json.RawMessage
}

// stdMembers returns the members of an object, in their order. Anything else has none.
func stdMembers(t *testing.T, data []byte) (all []stdMember) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		m := stdMember{name: fmt.Sprint(name)}
		if err == nil {
			err = d.Decode(&m.value)
		}
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		all = append(all, m)
	}
	return all
}

func stdCount(value json.RawMessage) (n int, ok bool) {
	if string(value) == "null" || json.Unmarshal(value, &n) != nil || n < 0 {
		return 0, false
	}
	return n, true
}

// stdUsage is readUsage by encoding/json.
func stdUsage(t *testing.T, members []stdMember, u *Usage, inside bool) (total int) {
	t.Helper()
	for _, m := range members {
		n, ok := stdCount(m.value)
		if inside && m.name != "cached_tokens" && m.name != "reasoning_tokens" {
			continue
		}
		switch m.name {
		case "prompt_tokens", "input_tokens":
			u.Prompt = n
		case "completion_tokens", "output_tokens":
			u.Completion = n
		case "total_tokens":
			total = n
		case "cached_tokens", "prompt_cache_hit_tokens":
			if ok && (inside || !u.HasCached) {
				u.Cached, u.HasCached = n, true
			}
		case "reasoning_tokens":
			if ok && (inside || !u.HasReasoning) {
				u.Reasoning, u.HasReasoning = n, true
			}
		case "prompt_tokens_details", "completion_tokens_details", "input_tokens_details", "output_tokens_details":
			stdUsage(t, stdMembers(t, m.value), u, true)
		}
	}
	return total
}

// stdAlternatives is readAlternatives by encoding/json, and stdAlternative is readAlternative.
func stdAlternatives(t *testing.T, data []byte) string {
	t.Helper()
	out := ""
	for _, m := range stdMembers(t, data) {
		digits, ok := strings.CutPrefix(m.name, "token_id:")
		if id, err := strconv.ParseUint(digits, 10, 32); ok && err == nil && isStdNumber(m.value) {
			out += fmt.Sprintf("%d:%s ", id, m.value)
		}
	}
	return out
}

func stdAlternative(t *testing.T, data []byte) string {
	t.Helper()
	var token, logprob string
	for _, m := range stdMembers(t, data) {
		switch {
		case !isStdNumber(m.value):
		case m.name == "token_id":
			token = string(m.value)
		case m.name == "logprob":
			logprob = string(m.value)
		}
	}
	if id, err := strconv.ParseUint(token, 10, 32); err == nil && logprob != "" {
		return fmt.Sprintf("%d:%s ", id, logprob)
	}
	return ""
}

func isStdNumber(value json.RawMessage) bool {
	var n any
	_ = json.Unmarshal(value, &n)
	_, is := n.(float64)
	return is
}

func spelledAlternatives(all []Alternative) string {
	out := ""
	for _, a := range all {
		out += fmt.Sprintf("%d:%s ", a.ID, a.Logprob)
	}
	return out
}

// sameAsStd compares what jsonparser reads of a valid object with what encoding/json reads.
func sameAsStd(t *testing.T, data []byte) {
	t.Helper()
	var got, want Usage
	gotTotal, wantTotal := readUsage(data, &got), stdUsage(t, stdMembers(t, data), &want, false)
	if got != want || gotTotal != wantTotal {
		t.Fatalf("%s: %+v of %d, want %+v of %d", data, got, gotTotal, want, wantTotal)
	}
	if got, want := spelledAlternatives(readAlternatives(nil, data)), stdAlternatives(t, data); got != want {
		t.Fatalf("%s: alternatives %s, want %s", data, got, want)
	}
	if got, want := spelledAlternatives(readAlternative(nil, data)), stdAlternative(t, data); got != want {
		t.Fatalf("%s: alternative %s, want %s", data, got, want)
	}
}

// smallNames are the names of members that are read by jsonparser, and names that are like them.
var smallNames = strings.Fields(`prompt_tokens completion_tokens total_tokens input_tokens output_tokens cached_tokens
	prompt_cache_hit_tokens reasoning_tokens prompt_tokens_details completion_tokens_details input_tokens_details
	output_tokens_details token_id:7 token_id:200001 token_id: token_id:-1 token_id:4294967296 token_id logprob rank
	Prompt_tokens prompt_tokens\u0000 é 😀 \" { }`)

func randomSmallObject(rng *rand.Rand, depth int) string {
	values := []string{"0", "7", "-0", "-7", "1.0", "1e3", "-0.25", "99999999999999999999", "12345678", "null", "true",
		"false", `"8"`, `"\"prompt_tokens\":9"`, `"é\ud83d\ude00\\"`, `"}{]["`, "[]", `[1,{"cached_tokens":3}]`}
	var out strings.Builder
	out.WriteByte('{')
	for i := range rng.IntN(6) {
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString(" \n\t"[:rng.IntN(3)])
		out.WriteString(randomSpelling(rng, smallNames[rng.IntN(len(smallNames))]) + ":")
		if out.WriteString(" "[:rng.IntN(2)]); depth > 0 && rng.IntN(4) == 0 {
			out.WriteString(randomSmallObject(rng, depth-1))
		} else {
			out.WriteString(values[rng.IntN(len(values))])
		}
		out.WriteString(" "[:rng.IntN(2)])
	}
	return out.String() + "}"
}

// randomSpelling writes a name as a JSON string, now and then with escapes that it does not need. A part that begins
// with a backslash is an escape already.
func randomSpelling(rng *rand.Rand, name string) string {
	if at := rng.IntN(len(name)); rng.IntN(3) == 0 && !strings.ContainsRune(name, '\\') && name[at] < 0x80 {
		name = name[:at] + fmt.Sprintf("\\u%04X", name[at]) + name[at+1:]
	}
	return `"` + name + `"`
}

// TestSmallObjects reads random objects of the kinds that jsonparser reads: with duplicate names, escaped names, names
// that are not read, numbers of all spellings, null, objects in each other.
func TestSmallObjects(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		data := []byte(randomSmallObject(rng, 3))
		if err := rawjson.Validate(data, rawjson.MaxDepth); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		sameAsStd(t, data)
	}
}

// FuzzSmallObjects: valid objects are read as encoding/json reads them. Nothing else is ever read; it must only end.
func FuzzSmallObjects(f *testing.F) {
	for _, seed := range []string{
		`{"prompt_tokens":70,"total_tokens":112,"completion_tokens":42,"prompt_tokens_details":{"cached_tokens":64}}`,
		`{"input_tokens":1,"output_tokens":2,"output_tokens_details":{"reasoning_tokens":1},"input_tokens_details":null}`,
		`{"prompt_tokens_details":{"prompt_tokens_details":{"cached_tokens":1}},"prompt_tokens":1,"prompt_tokens":2}`,
		`{"token_id:7":-0.25,"token_id:\u0039":-1}`, `{"token_id":7,"logprob":-0.25,"rank":1}`, `{"logprob":`, `{"a`,
		`{"prompt_tokens":"`, `{"\`, `{`, ``, `[]`, `{"a":1}}`, `{"prompt_tokens" :1 ,}`,
		`{"a":` + strings.Repeat("[", rawjson.MaxDepth-1) + strings.Repeat("]", rawjson.MaxDepth-1) + `}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		at := rawjson.Space(data, 0)
		if rawjson.Validate(data, rawjson.MaxDepth) == nil && data[at] == '{' {
			sameAsStd(t, data)
			return
		}
		readUsage(data, &Usage{})
		readAlternatives(nil, data)
		readAlternative(nil, data)
	})
}
