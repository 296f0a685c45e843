package cli

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRefusedHandshakes checks that a peer without TLS, and one without a certificate, are one line in the log, and that a
// peer with one is none.
func TestRefusedHandshakes(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	files := ServerTLS{Certificate: filepath.Join(folder, "c"), Key: filepath.Join(folder, "k")}
	files.ClientCA = files.Certificate
	for file, block := range map[string]*pem.Block{files.Certificate: {Type: "CERTIFICATE", Bytes: der},
		files.Key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	l, err := files.Wrap(tcp, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	try := func(dial func() (net.Conn, error)) {
		t.Helper()
		served := make(chan struct{})
		go func() {
			defer close(served)
			conn, err := l.Accept()
			if err == nil {
				_, _ = io.ReadFull(conn, make([]byte, 1))
				_ = conn.Close()
			}
		}()
		if conn, err := dial(); err == nil {
			_, _ = conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
			<-served
			_ = conn.Close()
		}
		<-served
	}
	secure := &tls.Config{InsecureSkipVerify: true}
	address := l.Addr().String()
	with := secure.Clone()
	with.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	try(func() (net.Conn, error) { return tls.Dial("tcp", address, with) })
	if log.Len() != 0 {
		t.Errorf("an accepted handshake is logged: %s", &log)
	}
	try(func() (net.Conn, error) { return net.Dial("tcp", address) })
	try(func() (net.Conn, error) { return tls.Dial("tcp", address, secure) })
	if n := strings.Count(log.String(), "a TLS handshake was refused"); n != 1 ||
		!strings.Contains(log.String(), "peer=127.0.0.1") {
		t.Errorf("%d lines, want one for the peer: %s", n, &log)
	}
}
