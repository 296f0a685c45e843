//go:build e2e

package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// authority signs certificates for 127.0.0.1, and writes them into a folder.
type authority struct {
	*testing.T
	folder      string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

func newAuthority(t *testing.T) *authority {
	a := &authority{T: t, folder: t.TempDir()}
	a.issue("ca")
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.folder, name) }

// issue writes NAME.pem and NAME.key. The first one is the authority's own.
func (a *authority) issue(name string) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: a.key == nil,
		Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if template.IsCA {
		template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageCertSign, nil
	}
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.Fatal(err)
	}
	if a.certificate == nil {
		a.key = key
		if a.certificate, err = x509.ParseCertificate(der); err != nil {
			a.Fatal(err)
		}
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(a.path(file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.Fatal(err)
		}
	}
}

// TestControlPlaneTLS: Envoys get secrets only who show a certificate; clients get TLS, and the servers the gateway's
// token, both out of secrets that came over the control plane's own.
func TestControlPlaneTLS(t *testing.T) {
	gpu, url := lab.RunSim(t, sim.Options{APIKey: "servers-own"})
	ca := newAuthority(t)
	for _, name := range []string{"controlplane", "envoy", "edge"} {
		ca.issue(name)
	}
	if err := os.WriteFile(ca.path("token"), []byte("servers-own\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`listeners: [{address: "127.0.0.1:0", tls: edge}]
models: [{name: %s, pool: gpus}]
pools: [{name: gpus, servers: ["%s"], authorization: token}]
secrets: [{name: token, file: token}, {name: edge, certificate: edge.pem, key: edge.key}]
`, lab.Model, url)
	if err := os.WriteFile(ca.path("config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program := lab.RunHarmony(t, nil, "controlplane", "--config", ca.path("config.yaml"), "--listen", "127.0.0.1:0",
		"--status", "127.0.0.1:0",
		"--state", ca.path("state"), "--wasm", lab.Tool(t, "HARMONY_WASM"),
		"--certificate", ca.path("controlplane.pem"), "--key", ca.path("controlplane.key"), "--client-ca", ca.path("ca.pem"))
	xds, status := program.Announced(t, `serving Envoys on (\S+)\n`), program.Announced(t, `status: (\S+)\n`)

	_, address := startPlaneEnvoy(t, xds, "edge-1", "--ca", ca.path("ca.pem"), "--certificate", ca.path("envoy.pem"),
		"--key", ca.path("envoy.key"))
	roots := x509.NewCertPool()
	roots.AddCert(ca.certificate)
	client := &http.Client{Timeout: lab.Patience,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	t.Cleanup(client.CloseIdleConnections)
	if a := lab.AskChat(client, "https://"+address, "authorization", "Bearer clients-own"); a.Status != 200 {
		t.Errorf("got %+v", a)
	}
	if got := lab.Completions(gpu); len(got) != 1 || got[0].Header.Get("authorization") != "Bearer servers-own" {
		t.Errorf("the server got %d requests", len(got))
	}
	saved, err := os.ReadFile(filepath.Join(ca.path("state"), "snapshot.json"))
	if err != nil || strings.Contains(string(saved), "servers-own") || strings.Contains(string(saved), "PRIVATE") {
		t.Errorf("the snapshot on disk has secrets in it (%v)", err)
	}

	// Who shows no certificate is sent away.
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
