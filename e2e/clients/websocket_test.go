//go:build e2e

package clients

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// wsDial are the headers with which agents dial.
const wsDial = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
	"dGhlIHNhbXBsZSBub25jZQ==\r\n"

// TestWebSocket dials each host as agents do that try WebSocket first. They go on over HTTP after 426, and after
// nothing else. A request that only mentions an upgrade is an ordinary one.
func TestWebSocket(t *testing.T) {
	for _, host := range clientHosts {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			_, server := lab.RunSim(t, sim.Options{})
			up, url := lab.StartUpWith(t, nil, "--host", host, "--model", lab.Model, "--backend", "vllm="+server)
			address := strings.TrimPrefix(url, "http://")
			for request, status := range map[string]int{
				"GET " + lab.ResponsesPath + " HTTP/1.1\r\nHost: x\r\n" + wsDial + "\r\n":                           426,
				"GET " + lab.ResponsesPath + "?model=x HTTP/1.1\r\nHost: x\r\n" + wsDial + "\r\n":                   426,
				"POST " + lab.ResponsesPath + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n" + wsDial + "\r\n{}":   426,
				"GET " + lab.ResponsesPath + " HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n":                   405,
				"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n": 200,
				"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n":                              200,
			} {
				checkDial(t, address, request, status)
			}
			extendedConnect(t, address)
			if host == "wazero" {
				lab.StopWazero(t, up)
			} else {
				up.Stop(t, syscall.SIGINT)
			}
		})
	}
}

// checkDial sends a request as it is. One that is refused with 426 gets the API's error and a connection that ends.
func checkDial(t *testing.T, address, request string, status int) {
	t.Helper()
	response, body := rawRequest(t, address, request)
	if response.StatusCode != status {
		t.Errorf("%q: %d, want %d", request, response.StatusCode, status)
	}
	if status != http.StatusUpgradeRequired {
		return
	}
	lab.WantRefused(t, lab.Answer{Status: response.StatusCode, Header: response.Header, Body: body}, 426,
		"websocket_not_supported")
	if upgrade := response.Header.Get("upgrade"); upgrade != "HTTP/1.1" || !response.Close {
		t.Errorf("%q: upgrade %q, close %v", request, upgrade, response.Close)
	}
}

// TestWebSocketAllowed uses an Envoy whose listener lets WebSocket through. The filter itself refuses it at the paths
// that it reads, over HTTP/1.1 and HTTP/2, and leaves it alone at all others.
func TestWebSocketAllowed(t *testing.T) {
	_, server := lab.RunSim(t, sim.Options{})
	other := lab.RunCapture(t)
	c := lab.OneModel(server)
	c.Passthrough = "http://" + other.Address
	h := lab.RunEnvoy(t, c, func(t *testing.T, r *xds.Resources) {
		lab.EditManager(t, r, func(m *hcmv3.HttpConnectionManager) {
			m.UpgradeConfigs = []*hcmv3.HttpConnectionManager_UpgradeConfig{{UpgradeType: "websocket"}}
			m.Http2ProtocolOptions.AllowConnect = true
			m.LocalReplyConfig = nil // which would have put Envoy's own refusal into this shape
		})
	})
	address := strings.TrimPrefix(h.URL, "http://")
	for request, status := range map[string]int{
		"GET " + lab.ResponsesPath + " HTTP/1.1\r\nHost: x\r\n" + wsDial + "\r\n":                         426,
		"GET " + lab.ResponsesPath + "?model=x HTTP/1.1\r\nHost: x\r\n" + wsDial + "\r\n":                 426,
		"POST " + lab.ResponsesPath + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n" + wsDial + "\r\n{}": 426,
		"GET " + lab.ChatPath + " HTTP/1.1\r\nHost: x\r\n" + wsDial + "\r\n":                              426,
		"GET /v1/realtime HTTP/1.1\r\nHost: x\r\n" + wsDial + "\r\n":                                      207,
	} {
		checkDial(t, address, request, status)
	}
	if n := len(other.Take()); n != 1 {
		t.Errorf("%d requests have reached the other server, want 1", n)
	}
	if status, body := connectExtended(t, address); status != "426" ||
		!strings.Contains(body, `"code":"websocket_not_supported"`) {
		t.Errorf("over HTTP/2: %s %s", status, body)
	}
}

// connectExtended asks for a WebSocket over HTTP/2 and returns the answer.
func connectExtended(t *testing.T, address string) (status, body string) {
	t.Helper()
	framer := dialExtended(t, address)
	decoder := hpack.NewDecoder(4096, nil)
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("%v behind %s %s", err, status, body)
		}
		ended := false
		switch f := frame.(type) {
		case *http2.HeadersFrame:
			fields, err := decoder.DecodeFull(f.HeaderBlockFragment())
			if err != nil {
				t.Fatal(err)
			}
			status, ended = fields[0].Value, f.StreamEnded()
		case *http2.DataFrame:
			body += string(f.Data())
			ended = f.StreamEnded()
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			ended = true
		}
		if ended {
			return status, body
		}
	}
}

// extendedConnect asks for a WebSocket over HTTP/2 (RFC 8441). The hosts do not announce that they take such requests,
// so clients send none; one that comes all the same is a protocol error, and gets no answer.
func extendedConnect(t *testing.T, address string) {
	t.Helper()
	framer := dialExtended(t, address)
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return // the connection was closed
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if v, ok := f.Value(http2.SettingEnableConnectProtocol); ok && v != 0 {
				t.Errorf("extended CONNECT is announced")
			}
		case *http2.HeadersFrame:
			t.Errorf("extended CONNECT is answered")
			return
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return
		}
	}
}

// dialExtended sends a request for a WebSocket over HTTP/2.
func dialExtended(t *testing.T, address string) *http2.Framer {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, h := range [][2]string{{":method", "CONNECT"}, {":protocol", "websocket"}, {":scheme", "http"},
		{":path", lab.ResponsesPath}, {":authority", "x"}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
	}
	framer := http2.NewFramer(conn, conn)
	_, err = io.WriteString(conn, http2.ClientPreface)
	if err == nil {
		err = framer.WriteSettings()
	}
	if err == nil {
		err = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	return framer
}

// webSocketRefused is the line that Codex writes about the 426.
var webSocketRefused = regexp.MustCompile(`^\S+ ERROR codex_api::endpoint::responses_websocket: failed to connect ` +
	`to Responses WebSocket .*\n$`)

// TestCodexDialsWebSocket lets Codex work with its own OpenAI provider and the gateway's URL: it dials a WebSocket, and
// goes on over HTTP.
func TestCodexDialsWebSocket(t *testing.T) {
	for _, host := range clientHosts {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			server, serverURL := lab.RunSim(t, sim.Options{Script: lab.ReadScript(t, "e2e/clients/codex/script.jsonl")})
			up, url := lab.StartUpWith(t, nil, "--host", host, "--model", lab.Model, "--backend", "vllm="+serverURL)
			c := newCodex(t, url, lab.Model)
			c.configure(t, "websocket.toml", "http://127.0.0.1:8080", url)
			cmd := c.command(t, "What is an edge?")
			var said, warned bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &warned
			err := cmd.Run()
			warning := strings.TrimPrefix(warned.String(), "Reading additional input from stdin...\n")
			if err != nil || !webSocketRefused.MatchString(warning) || strings.Count(warning, "\n") != 1 {
				t.Errorf("%v\n%s%s", err, &said, &warned)
			}
			if !strings.Contains(said.String(), `"text":"A line where two faces meet."`) ||
				!strings.Contains(said.String(), `"type":"turn.completed"`) {
				t.Errorf("Codex shows\n%s", &said)
			}
			prompts := 0
			for _, r := range server.Requests() {
				if len(r.PromptIDs) > 0 {
					prompts++
				}
			}
			if prompts != 1 {
				t.Errorf("%d prompts have reached the server, want 1", prompts)
			}
			if host == "wazero" {
				lab.StopWazero(t, up)
			} else {
				up.Stop(t, syscall.SIGINT)
			}
		})
	}
}

// rawRequest sends a request as it is written.
func rawRequest(t *testing.T, address, request string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	return response, string(body)
}
