//go:build e2e

package hardening

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// clientHeader is the header in which the front tells the gateway who the client is.
const clientHeader = "x-client-id"

// front is one of the files of examples/front before a gateway.
type front struct {
	url    string
	client *http.Client
	server *sim.Server
}

// startFront starts an example as it stands, but for its addresses and its files, before harmony up.
func startFront(t *testing.T, example string, more map[string]string) *front {
	t.Helper()
	server, serverURL := lab.RunSim(t, sim.Options{})
	text := fmt.Sprintf("responses_service: { store: %q, listen: %q }\nmodels: [{ name: %s, servers: [%q] }]\n",
		filepath.Join(t.TempDir(), "responses.db"), lab.FreeAddress(t), lab.Model, "vllm="+serverURL)
	config := lab.WriteConfig(t, text)
	_, gateway := lab.StartUp(t, "--config", config)
	ca := lab.NewAuthority(t)
	ca.Issue("edge")
	replace := map[string]string{
		"address: 127.0.0.1, port_value: 8443": "address: 127.0.0.1, port_value: 0",
		"address: 127.0.0.1, port_value: 8080": "address: 127.0.0.1, port_value: " +
			gateway[strings.LastIndexByte(gateway, ':')+1:],
		"/etc/harmony/edge.pem": ca.Path("edge.pem"), "/etc/harmony/edge.key": ca.Path("edge.key"),
		"static_resources:\n": "admin: { address: { socket_address: { address: 127.0.0.1, port_value: 0 } } }\n" +
			"static_resources:\n",
	}
	for old, by := range more {
		replace[old] = by
	}
	file := readExample(t, example)
	for old, by := range replace {
		if bytes.Count(file, []byte(old)) != 1 {
			t.Fatalf("%q is not there once", old)
		}
		file = bytes.Replace(file, []byte(old), []byte(by), 1)
	}
	p := lab.StartEnvoy(t, file)
	address, err := p.Listener(t.Context(), "clients")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.Certificate)
	client := &http.Client{Timeout: lab.Patience,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	t.Cleanup(client.CloseIdleConnections)
	return &front{"https://" + address, client, server}
}

func readExample(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(lab.File("examples/" + name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// wantRefused wants a request without a valid key to be answered as OpenAI's clients understand it, and to reach no
// server.
func (f *front) wantRefused(t *testing.T, what string, header http.Header) {
	t.Helper()
	before := len(f.server.Requests())
	for _, path := range []string{lab.ChatPath, lab.ResponsesPath, lab.RawPath, "/v1/models", "/"} {
		a := lab.Do(f.client, http.MethodPost, f.url+path, header, strings.NewReader(lab.ChatBody(lab.Model, "Hi")))
		if a.Status != http.StatusUnauthorized || a.ErrorCode() != "invalid_api_key" {
			t.Errorf("%s, %s: %+v", what, path, a)
		}
	}
	if _, status := f.dial(t, header); status != http.StatusUnauthorized {
		t.Errorf("%s, WebSocket: %d", what, status)
	}
	if n := len(f.server.Requests()) - before; n != 0 {
		t.Errorf("%s: %d requests have reached the server", what, n)
	}
}

// dial opens a WebSocket connection, if it may, and returns the status of the answer.
func (f *front) dial(t *testing.T, header http.Header) (*websocket.Conn, int) {
	t.Helper()
	transport := f.client.Transport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2, transport.TLSClientConfig.NextProtos = false, []string{"http/1.1"}
	t.Cleanup(transport.CloseIdleConnections)
	ws, response, err := websocket.Dial(t.Context(), f.url+lab.ResponsesPath, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: header})
	if response == nil {
		t.Fatal(err)
	}
	if ws != nil {
		t.Cleanup(func() { _ = ws.CloseNow() })
	}
	return ws, response.StatusCode
}

// wantServed wants a client to be served, whole and as a stream, and the server to learn its name alone.
func (f *front) wantServed(t *testing.T, key, name string) {
	t.Helper()
	header := http.Header{"Authorization": {"Bearer " + key}, http.CanonicalHeaderKey(clientHeader): {"somebody-else"},
		"X-Harmony-Internal-Pool": {lab.Model}}
	for _, stream := range []string{"false", "true"} {
		body := `{"stream":` + stream + `,` + lab.ChatBody(lab.Model, "Hello")[1:]
		a := lab.Do(f.client, http.MethodPost, f.url+lab.ChatPath, header, strings.NewReader(body))
		if a.Status != http.StatusOK || a.Err != nil || stream == "true" && !lab.Read(a.Body).Finished() {
			t.Fatalf("%s: %+v", name, a)
		}
	}
	ws, status := f.dial(t, header)
	if ws == nil {
		t.Fatalf("%s, WebSocket: %d", name, status)
	}
	frame := `{"type":"response.create","store":false,"model":"` + lab.Model + `","input":"Hello"}`
	if err := ws.Write(t.Context(), websocket.MessageText, []byte(frame)); err != nil {
		t.Fatal(err)
	}
	for last := []byte(nil); !bytes.Contains(last, []byte(`{"type":"response.completed"`)); {
		var err error
		if _, last, err = ws.Read(t.Context()); err != nil || bytes.HasPrefix(last, []byte(`{"type":"error"`)) {
			t.Fatalf("%s, WebSocket: %v %s", name, err, last)
		}
	}
	for _, r := range lab.Completions(f.server) {
		if got := r.Header.Values(clientHeader); len(got) != 1 || got[0] != name || r.Header.Get("authorization") != "" {
			t.Errorf("the server learns of the clients %q, with %q", got, r.Header.Get("authorization"))
		}
	}
}

// TestFrontAPIKeys checks examples/front/api-keys.yaml.
func TestFrontAPIKeys(t *testing.T) {
	f := startFront(t, "front/api-keys.yaml", map[string]string{"put-a-key-of-32-random-bytes-here": "sesame"})
	f.wantRefused(t, "no key", nil)
	f.wantRefused(t, "a wrong key", http.Header{"Authorization": {"Bearer open"}})
	f.wantRefused(t, "a client's name", http.Header{http.CanonicalHeaderKey(clientHeader): {"team-a"}})
	f.wantServed(t, "sesame", "team-a")
}

// TestFrontJWT checks examples/front/jwt.yaml.
func TestFrontJWT(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(keys, publicKeys(t, key), 0o600); err != nil {
		t.Fatal(err)
	}
	f := startFront(t, "front/jwt.yaml", map[string]string{"/etc/harmony/jwks.json": keys})
	good := map[string]any{"iss": "https://issuer.example", "aud": "harmony", "sub": "team-a",
		"exp": time.Now().Add(time.Hour).Unix()}
	with := func(name string, value any) map[string]any {
		other := map[string]any{}
		for k, v := range good {
			other[k] = v
		}
		other[name] = value
		if value == nil {
			delete(other, name)
		}
		return other
	}
	bearer := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	f.wantRefused(t, "no token", nil)
	f.wantRefused(t, "a stranger's token", bearer(signed(t, stranger, good)))
	f.wantRefused(t, "an expired token", bearer(signed(t, key, with("exp", time.Now().Add(-time.Hour).Unix()))))
	f.wantRefused(t, "a token for ever", bearer(signed(t, key, with("exp", nil))))
	f.wantRefused(t, "another issuer's", bearer(signed(t, key, with("iss", "https://other.example"))))
	f.wantRefused(t, "another's token", bearer(signed(t, key, with("aud", "elsewhere"))))
	f.wantRefused(t, "a token without a name", bearer(signed(t, key, with("sub", nil))))
	f.wantRefused(t, "a token with an empty name", bearer(signed(t, key, with("sub", ""))))
	nameless := bearer(signed(t, key, with("sub", nil)))
	nameless.Set(clientHeader, "team-a")
	f.wantRefused(t, "a token without a name, and a name of the client's own", nameless)
	f.wantServed(t, signed(t, key, good), "team-a")
}

const keyID = "one"

// publicKeys returns the JSON Web Key Set of a key.
func publicKeys(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	public, err := key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return marshal(t, map[string]any{"keys": []any{map[string]any{"kty": "EC", "crv": "P-256", "alg": "ES256",
		"kid": keyID,
		"x":   encode(public[1:33]), "y": encode(public[33:])}}})
}

// signed returns a JSON Web Token.
func signed(t *testing.T, key *ecdsa.PrivateKey, claims map[string]any) string {
	t.Helper()
	encode := base64.RawURLEncoding.EncodeToString
	text := encode(marshal(t, map[string]any{"alg": "ES256", "kid": keyID, "typ": "JWT"})) + "." + encode(marshal(t,
		claims))
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := make([]byte, 2*crypto.SHA256.Size())
	r.FillBytes(signature[:crypto.SHA256.Size()])
	s.FillBytes(signature[crypto.SHA256.Size():])
	return text + "." + encode(signature)
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestAuthenticationInTheChain checks that the same filters work before the Harmony filter in one Envoy, in
// examples/envoy.yaml.
func TestAuthenticationInTheChain(t *testing.T) {
	server, serverURL := lab.RunSim(t, sim.Options{Models: []string{"openai/gpt-oss-120b"}})
	const router = "                  - name: envoy.filters.http.router\n"
	_, filter, ok := strings.Cut(string(readExample(t, "front/api-keys.yaml")), "http_filters:\n")
	filter, _, found := strings.Cut(filter, router)
	if !ok || !found {
		t.Fatal("the example has no filter before its router")
	}
	text := string(readExample(t, "envoy.yaml"))
	for _, r := range []struct{ old, new string }{
		{"address: localhost, port_value: 8000",
			"address: 127.0.0.1, port_value: " + serverURL[strings.LastIndexByte(serverURL, ':')+1:]},
		{"address: 127.0.0.1, port_value: 8080", "address: 127.0.0.1, port_value: 0"},
		{"dist/harmony-filter.wasm", lab.Tool(t, "HARMONY_WASM")},
		{"static_resources:\n", "admin: { address: { socket_address: { address: 127.0.0.1, port_value: 0 } } }\n" +
			"static_resources:\n"},
		{"                http_filters:\n", "                http_filters:\n" + filter},
	} {
		if strings.Count(text, r.old) != 1 {
			t.Fatalf("%q is not there once", r.old)
		}
		text = strings.Replace(text, r.old, r.new, 1)
	}
	p := lab.StartEnvoy(t, []byte(text))
	address, err := p.Listener(t.Context(), "clients")
	if err != nil {
		t.Fatal(err)
	}
	client, url := lab.HTTP1(t), "http://"+address+lab.ChatPath
	if a := lab.Ask(client, url, lab.ChatBody(lab.Model, "Hi")); a.Status != http.StatusUnauthorized {
		t.Errorf("without a key: %+v", a)
	}
	header := http.Header{"Authorization": {"Bearer put-another-key-here"}}
	a := lab.Do(client, http.MethodPost, url, header, strings.NewReader(lab.ChatBody(lab.Model, "Hi")))
	if a.Status != http.StatusOK {
		t.Errorf("with a key: %+v", a)
	}
	got := lab.Completions(server)
	if len(got) != 1 || got[0].Header.Get(clientHeader) != "team-b" {
		t.Errorf("the server got %d requests", len(got))
	}
}
