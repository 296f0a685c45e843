//go:build e2e && kubernetes

package kubernetes

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// The addresses of the tests' own network namespace: of the API server and of both servers.
const (
	first, second = "10.0.0.1", "10.0.0.2"
	apiPort       = "6443"
)

// cluster is etcd and kube-apiserver.
type cluster struct {
	*testing.T
	folder  string
	process *lab.Program
	client  *http.Client
}

const adminToken = "admin-of-the-test"

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{T: t, folder: t.TempDir()}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	c.must(err)
	c.write("sa.key", pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	c.write("tokens.csv", []byte(adminToken+`,admin,1,"system:masters"`+"\n"))
	c.start()
	return c
}

// start starts the servers, the first time or again, and waits until they are ready.
func (c *cluster) start() {
	c.Helper()
	file := func(name string) string { return filepath.Join(c.folder, name) }
	c.process = lab.Run(c.T, exec.Command(lab.Tool(c.T, "HARMONY_KUBERNETES"), file("etcd"),
		"--bind-address="+first, "--advertise-address="+first, "--secure-port="+apiPort, "--cert-dir="+file("certs"),
		"--authorization-mode=RBAC", "--token-auth-file="+file("tokens.csv"), "--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+file("sa.key"),
		"--service-account-signing-key-file="+file("sa.key"), "--endpoint-reconciler-type=none"))
	c.eventually("the API server is ready", func() bool {
		authority, err := os.ReadFile(file("certs/apiserver.crt"))
		if err != nil {
			return false
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(authority)
		c.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
		status, _ := c.send(http.MethodGet, "/readyz", nil)
		return status == http.StatusOK
	})
}

// kill kills the servers. By SIGTERM kube-apiserver waits a minute for its watches.
func (c *cluster) kill() {
	c.Helper()
	c.must(c.process.Cmd.Process.Kill())
	if !c.process.Ended(lab.StopLimit) {
		c.Fatal("the API server still runs")
	}
}

// send sends a request as the administrator. A body may be JSON or YAML.
func (c *cluster) send(method, path string, body []byte) (status int, answer []byte) {
	c.Helper()
	return c.sendAs("application/yaml", method, path, body)
}

// sendAs is send with a media type.
func (c *cluster) sendAs(media, method, path string, body []byte) (status int, answer []byte) {
	c.Helper()
	r, err := http.NewRequest(method, "https://"+first+":"+apiPort+path, bytes.NewReader(body))
	c.must(err)
	r.Header.Set("Authorization", "Bearer "+adminToken)
	r.Header.Set("Content-Type", media)
	response, err := c.client.Do(r)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	c.must(err)
	return response.StatusCode, answer
}

// create creates an object and returns it as the API server has it.
func (c *cluster) create(path, object string) []byte {
	c.Helper()
	return c.done(http.MethodPost, path, object)
}

func (c *cluster) done(method, path, object string) []byte {
	c.Helper()
	status, answer := c.send(method, path, []byte(object))
	if status < 200 || status > 299 {
		c.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	return answer
}

// serviceAccount is where a pod has its credentials. make test-kubernetes mounts an empty file system there.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// becomePod puts the credentials of a service account where a pod of a namespace has them.
func (c *cluster) becomePod(namespace, account string) {
	c.Helper()
	var request struct {
		Status struct {
			Token string `json:"token"`
		} `json:"status"`
	}
	c.must(json.Unmarshal(c.create("/api/v1/namespaces/"+namespace+"/serviceaccounts/"+account+"/token",
		"apiVersion: authentication.k8s.io/v1\nkind: TokenRequest\nspec: {}\n"), &request))
	authority, err := os.ReadFile(filepath.Join(c.folder, "certs/apiserver.crt"))
	c.must(err)
	for name, content := range map[string][]byte{
		"token": []byte(request.Status.Token), "ca.crt": authority, "namespace": []byte(namespace),
	} {
		c.must(os.WriteFile(filepath.Join(serviceAccount, name), content, 0o600))
	}
	c.Setenv("KUBERNETES_SERVICE_HOST", first)
	c.Setenv("KUBERNETES_SERVICE_PORT", apiPort)
	c.Setenv("KUBECONFIG", "")
}

func (c *cluster) write(name string, content []byte) {
	c.Helper()
	c.must(os.WriteFile(filepath.Join(c.folder, name), content, 0o600))
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// eventually waits until ok reports true.
func (c *cluster) eventually(what string, ok func() bool) {
	c.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(lab.ReadyLimit); !ok(); {
		select {
		case <-tick.C:
		case <-deadline:
			c.Fatal("never: " + what)
		}
	}
}
