package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// certificateUntil returns a certificate in PEM that expires after d.
func certificateUntil(t *testing.T, d time.Duration) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(d)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestCertificatesExpire checks that status, metric and log tell of a certificate that expires soon, the first of a file's
// counts, and one that has time is no warning.
func TestCertificatesExpire(t *testing.T) {
	engine := newEngine(t, `{"id":"m"}`)
	long, soon := certificateUntil(t, 90*24*time.Hour), certificateUntil(t, 13*24*time.Hour)
	own := filepath.Join(t.TempDir(), "own.pem")
	if err := os.WriteFile(own, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := folderWith(t, "ca_file: ca.pem\n"+oneModel(engine.URL), "ca.pem", long+soon)
	p := start(t, folder, func(o *testOptions) { o.Certificates = []string{own, own, filepath.Join(folder, "none.pem")} })
	p.ready()
	eventually(t, "both", func() bool { return len(p.Status().Certificates) == 2 })
	for _, one := range p.Status().Certificates {
		late := filepath.Base(one.File) == "ca.pem"
		if one.Late(time.Now()) != late {
			t.Errorf("got %+v", one)
		}
		name := fmt.Sprintf("harmony_controlplane_certificate_expires_seconds{file=%q}", one.File)
		left, err := strconv.ParseFloat(p.metric(name), 64)
		if want := time.Until(one.Expires).Seconds(); err != nil || left < want-60 || left > want+60 {
			t.Errorf("%s: %g seconds, want %g", one.File, left, want)
		}
	}
	eventually(t, "a warning", func() bool { return strings.Contains(p.log.String(), "a certificate expires soon") })
	if n := strings.Count(p.log.String(), "a certificate expires soon"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, p.log)
	}
}
