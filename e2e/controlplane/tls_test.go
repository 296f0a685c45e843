//go:build e2e

package controlplane

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestControlPlaneTLS: Envoys get secrets only who show a certificate; clients get TLS, and the servers the gateway's
// token, both out of secrets that came over the control plane's own.
func TestControlPlaneTLS(t *testing.T) {
	gpu, url := lab.RunSim(t, sim.Options{APIKey: "servers-own"})
	ca := lab.NewAuthority(t)
	for _, name := range []string{"controlplane", "envoy", "edge"} {
		ca.Issue(name)
	}
	if err := os.WriteFile(ca.Path("token"), []byte("servers-own\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`listeners: [{address: "127.0.0.1:0", tls: edge}]
models: [{name: %s, pool: gpus}]
pools: [{name: gpus, servers: ["%s"], authorization: token}]
secrets: [{name: token, file: token}, {name: edge, certificate: edge.pem, key: edge.key}]
`, lab.Model, url)
	if err := os.WriteFile(ca.Path("config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program := lab.RunHarmony(t, nil, "controlplane", "--config", ca.Path("config.yaml"), "--listen", "127.0.0.1:0",
		"--status", "127.0.0.1:0",
		"--state", ca.Path("state"), "--wasm", lab.Tool(t, "HARMONY_WASM"),
		"--certificate", ca.Path("controlplane.pem"), "--key", ca.Path("controlplane.key"), "--client-ca", ca.Path("ca.pem"))
	xds, status := program.Announced(t, `serving Envoys on (\S+)\n`), program.Announced(t, `status: (\S+)\n`)

	_, address := lab.StartEdge(t, lab.EdgeBootstrap(t, xds, "edge-1", "--ca", ca.Path("ca.pem"),
		"--certificate", ca.Path("envoy.pem"), "--key", ca.Path("envoy.key")))
	roots := x509.NewCertPool()
	roots.AddCert(ca.Certificate)
	client := &http.Client{Timeout: lab.Patience,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	t.Cleanup(client.CloseIdleConnections)
	if a := lab.AskChat(client, "https://"+address, "authorization", "Bearer clients-own"); a.Status != 200 {
		t.Errorf("got %+v", a)
	}
	if got := lab.Completions(gpu); len(got) != 1 || got[0].Header.Get("authorization") != "Bearer servers-own" {
		t.Errorf("the server got %d requests", len(got))
	}
	saved, err := os.ReadFile(filepath.Join(ca.Path("state"), "snapshot.json"))
	if err != nil || strings.Contains(string(saved), "servers-own") || strings.Contains(string(saved), "PRIVATE") {
		t.Errorf("the snapshot on disk has secrets in it (%v)", err)
	}

	// The Envoy's metrics come over the same connection.
	at := strings.TrimSuffix(strings.TrimPrefix(status, "http://"), "/status")
	openPage(t, at).until("the metrics are there", nil, func(s sampled) bool { return s.has("streams") })

	// A client without a certificate is sent away.
	stranger, err := tls.Dial("tcp", xds, &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}})
	if err == nil {
		_, err = stranger.Read(make([]byte, 1))
		_ = stranger.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("a client without a certificate gets %v", err)
	}
	response, err := http.Get(status)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var s server.Status
	if err := json.NewDecoder(response.Body).Decode(&s); err != nil {
		t.Fatal(err)
	}
	if len(s.Envoys) != 1 || s.Envoys[0].ID != "edge-1" || !s.Envoys[0].Current {
		t.Errorf("got %+v", s.Envoys)
	}
}
