//go:build e2e

package limits

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// hostileLimit is the body limit under which hostile requests are sent.
const hostileLimit = 12 << 20

type hostileRequest struct {
	name, path, body string
	status           int
	code             string // of the error; "" wants a complete answer
}

func hostileRequests() []hostileRequest {
	user := func(content string) string {
		return `{"model":"gpt-oss-120b","messages":[{"role":"user","content":` + content + `}]}`
	}
	with := func(fields string) string {
		return `{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Hi"}],` + fields + `}`
	}
	schema := func(levels int) string { // of an object's own nesting
		return with(`"tools":[{"type":"function","function":{"name":"f","parameters":` +
			strings.Repeat(`{"items":`, levels-1) + `{}` + strings.Repeat(`}`, levels-1) + `}}]`)
	}
	deep := strings.Repeat("[", 100_000)
	longID := strings.Repeat("c", 700)
	mib := func(piece string, size int) string { return strings.Repeat(piece, size<<20/len(piece)) }
	list := []hostileRequest{
		{"deep", lab.ChatPath, deep, 400, "max_depth_exceeded"},
		{"deep objects", lab.ResponsesPath, strings.Repeat(`{"a":`, 100_000), 400, "max_depth_exceeded"},
		{"deep below messages", lab.ChatPath, `{"model":"gpt-oss-120b","messages":` + deep, 400, "max_depth_exceeded"},
		{"deep and closed", lab.ResponsesPath, `{"model":"gpt-oss-120b","input":` + deep + strings.Repeat("]", 100_000) + `}`,
			400, "max_depth_exceeded"},
		{"deep on the raw path", lab.RawPath, deep, 400, "max_depth_exceeded"},
		{"deep in a text", lab.ChatPath, user(lab.Quote(deep)), 200, ""},
		{"depth 128", lab.ChatPath, with(`"unknown":` + strings.Repeat("[", 127) + strings.Repeat("]", 127)), 200, ""},
		{"depth 129", lab.ChatPath, with(`"unknown":` + strings.Repeat("[", 128) + strings.Repeat("]", 128)), 400,
			"max_depth_exceeded"},
		{"schema of 32", lab.ChatPath, schema(32), 200, ""},
		{"schema of 33", lab.ChatPath, schema(33), 400, "max_depth_exceeded"},
		{"10 MiB of one letter", lab.ChatPath, user(`"` + mib("a", 10) + `"`), 400, "context_length_exceeded"},
		{"10 MiB of words", lab.ChatPath, user(`"` + mib("lorem ipsum ", 10) + `"`), 400, "context_length_exceeded"},
		{"10 MiB of brackets", lab.ResponsesPath, `{"model":"gpt-oss-120b","input":"` + mib("[{(<", 10) + `"}`, 400,
			"context_length_exceeded"},
		{"10 MiB of spaces", lab.ChatPath, user(`"` + mib(" ", 10) + `"`), 200, ""},
		{"10 MiB of escapes", lab.ChatPath, user(`"` + mib(`\u00e9`, 10) + `"`), 400, "context_length_exceeded"},
		{"10 MiB of line ends", lab.ChatPath, user(`"` + mib(`\r\n`, 10) + `"`), 400, "context_length_exceeded"},
		{"10 MiB of emoji", lab.ChatPath, user(`"` + mib("🏳️‍🌈", 10) + `"`), 400, "context_length_exceeded"},
		{"10 MiB of Thai", lab.ChatPath, user(`"` + mib("กี่", 10) + `"`), 400, "context_length_exceeded"},
		{"10 MiB key", lab.ChatPath, with(`"` + mib("k", 10) + `":1`), 200, ""},
		{"100,000 messages", lab.ChatPath, `{"model":"gpt-oss-120b","messages":[` +
			strings.Repeat(`{"role":"user","content":""},`, 99_999) + `{"role":"user","content":""}]}`, 400,
			"max_values_exceeded"},
		{"17,000 messages", lab.ChatPath, `{"model":"gpt-oss-120b","messages":[` +
			strings.Repeat(`{"role":"user","content":""},`, 16_999) + `{"role":"user","content":""}]}`, 400,
			"context_length_exceeded"},
		{"100,000 parts", lab.ResponsesPath, `{"model":"gpt-oss-120b","input":[{"role":"user","content":[` +
			strings.Repeat(`{"type":"input_text","text":"x"},`, 99_999) + `{"type":"input_text","text":"x"}]}]}`, 400,
			"max_values_exceeded"},
		{"16,000 parts", lab.ResponsesPath, `{"model":"gpt-oss-120b","input":[{"role":"user","content":[` +
			strings.Repeat(`{"type":"input_text","text":"x"},`, 15_999) + `{"type":"input_text","text":"x"}]}]}`, 200, ""},
		{"17,000 parts", lab.ResponsesPath, `{"model":"gpt-oss-120b","input":[{"role":"user","content":[` +
			strings.Repeat(`{"type":"input_text","text":"x"},`, 16_999) + `{"type":"input_text","text":"x"}]}]}`, 400,
			"context_length_exceeded"},
		{"10,000 tools", lab.ChatPath, with(`"tools":[` + manyTools(10_000) + `]`), 400, "context_length_exceeded"},
		{"100,000 properties", lab.ChatPath, with(`"tools":[{"type":"function","function":{"name":"f",` +
			`"parameters":{"type":"object","properties":{` +
			strings.TrimSuffix(strings.Repeat(`"a":{"type":"string"},`, 100_000), ",") + `}}}}]`), 0, ""},
		{"50,000 enum values", lab.ChatPath, with(`"tools":[{"type":"function","function":{"name":"f",` +
			`"parameters":{"type":"object","properties":{"a":{"type":"string","enum":[` +
			strings.TrimSuffix(strings.Repeat(`"a",`, 50_000), ",") + `]}}}}}]`), 0, ""},
		{"5,000 calls", lab.ChatPath,
			`{"model":"gpt-oss-120b","messages":[{"role":"user","content":"x"},{"role":"assistant",` +
				`"tool_calls":[` + manyCalls(5000, "c") + `]}` + manyResults(5000) + `]}`, 0, ""},
		{"7,000 results of one call", lab.ChatPath,
			`{"model":"gpt-oss-120b","messages":[{"role":"assistant","tool_calls":[` + manyCalls(7000, longID) + `]}` +
				strings.Repeat(`,{"role":"tool","tool_call_id":"`+longID+`0","content":""}`, 7000) + `]}`, 0, ""},
		{"lone surrogate", lab.ChatPath, user(`"a\ud800b"`), 400, "invalid_utf8"},
		{"low surrogate first", lab.ResponsesPath, `{"model":"gpt-oss-120b","input":"\udc00\ud800"}`, 400, "invalid_utf8"},
		{"surrogate in a key", lab.ChatPath, with(`"\ud800":1`), 400, "invalid_utf8"},
		{"surrogate at the end", lab.ChatPath, user(`"\ud83d"`), 400, "invalid_utf8"},
		{"half an escape", lab.ChatPath, user(`"\u12"`), 400, "invalid_json"},
		{"invalid UTF-8", lab.ChatPath, user("\"a\xffb\""), 400, "invalid_utf8"},
		{"invalid UTF-8 key", lab.ResponsesPath, "{\"model\":\"gpt-oss-120b\",\"input\":\"x\",\"\xc0\xaf\":1}", 400,
			"invalid_utf8"},
		{"overlong UTF-8", lab.ChatPath, user("\"\xe0\x80\x80\""), 400, "invalid_utf8"},
		{"surrogate in UTF-8", lab.ChatPath, user("\"\xed\xa0\x80\""), 400, "invalid_utf8"},
		{"cut UTF-8", lab.ChatPath, `{"model":"gpt-oss-120b","messages":"` + "\xf0\x9f\x98", 400, "invalid_utf8"},
		{"NUL escaped", lab.ChatPath, user(`"a\u0000b"`), 200, ""},
		{"NUL raw", lab.ChatPath, user("\"a\x00b\""), 400, "invalid_json"},
		{"NULs only", lab.ChatPath, strings.Repeat("\x00", 1000), 400, "invalid_json"},
		{"NUL in the model", lab.ChatPath, `{"model":"gpt-oss-120b\u0000","messages":[]}`, 404, "model_not_found"},
		{"10 KB model", lab.ChatPath, lab.ChatBody(strings.Repeat("m", 10_000), "Hi"), 404, "model_not_found"},
		{"byte order mark", lab.ChatPath, "\xef\xbb\xbf" + user(`"x"`), 400, "invalid_json"},
		{"empty", lab.ChatPath, "", 400, "invalid_json"},
		{"empty, responses", lab.ResponsesPath, "", 400, "invalid_json"},
		{"spaces", lab.ChatPath, "   \n", 400, "invalid_json"},
		{"number", lab.ChatPath, "1e5", 400, "invalid_type"},
		{"null", lab.ResponsesPath, "null", 400, "invalid_type"},
		{"two values", lab.ChatPath, user(`"x"`) + user(`"x"`), 400, "invalid_json"},
		{"cut short", lab.ChatPath, user(`"x"`)[:60], 400, "invalid_json"},
		{"temperature 1e999", lab.ChatPath, with(`"temperature":1e999`), 400, "invalid_value"},
		{"temperature -1e-999", lab.ChatPath, with(`"temperature":-1e-999`), 0, ""},
		{"a long temperature", lab.ChatPath, with(`"temperature":0.` + strings.Repeat("1", 100_000)), 0, ""},
		{"max_tokens 1e30", lab.ChatPath, with(`"max_tokens":1e30`), 0, ""},
		{"max_tokens of 20 digits", lab.ChatPath, with(`"max_tokens":99999999999999999999`), 0, ""},
		{"max_tokens of 2^63", lab.ChatPath, with(`"max_completion_tokens":9223372036854775808`), 0, ""},
		{"max_tokens of 2^32", lab.ChatPath, with(`"max_completion_tokens":4294967296`), 0, ""},
		{"max_output_tokens of 2^64", lab.ResponsesPath,
			`{"model":"gpt-oss-120b","input":"Hi","max_output_tokens":18446744073709551616}`, 0, ""},
		{"max_tokens -1", lab.ChatPath, with(`"max_tokens":-1`), 400, "invalid_value"},
		{"max_tokens 0", lab.ChatPath, with(`"max_tokens":0`), 400, "invalid_value"},
		{"max_tokens 1.5", lab.ChatPath, with(`"max_tokens":1.5`), 400, ""},
		{"n of 2^40", lab.ChatPath, with(`"n":1099511627776`), 400, ""},
		{"huge seed", lab.ChatPath, with(`"seed":123456789012345678901234567890`), 0, ""},
		{"negative top_logprobs", lab.ChatPath, with(`"logprobs":true,"top_logprobs":-5`), 400, ""},
		{"messages is a string", lab.ChatPath, `{"model":"gpt-oss-120b","messages":"x"}`, 400, "invalid_type"},
		{"message is null", lab.ChatPath, `{"model":"gpt-oss-120b","messages":[null]}`, 400, "invalid_type"},
		{"no messages", lab.ChatPath, `{"model":"gpt-oss-120b","messages":[]}`, 0, ""},
		{"input is null", lab.ResponsesPath, `{"model":"gpt-oss-120b","input":null}`, 400, ""},
		{"input is empty", lab.ResponsesPath, `{"model":"gpt-oss-120b","input":[]}`, 0, ""},
		{"tools is a number", lab.ChatPath, with(`"tools":7`), 400, "invalid_type"},
		{"parameters is a list", lab.ChatPath, with(`"tools":[{"type":"function","function":{"name":"f","parameters":[]}}]`),
			400,
			"invalid_type"},
		{"strange schema", lab.ChatPath, with(`"tools":[{"type":"function","function":{"name":"f",` +
			`"parameters":{"type":{"a":[]},"properties":[1],"required":"x","enum":{},"oneOf":7,"items":null,` +
			`"default":{"a":[1e5,null]}}}}]`), 0, ""},
	}
	return list
}

func manyCalls(n int, id string) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, `,{"id":"%s%d","type":"function","function":{"name":"f","arguments":"{}"}}`, id, i)
	}
	return out.String()[1:]
}

func manyTools(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, `,{"type":"function","function":{"name":"f%d","parameters":{"type":"object",`+
			`"properties":{"a":{"type":"string"}}}}}`, i)
	}
	return out.String()[1:]
}

func manyResults(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, `,{"role":"tool","tool_call_id":"c%d","content":"r"}`, n-1-i)
	}
	return out.String()
}

// check judges the answer to a hostile request. Status 0 takes an answer or a refusal, whichever it is.
func (h hostileRequest) check(t *testing.T, a lab.Answer) {
	t.Helper()
	switch {
	case a.Err != nil:
		t.Errorf("no answer: %v", a.Err)
	case a.Status == 200 && (h.status == 0 || h.status == 200):
		if r := lab.Read(a.Body); !r.Finished() && r.End != "length" && r.End != "incomplete" {
			t.Errorf("not a complete answer: %s", a.Body)
		}
	case a.Status == 400 && h.status == 0 && a.ErrorCode() != "",
		a.Status == h.status && a.ErrorCode() != "" && (h.code == "" || a.ErrorCode() == h.code):
	default:
		t.Errorf("got %d %.300s, want %d %s", a.Status, a.Body, h.status, h.code)
	}
}

// generatingPaths are the paths of the APIs whose answers a model writes.
var generatingPaths = []string{lab.ChatPath, lab.ResponsesPath, lab.MessagesPath}

// background keeps streams running on one Envoy worker and reads every one of them to its end.
type background struct {
	stop   atomic.Bool
	done   sync.WaitGroup
	whole  atomic.Int64 // streams that came to a full and right end
	broken chan string
}

// backgroundText is what each of these streams must say.
var backgroundText = strings.TrimSpace(strings.Repeat("All work and no play makes Jack a dull boy. ", 6))

func startBackground(t *testing.T, n int, base, model string) *background {
	b := &background{broken: make(chan string, n)}
	clients := []*http.Client{lab.HTTP1(t), lab.HTTP2(t)}
	var first sync.WaitGroup
	for i := range n {
		first.Add(1)
		b.done.Add(1)
		go func() {
			defer b.done.Done()
			once := sync.OnceFunc(first.Done)
			defer once()
			path := generatingPaths[i%len(generatingPaths)]
			body := `{"stream":true,` + lab.BodyOf(path, model, "BACKGROUND")[1:]
			for !b.stop.Load() {
				response, err := clients[i/2%2].Post(base+path, "application/json", strings.NewReader(body))
				if err != nil {
					b.broken <- err.Error()
					return
				}
				once()
				data, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if r := lab.Read(string(data)); err != nil || response.StatusCode != 200 || !r.Finished() ||
					r.Text != backgroundText {
					b.broken <- fmt.Sprintf("%d %v after %d bytes: %+v", response.StatusCode, err, len(data), r)
					return
				}
				b.whole.Add(1)
			}
		}()
	}
	first.Wait()
	return b
}

// end lets every stream come to its end and judges them.
func (b *background) end(t *testing.T, n int) {
	t.Helper()
	b.stop.Store(true)
	b.done.Wait()
	close(b.broken)
	for why := range b.broken {
		t.Errorf("a stream of the same worker was harmed: %s", why)
	}
	t.Logf("%d streams came to a full and right end meanwhile", b.whole.Load())
	if got := b.whole.Load(); got < int64(n) {
		t.Errorf("only %d streams came to their end", got)
	}
}

// slowServer streams backgroundText at a reader's pace.
func slowServer(t *testing.T) string {
	line := sim.Line{Match: "BACKGROUND", Tokens: lab.Vocabulary.AppendEncodeSpecial(
		nil, "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>"+backgroundText+
			"<|return|>")}
	_, url := lab.RunSim(t, sim.Options{Models: []string{"slow"}, Script: sim.NewScript(line), TokensPerSecond: 25,
		Keep: -1})
	return url
}

// TestHostile: whatever clients and servers send, each gets a shaped error or a right answer, and 50 other streams of
// the one worker come to their full end, with no VM lost.
func TestHostile(t *testing.T) { lab.OnProxies(t, hostile) }

func hostile(t *testing.T, run lab.RunProxy) {
	_, simURL := lab.RunSim(t, sim.Options{AnyPrompt: true, Keep: -1})
	rude := runRude(t)
	configure := func(server string) *config.Config {
		c := lab.OneModel(server)
		c.BodyLimit = hostileLimit
		c.StallTimeout = config.Duration(time.Minute)
		return c
	}
	c := configure(simURL)
	lab.AddModel(c, "rude", rude)
	lab.AddModel(c, "slow", slowServer(t))
	envoy := run(t, c)
	onRude := configure(rude)
	onRude.Models[0].Name = "rude"
	natives := [2]*hosts.Host{lab.RunNative(t, configure(simURL)), lab.RunNative(t, onRude)}

	const streams = 50
	others := startBackground(t, streams, envoy.URL, "slow")
	one, two := lab.HTTP1(t), lab.HTTP2(t)
	t.Run("requests", func(t *testing.T) {
		for i, h := range hostileRequests() {
			t.Run(h.name, func(t *testing.T) {
				h.check(t, lab.Ask(one, natives[0].URL+h.path, h.body))
				client := one
				if i%2 == 1 {
					client = two
				}
				began := time.Now()
				h.check(t, lab.Ask(client, envoy.URL+h.path, h.body))
				switch took := time.Since(began); {
				case took > lab.RequestLimit:
					t.Errorf("the request held the worker for %s", took)
				case took > time.Second:
					t.Logf("%s: took %s on Envoy", h.name, took)
				}
			})
		}
	})
	t.Run("body limit", func(t *testing.T) { testBodyLimit(t, envoy.URL, natives[0].URL) })
	t.Run("clients that leave", func(t *testing.T) { testLeaving(t, envoy.URL) })
	t.Run("rude servers", func(t *testing.T) {
		for _, r := range rudeAnswers() {
			t.Run(r.name, func(t *testing.T) {
				for _, base := range []string{natives[1].URL, envoy.URL} {
					r.run(t, one, base)
				}
			})
		}
	})
	others.end(t, streams)
}

// testBodyLimit: to the byte, however the body comes.
func testBodyLimit(t *testing.T, bases ...string) {
	body := func(size int) string {
		b := lab.ChatBody(lab.Model, "Hi")
		return b + strings.Repeat(" ", size-len(b))
	}
	for _, base := range bases {
		for name, client := range map[string]*http.Client{"HTTP/1.1": lab.HTTP1(t), "HTTP/2": lab.HTTP2(t)} {
			if name == "HTTP/2" && base != bases[0] {
				continue // the native host speaks HTTP/1.1 only
			}
			for _, framing := range []string{"with a length", "without a length"} {
				for _, path := range generatingPaths {
					send := func(size int) lab.Answer {
						text := body(size)
						if path != lab.ChatPath {
							short := lab.BodyOf(path, lab.Model, "Hi")
							text = strings.Replace(short, "{", "{"+strings.Repeat(" ", size-len(short)), 1)
						}
						var r io.Reader = strings.NewReader(text)
						if framing == "without a length" {
							r = io.MultiReader(r) // net/http does not see how long it is
						}
						return lab.Do(client, http.MethodPost, base+path, nil, r)
					}
					if a := send(hostileLimit); a.Status != 200 || !lab.Read(a.Body).Finished() {
						t.Errorf("%s %s %s: at the limit %+v", base, name, framing, a)
					}
					if a := send(hostileLimit + 1); path == lab.MessagesPath {
						if err := grammar.ReadMessagesError(a.Body); err != nil || a.Status != 413 ||
							!strings.Contains(a.Body, `"type":"request_too_large"`) {
							t.Errorf("%s %s %s: beyond the limit %v %+v", base, name, framing, err, a)
						}
					} else {
						lab.WantRefused(t, a, 413, "request_too_large")
					}
				}
			}
		}
	}
	// Far beyond, where Envoy itself gives up reading and may close while the client still sends.
	far := "POST " + lab.ChatPath + " HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
	text := body(hostileLimit + 8<<20)
	m := lab.SendRaw(t, bases[0], fmt.Sprintf(far, len(text))+text)
	if !strings.Contains(m.Head[0], " 413 ") || !strings.Contains(string(m.Body), `"code":"request_too_large"`) {
		t.Errorf("far beyond the limit: %s", m)
	}
	a := lab.Do(lab.HTTP2(t), http.MethodPost, bases[0]+lab.ChatPath, nil, io.MultiReader(strings.NewReader(text)))
	lab.WantRefused(t, a, 413, "request_too_large")
}

// testLeaving: clients go away in every phase.
func testLeaving(t *testing.T, base string) {
	for i := range 60 {
		client := lab.HTTP1(t)
		if i%2 == 1 {
			client = lab.HTTP2(t)
		}
		ctx, cancel := context.WithCancel(context.Background())
		pipe, feed := io.Pipe()
		path := generatingPaths[i/6%len(generatingPaths)]
		body := io.Reader(strings.NewReader(`{"stream":true,` + lab.BodyOf(path, "slow", "BACKGROUND")[1:]))
		switch i % 3 {
		case 0: // while the request is on its way
			body = pipe
			go func() {
				_, _ = io.WriteString(feed, `{"model":"slow","messages":[`)
				cancel()
				_ = feed.CloseWithError(context.Canceled) // net/http waits until the body is read
			}()
		case 1: // while it waits for the server
			body = io.MultiReader(body, cancelAtEnd{cancel})
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, body)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil { // while the answer comes
			_, _ = bufio.NewReader(response.Body).ReadString('\n')
			cancel()
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		cancel()
		_ = feed.Close()
	}
}

type cancelAtEnd struct{ cancel func() }

func (c cancelAtEnd) Read([]byte) (int, error) {
	c.cancel()
	return 0, io.EOF
}
