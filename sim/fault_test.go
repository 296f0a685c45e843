package sim

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func TestParseFault(t *testing.T) {
	for in, want := range map[string]Fault{
		"":               {},
		"none":           {},
		"status:503:7":   {Kind: FaultStatus, Status: 503, RetryAfter: "7"},
		"status:500":     {Kind: FaultStatus, Status: 500},
		"close:0":        {Kind: FaultClose},
		"error-event:12": {Kind: FaultErrorEvent, After: 12},
		"error-200-json": {Kind: FaultError200},
	} {
		if got, err := ParseFault(in); err != nil || got != want {
			t.Errorf("%q: %+v %v", in, got, err)
		}
	}
	for _, in := range []string{"close", "close:x", "close:-1", "status", "status:99", "trailers:1", "boom", "stall:1:2"} {
		if _, err := ParseFault(in); err == nil {
			t.Errorf("%q was accepted", in)
		}
	}
}

func TestStreamFaults(t *testing.T) {
	for _, tc := range []struct {
		fault     string
		ids       int // -1: the whole answer
		done, cut bool
		last      string // data of the last event
	}{
		{"error-event:4", 4, true, false, `{"error":{"message":"Internal server error","type":"InternalServerError",` +
			`"param":null,"code":500}}`},
		{"error-event:0", 0, true, false, `"code":500`},
		{"engine-dead:4", 4, true, false, `{"error":{"message":"EngineCore encountered an issue. See stack trace (above) ` +
			`for the root cause.","type":"InternalServerError","param":null,"code":500}}`},
		{"close:5", 5, false, true, ""},
		{"close:0", 0, false, true, ""},
		{"close:100000", -1, false, true, ""},
		{"garbage:3", -1, true, false, ""},
		{"no-finish:6", 6, false, false, ""},
		{"abort:6", 6, true, false, ""},
		{"trailers", -1, true, false, ""},
		{"none", -1, true, false, ""},
	} {
		for _, perChunk := range []int{1, 3, AllTokens} {
			for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
				s, url := start(t, Options{AllowHeaders: true, TokensPerChunk: perChunk})
				resp := postProto(t, proto, url, body(hello, `,"stream":true,"return_token_ids":true`), "x-sim-fault", tc.fault)
				got := read(t, resp)
				q := await(t, s, completed)[0]
				want := tc.ids
				if want < 0 {
					want = len(q.SampledIDs)
				}
				if resp.StatusCode != 200 || len(got.ids) != want || got.done != tc.done || (got.err != nil) != tc.cut {
					t.Errorf("%s %s by %d: status %d, %d ids of %d, done %v, err %v", tc.fault, proto, perChunk, resp.StatusCode,
						len(got.ids), want, got.done, got.err)
				}
				if tc.last != "" && !strings.Contains(got.raw[len(got.raw)-1], tc.last) {
					t.Errorf("%s: last event %q", tc.fault, got.raw[len(got.raw)-1])
				}
				if tc.fault == "garbage:3" && len(got.raw) != len(got.events)+1 {
					t.Errorf("garbage: %d events of %d are JSON", len(got.events), len(got.raw))
				}
				if tc.fault == "trailers" && resp.Trailer.Get("x-sim-trailer") != "1" {
					t.Errorf("%s: no trailer", proto)
				}
				if q.Aborted || q.TokensSent != want || q.Proto != proto {
					t.Errorf("%s: recorded aborted %v, sent %d, %s", tc.fault, q.Aborted, q.TokensSent, q.Proto)
				}
			}
		}
	}
}

func TestOtherFaults(t *testing.T) {
	s, url := start(t, Options{AllowHeaders: true})
	for _, tc := range []struct {
		fault, stream string
		status        int
		want          string
	}{
		{"status:503:9", "true", 503, `a different instance.","type":"Service Unavailable","param":null,"code":503`},
		{"status:429", "false", 429, `"code":429`},
		{"error-200-json", "true", 200, `{"error":{"message":"Internal server error"`},
		{"error-200-json", "false", 200, `{"error":{"message":"Internal server error"`},
		{"error-event:1", "false", 500, `"code":500`},
		{"engine-dead:1", "false", 500, `{"error":{"message":"EngineCore encountered an issue.`},
		{"garbage:0", "false", 200, "not json"},
		{"no-finish:0", "false", 200, `{"id":"cmpl-`},
		{"nonsense", "false", 400, "no such fault"},
	} {
		resp := post(t, url, body(hello, `,"stream":`+tc.stream), "x-sim-fault", tc.fault)
		b, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != tc.status || !bytes.Contains(b, []byte(tc.want)) {
			t.Errorf("%s: %d %s", tc.fault, resp.StatusCode, b)
		}
		if tc.fault == "status:503:9" && resp.Header.Get("Retry-After") != "9" {
			t.Error("no retry-after")
		}
	}
	for _, fault := range []string{"close:0", "reset:0"} {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/completions", strings.NewReader(body(hello, "")))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("x-sim-fault", fault)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			t.Errorf("%s: status %d", fault, resp.StatusCode)
		}
	}
	await(t, s, completed)
	// Without AllowHeaders the header means nothing.
	_, url = start(t, Options{})
	if resp := post(t, url, body(hello, ""), "x-sim-fault", "status:500"); resp.StatusCode != 200 {
		t.Errorf("a forbidden header was obeyed: %d", resp.StatusCode)
	}
}

// A reset ends a running stream too, whatever of it arrives.
func TestReset(t *testing.T) {
	s, url := start(t, Options{Fault: Fault{Kind: FaultReset, After: 3}})
	if got := read(t, post(t, url, body(hello, `,"stream":true`))); got.err == nil || got.done {
		t.Errorf("done %v err %v", got.done, got.err)
	}
	if q := await(t, s, completed)[0]; q.Aborted || q.TokensSent != 3 || q.Finish != "error" {
		t.Errorf("recorded %+v", q)
	}
}

// A client that goes away ends the generation, streaming or not, over both protocols.
func TestAbort(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		for _, streaming := range []string{"true", "false"} {
			s, url := start(t, Options{Fault: Fault{Kind: FaultStall, After: 2}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req, _ := http.NewRequestWithContext(
				ctx, "POST", url+"/v1/completions", strings.NewReader(body(hello, `,"stream":`+streaming)))
			req.Header.Set("Content-Type", "application/json")
			aborted := make(chan struct{})
			go func() {
				defer close(aborted)
				if resp, err := client(t, proto).Do(req); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}()
			await(t, s, func(list []Request) bool {
				return len(list) == 1 && (list[0].TokensSent == 2 || streaming == "false" && list[0].ID != "")
			})
			cancel()
			<-aborted
			q := await(t, s, completed)[0]
			if !q.Aborted || q.Finish != "abort" {
				t.Errorf("%s stream=%s: %+v", proto, streaming, q)
			}
			if !strings.Contains(metricsText(t, url),
				`vllm:request_success_total{engine="0",finished_reason="abort",model_name="gpt-oss-120b"} 1.0`) {
				t.Error("the abort is not counted")
			}
		}
	}
}

// Closing the server ends a stalled stream without an end.
func TestCloseServer(t *testing.T) {
	s, url := start(t, Options{Fault: Fault{Kind: FaultStall, After: 2}})
	resp := post(t, url, body(hello, `,"stream":true`))
	await(t, s, func(list []Request) bool { return list[0].TokensSent == 2 })
	s.Close()
	if got := read(t, resp); got.err == nil || got.done {
		t.Errorf("done %v err %v", got.done, got.err)
	}
}

// chunkReader sees each write of the server as one chunk of HTTP/1.1.
func chunks(t *testing.T, url, body string) [][]byte {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: "+
		"application/json\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
	all, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := bytes.Cut(all, []byte("\r\n\r\n"))
	if !ok {
		t.Fatalf("no head in %q", all)
	}
	var out [][]byte
	for {
		size, after, _ := bytes.Cut(rest, []byte("\r\n"))
		n := 0
		for _, c := range size {
			n = n*16 + strings.IndexByte("0123456789abcdef", c)
		}
		if n == 0 {
			return out
		}
		out = append(out, after[:n])
		rest = after[n+2:]
	}
}

func TestCuts(t *testing.T) {
	request := body(hello, `,"stream":true,"return_token_ids":true,"request_id":"x"`)
	_, url := start(t, Options{})
	whole := bytes.Join(chunks(t, url, request), nil)
	undated := func(b []byte) string { // created may differ by a second
		parts := strings.Split(string(b), `"created":`)
		for i := 1; i < len(parts); i++ {
			_, parts[i], _ = strings.Cut(parts[i], ",")
		}
		return strings.Join(parts, "")
	}
	for _, n := range []int{1, 7, 1000} {
		_, url := start(t, Options{CutBytes: n})
		pieces := chunks(t, url, request)
		for i, p := range pieces {
			if len(p) != n && i != len(pieces)-1 {
				t.Fatalf("piece %d has %d bytes, not %d", i, len(p), n)
			}
		}
		if undated(bytes.Join(pieces, nil)) != undated(whole) {
			t.Errorf("cut by %d the answer differs", n)
		}
	}
	_, url = start(t, Options{CutAt: []int{1, 50, 51}})
	pieces := chunks(t, url, request)
	if len(pieces) < 4 || len(pieces[0]) != 1 || len(pieces[1]) != 49 || len(pieces[2]) != 1 ||
		undated(bytes.Join(pieces, nil)) != undated(whole) {
		t.Errorf("%d pieces", len(pieces))
	}
}

func client(t *testing.T, proto string) *http.Client {
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetHTTP1(proto == "HTTP/1.1")
	tr.Protocols.SetUnencryptedHTTP2(proto == "HTTP/2.0")
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func postProto(t *testing.T, proto, url, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(header[0], header[1])
	resp, err := client(t, proto).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// TestAbortBeforeFirstToken has a stream that is given up before its first token end without a finish reason, as vLLM
// 0.32.0's do while it drains. A whole answer has one, and so has a stream of /inference/v1/generate.
func TestAbortBeforeFirstToken(t *testing.T) {
	for _, tc := range []struct{ kind, path, request, want string }{
		{VLLM, "/v1/completions", `{"prompt":` + idsOf(hello) + `,"stream":true}`, "data: [DONE]\n\n"},
		{VLLM, "/v1/completions", `{"prompt":` + idsOf(hello) + `}`, `"finish_reason":"abort"`},
		{VLLMGenerate, "/inference/v1/generate", `{"token_ids":` + idsOf(hello) + `,"sampling_params":{},"stream":true}`,
			`"finish_reason":"abort"`},
		{Chat, "/v1/chat/completions", `{"messages":[{"role":"user","content":"Hello"}],"stream":true}`,
			`"finish_reason":null}],"prompt_token_ids":null,"prompt_text":null}` + "\n\ndata: [DONE]\n\n"},
		{Chat, "/v1/chat/completions", `{"messages":[{"role":"user","content":"Hello"}]}`, `"finish_reason":"abort"`},
	} {
		_, url := start(t, Options{Kind: tc.kind, Fault: Fault{Kind: FaultAbort}})
		status, got := ask(t, url+tc.path, tc.request)
		ended := strings.Contains(got, `"finish_reason":"abort"`)
		if status != 200 || !strings.Contains(got, tc.want) || ended != strings.Contains(tc.want, "abort") {
			t.Errorf("%s %s: %d %s", tc.kind, tc.request, status, got)
		}
	}
}
