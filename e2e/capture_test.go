//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/sim"
)

// patience bounds every wait of these tests; nothing waits that long unless it hangs.
const patience = 2 * time.Minute

// wireMessage is one HTTP message as it stood on the wire: the start line (HTTP/2: pseudo headers) and headers in
// their order and case, the body without its framing, the trailers.
type wireMessage struct {
	head     []string
	body     []byte
	trailers []string
}

func (m wireMessage) String() string {
	body := string(m.body)
	if len(body) > 4096 {
		body = fmt.Sprintf("%q… (%d bytes)", body[:64], len(body))
	}
	return strings.Join(m.head, "\n") + "\n\n" + body + "\n\n" + strings.Join(m.trailers, "\n")
}

// target is the request's path, whichever protocol it came by.
func (m wireMessage) target() string {
	for _, line := range m.head {
		if path, ok := strings.CutPrefix(line, ":path: "); ok {
			return path
		}
	}
	if parts := strings.Fields(m.head[0]); len(parts) > 1 {
		return parts[1]
	}
	return ""
}

// capture is a server that writes down what it gets and answers as the query asks:
//
//	answer=chunked  (default) 207 with odd headers and a body in chunks; over HTTP/2 also with trailers
//	answer=length   200 with a content-length
//	answer=empty    204
//	answer=error    429 with a retry-after and a JSON error
//	answer=events   200 with events
type capture struct {
	address string
	mu      sync.Mutex
	seen    []wireMessage
	conns   []net.Conn
}

func newCapture(t *testing.T) *capture {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &capture{address: l.Addr().String()}
	t.Cleanup(func() {
		_ = l.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, conn := range c.conns {
			_ = conn.Close()
		}
	})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.mu.Lock()
			c.conns = append(c.conns, conn)
			c.mu.Unlock()
			go c.serve(conn)
		}
	}()
	return c
}

// take returns what was written down since the last take.
func (c *capture) take() []wireMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.seen
	c.seen = nil
	return out
}

func (c *capture) record(m wireMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, m)
}

func (c *capture) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	if start, err := r.Peek(3); err != nil {
		return
	} else if string(start) == "PRI" {
		c.serve2(conn, r)
		return
	}
	for {
		m, err := readWire(r, "")
		if err != nil {
			return
		}
		c.record(m)
		if _, err := conn.Write([]byte(captureAnswer(m))); err != nil {
			return
		}
	}
}

// captureHead and captureBody are the answer's parts in both protocols.
func captureParts(m wireMessage) (status string, head []string, body string) {
	_, query, _ := strings.Cut(m.target(), "?")
	switch {
	case strings.Contains(query, "answer=length"):
		return "200", []string{"Content-Type: text/plain", "X-ODD-case: Mixed Value"}, "a body with a length"
	case strings.Contains(query, "answer=empty"):
		return "204", []string{"x-nothing: here"}, ""
	case strings.Contains(query, "answer=error"):
		return "429", []string{"retry-after: 7", "content-type: application/json"}, `{"error":"not yours to change"}`
	case strings.Contains(query, "answer=events"):
		return "200", []string{"content-type: text/event-stream"}, "data: {\"choices\":[{\"token_ids\":[1,2]}]}\n\ndata: [DONE]\n\n"
	}
	return "207", []string{"content-type: application/x-odd; q=1", "set-cookie: a=1", "set-cookie: b=2", "x-empty:", "X-Harmony-Internal-Pool: from the server"},
		"first piece,second piece,\x00\xff last"
}

func captureAnswer(m wireMessage) string {
	status, head, body := captureParts(m)
	out := "HTTP/1.1 " + status + " Odd Reason\r\n" + strings.Join(head, "\r\n") + "\r\n"
	isHead := strings.HasPrefix(m.head[0], "HEAD ")
	switch {
	case status == "204":
		return out + "\r\n"
	case status == "207" && !isHead:
		first, rest := body[:12], body[12:]
		return out + fmt.Sprintf("transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", len(first), first, len(rest), rest)
	case isHead:
		return out + "content-length: 12345\r\n\r\n"
	}
	return out + "content-length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// serve2 speaks just enough HTTP/2 to see the order of headers, which net/http does not tell.
func (c *capture) serve2(conn net.Conn, r *bufio.Reader) {
	if _, err := io.CopyN(io.Discard, r, int64(len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(conn, r)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 8 << 20})
	open := map[uint32]*wireMessage{}
	var packed bytes.Buffer
	encoder := hpack.NewEncoder(&packed)
	block := func(lines ...string) []byte {
		packed.Reset()
		for _, line := range lines {
			at := strings.Index(line[1:], ":") + 1
			_ = encoder.WriteField(hpack.HeaderField{Name: strings.ToLower(line[:at]), Value: strings.TrimSpace(line[at+1:])})
		}
		return packed.Bytes()
	}
	finish := func(id uint32) {
		m := open[id]
		delete(open, id)
		c.record(*m)
		status, head, body := captureParts(*m)
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block(append([]string{":status: " + status}, head...)...), EndHeaders: true})
		_ = f.WriteData(id, false, []byte(body))
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block("x-checksum: 17", "grpc-status: 0"), EndHeaders: true, EndStream: true})
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = f.WriteSettingsAck()
			}
		case *http2.PingFrame:
			_ = f.WritePing(true, frame.Data)
		case *http2.MetaHeadersFrame:
			var lines []string
			for _, field := range frame.Fields {
				lines = append(lines, field.Name+": "+field.Value)
			}
			if m := open[frame.StreamID]; m != nil {
				m.trailers = lines
			} else {
				open[frame.StreamID] = &wireMessage{head: lines}
			}
			if frame.StreamEnded() {
				finish(frame.StreamID)
			}
		case *http2.DataFrame:
			m := open[frame.StreamID]
			if m == nil {
				continue
			}
			m.body = append(m.body, frame.Data()...)
			if n := uint32(len(frame.Data())); n > 0 {
				_ = f.WriteWindowUpdate(0, n)
			}
			if frame.StreamEnded() {
				finish(frame.StreamID)
			}
		}
	}
}

// readWire reads one HTTP/1.1 message. method is the request's, where a response is read.
func readWire(r *bufio.Reader, method string) (wireMessage, error) {
	var m wireMessage
	length, chunked := int64(0), false
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return m, err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		m.head = append(m.head, line)
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.ToLower(name) {
		case "content-length":
			length, _ = strconv.ParseInt(value, 10, 64)
		case "transfer-encoding":
			chunked = strings.EqualFold(value, "chunked")
		}
	}
	if method == http.MethodHead {
		return m, nil
	}
	var err error
	if !chunked {
		m.body = make([]byte, length)
		_, err = io.ReadFull(r, m.body)
		return m, err
	}
	if m.body, err = io.ReadAll(httputil.NewChunkedReader(r)); err != nil {
		return m, err
	}
	for {
		line, err := textproto.NewReader(r).ReadLine()
		if err != nil || line == "" {
			return m, err
		}
		m.trailers = append(m.trailers, line)
	}
}

// rawHTTP sends these bytes over a new connection and reads the answer. With expect, what stands behind the empty line
// is sent only once an interim answer has come.
func rawHTTP(t *testing.T, url, request string) wireMessage {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	r := bufio.NewReader(conn)
	method, _, _ := strings.Cut(request, " ")
	var interim []string
	if head, body, ok := strings.Cut(request, "\r\n\r\n"); ok && strings.Contains(strings.ToLower(head), "\nexpect:") {
		if _, err := io.WriteString(conn, head+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		m, err := readWire(r, method)
		if err != nil {
			t.Fatal(err)
		}
		interim, request = m.head, body
	}
	// A server may answer, and close, before it has read everything.
	go func() { _, _ = io.WriteString(conn, request) }()
	m, err := readWire(r, method)
	if err != nil {
		t.Fatalf("answer to %.60q: %v (so far %s)", request, err, m)
	}
	m.head = append(interim, m.head...)
	return m
}

// http1 and http2Client are clients of one protocol each, with connections of their own.
func http1(t *testing.T) *http.Client { return newClient(t, false) }

func http2Client(t *testing.T) *http.Client { return newClient(t, true) }

func newClient(t *testing.T, two bool) *http.Client {
	transport := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols), MaxIdleConnsPerHost: 100}
	transport.Protocols.SetHTTP1(!two)
	transport.Protocols.SetUnencryptedHTTP2(two)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// answer is what a client has of a response, with the error that ended it, if one did.
type answer struct {
	status  int
	header  http.Header
	body    string
	trailer http.Header
	err     error
}

// shaped reports the code of an error in OpenAI's shape, or an empty string.
func (a answer) shaped() string {
	m := regexp.MustCompile(`^\{"error":\{"message":"(?:[^"\\]|\\.)+","type":"[a-z_]+","param":(?:null|"(?:[^"\\]|\\.)*"),"code":"([a-z][a-z0-9_]*)"\}\}$`).FindStringSubmatch(strings.TrimSpace(a.body))
	if m == nil || a.header.Get("content-type") != "application/json" {
		return ""
	}
	return m[1]
}

func do(client *http.Client, method, url string, header http.Header, body io.Reader) answer {
	request, err := http.NewRequest(method, url, body)
	if err != nil {
		return answer{err: err}
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if request.Header.Get("content-type") == "" && body != nil {
		request.Header.Set("content-type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{err: err}
	}
	return readAnswer(response)
}

func readAnswer(response *http.Response) answer {
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(data), response.Trailer, err}
}

func ask(client *http.Client, url, body string) answer {
	return do(client, http.MethodPost, url, nil, strings.NewReader(body))
}

// oneModel is the cases' configuration with servers for one model.
func oneModel(server string) *config.Config {
	c := config.Default()
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	c.BodyLimit, c.StallTimeout = 1<<20, config.Duration(20*time.Second)
	addModel(c, caseModel, server)
	return c
}

func addModel(c *config.Config, name, server string) {
	m := config.DefaultModel(name, "vllm="+server)
	m.System.Date = caseDate
	c.Models = append(c.Models, m)
}

// runSim runs a simulated server.
func runSim(t *testing.T, o sim.Options) (*sim.Server, string) {
	t.Helper()
	if o.Models == nil {
		o.Models = []string{caseModel}
	}
	s := sim.New(o)
	t.Cleanup(s.Close)
	url, err := s.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return s, url
}

// readScript reads what a simulated server shall say from a file.
func readScript(t *testing.T, name string) *sim.Script {
	t.Helper()
	text, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	script, err := sim.ReadScript(text, vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	return script
}

// change is made to Envoy's resources before it starts.
type change func(*testing.T, *xds.Resources)

// runEnvoy runs Envoy with the shipped filter and, when the test is over, reads what it has said: one line about the
// filter, and the test has failed.
func runEnvoy(t *testing.T, c *config.Config, changes ...change) *hosts.Host {
	t.Helper()
	return startHealthy(t, hosts.EnvoyWith, c, changes)
}

// runDiscovering is runEnvoy with an Envoy that gets everything over delta ADS.
func runDiscovering(t *testing.T, c *config.Config, changes ...change) *hosts.Host {
	t.Helper()
	return startHealthy(t, hosts.EnvoyOverADS, c, changes)
}

func startHealthy(t *testing.T, start func(hosts.Setup, *xds.Resources) (*hosts.Host, error), c *config.Config, changes []change) *hosts.Host {
	t.Helper()
	setup := hosts.Setup{Config: c}
	r, err := hosts.Resources(setup)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change(t, r)
	}
	h, err := start(setup, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		checkHealthy(t, h)
		h.Stop()
	})
	return h
}

// runProxy runs the shipped filter in one of its hosts.
type runProxy func(t *testing.T, c *config.Config, changes ...change) *hosts.Host

// onProxies runs a test in each host of the shipped filter.
func onProxies(t *testing.T, test func(t *testing.T, run runProxy)) {
	t.Run("envoy", func(t *testing.T) { test(t, runEnvoy) })
	t.Run("wazero", func(t *testing.T) { test(t, runWazero) })
}

func runNative(t *testing.T, c *config.Config) *hosts.Host {
	t.Helper()
	h, err := hosts.Native(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Stop)
	return h
}

var reloads = regexp.MustCompile(`(?m)^wasm\.\S*(?:reload|fail)\S*: (\d+)`)

// checkHealthy: Envoy lives, no VM was lost, and nothing was logged about the filter.
func checkHealthy(t *testing.T, h *hosts.Host) {
	t.Helper()
	if h.Process == nil {
		return
	}
	if err := h.Process.Err(); err != nil {
		t.Errorf("%v:\n%s", err, h.Process.Log(100))
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stats, err := h.Process.Get(ctx, "/stats?filter=wasm")
	if err != nil {
		t.Error(err)
	}
	for _, m := range reloads.FindAllStringSubmatch(string(stats), -1) {
		if m[1] != "0" {
			t.Errorf("Envoy's statistics: %s", m[0])
		}
	}
	for line := range strings.Lines(h.Process.Log(1000)) {
		if strings.Contains(line, "wasm") || strings.Contains(line, "harmony:") || strings.Contains(line, "[critical]") {
			t.Errorf("Envoy's log: %s", line)
		}
	}
}

func editManager(t *testing.T, r *xds.Resources, edit func(*hcmv3.HttpConnectionManager)) {
	t.Helper()
	m, err := r.ConnectionManager()
	if err != nil {
		t.Fatal(err)
	}
	edit(m)
	r.Listeners[0].FilterChains[0].Filters[0].ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: packed(t, m)}
}

// ownFilter is the shipped filter among a listener's.
func ownFilter(m *hcmv3.HttpConnectionManager) *hcmv3.HttpFilter {
	return m.HttpFilters[slices.IndexFunc(m.HttpFilters, func(f *hcmv3.HttpFilter) bool { return f.Name == xds.FilterName })]
}

// editPlugin changes how the filter is configured.
func editPlugin(t *testing.T, r *xds.Resources, edit func(*wasmv3.PluginConfig)) {
	t.Helper()
	editManager(t, r, func(m *hcmv3.HttpConnectionManager) { editFilter(t, ownFilter(m), edit) })
}

func editFilter(t *testing.T, f *hcmv3.HttpFilter, edit func(*wasmv3.PluginConfig)) {
	t.Helper()
	filter := &wasmfilterv3.Wasm{}
	if err := f.GetTypedConfig().UnmarshalTo(filter); err != nil {
		t.Fatal(err)
	}
	edit(filter.Config)
	f.ConfigType = &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(t, filter)}
}

func packed(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// withoutFilter takes the filter out of the chain and leaves all else as it is.
func withoutFilter(t *testing.T, r *xds.Resources) {
	editManager(t, r, func(m *hcmv3.HttpConnectionManager) {
		before := len(m.HttpFilters)
		m.HttpFilters = slices.DeleteFunc(m.HttpFilters, func(f *hcmv3.HttpFilter) bool { return f.Name == xds.FilterName })
		if len(m.HttpFilters) != before-1 {
			t.Fatalf("%d filters of %d are left", len(m.HttpFilters), before)
		}
	})
}

// http2To makes Envoy speak HTTP/2 to a cluster's servers.
func http2To(cluster string) change {
	return func(t *testing.T, r *xds.Resources) {
		c := r.Cluster(cluster)
		if c == nil {
			t.Fatalf("no cluster %s", cluster)
		}
		c.TypedExtensionProtocolOptions = map[string]*anypb.Any{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": packed(t, &upstreamhttpv3.HttpProtocolOptions{
				UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{
					ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
						ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
							Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
						},
					},
				},
			}),
		}
	}
}

// isReset reports whether a client was told loudly that its answer is cut short.
func isReset(err error, protocol string) bool {
	if protocol == "h2" {
		var reset http2.StreamError
		return errors.As(err, &reset) && reset.Code == http2.ErrCodeInternal
	}
	return errors.Is(err, io.ErrUnexpectedEOF)
}
