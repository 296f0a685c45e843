//go:build e2e && kubernetes

package kubernetes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/pools"
	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

const (
	namespace = "models"
	account   = "harmony"
	slicePath = "/apis/discovery.k8s.io/v1/namespaces/" + namespace + "/endpointslices"
	statusURL = "http://127.0.0.1:18001/status"

	configuration = `
models: [{name: gpt-oss-120b, pool: h200}]
pools:
  - name: h200
    service: {name: vllm, port: http}
`
)

// TestService follows a Service's endpoints as the control plane of a pod does, with the Role of the docs alone.
func TestService(t *testing.T) {
	c := startCluster(t)
	c.create("/api/v1/namespaces", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n")
	c.create("/api/v1/namespaces/"+namespace+"/serviceaccounts",
		"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: "+account+"}\n")
	c.becomePod(namespace, account)
	for _, address := range []string{first, second} {
		lab.Run(t, exec.Command(lab.Tool(t, "HARMONY_BIN"), "sim", "--listen", address+":8000", "--quiet"))
	}
	c.write("config.yaml", []byte(configuration))
	lab.Run(t, exec.Command(lab.Tool(t, "HARMONY_BIN"), "controlplane", "--config", filepath.Join(c.folder, "config.yaml"),
		"--listen", "127.0.0.1:18000", "--status", "127.0.0.1:18001", "--state", filepath.Join(c.folder, "state"),
		"--wasm-on-envoys", "/harmony-filter.wasm"))

	c.await("", "Service models/vllm: the API server answers 403: the control plane may not list endpointslices in the "+
		"namespace models; give its service account the Role of docs/control-plane.md")
	c.grant()
	c.await("", "Service models/vllm: there is no EndpointSlice of it; check its name and its namespace")

	c.create(slicePath, endpointSlice("vllm-a", first, ""))
	c.await(first+":8000", "")
	c.create(slicePath, endpointSlice("vllm-b", second, ""))
	c.await(first+":8000 "+second+":8000", "")
	c.done(http.MethodPut, slicePath+"/vllm-a", endpointSlice("vllm-a", first, "ready: false"))
	c.await(second+":8000", "")
	c.done(http.MethodPut, slicePath+"/vllm-a", endpointSlice("vllm-a", first, "ready: true"))
	c.await(first+":8000 "+second+":8000", "")
	c.done(http.MethodPut, slicePath+"/vllm-b", endpointSlice("vllm-b", second, "ready: true, terminating: true"))
	c.await(first+":8000", "")
	c.done(http.MethodDelete, slicePath+"/vllm-b", "")
	c.await(first+":8000", "")

	c.kill()
	c.await(first+":8000", "Service models/vllm: the API server: connection refused; known servers that stay in use: 1")
	c.start()
	c.await(first+":8000", "")
	c.create(slicePath, endpointSlice("vllm-c", second, ""))
	c.await(first+":8000 "+second+":8000", "")
	c.done(http.MethodDelete, slicePath+"/vllm-a", "")
	c.await(second+":8000", "")
	c.kill()
}

// grant creates the Role of the docs, and its binding.
func (c *cluster) grant() {
	c.Helper()
	page, err := os.ReadFile(lab.File("docs/control-plane.md"))
	c.must(err)
	_, rest, ok := strings.Cut(string(page), "```yaml\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n")
	text, _, _ := strings.Cut(rest, "```")
	role, binding, two := strings.Cut(text, "---\n")
	if !ok || !two {
		c.Fatal("docs/control-plane.md has no Role with its RoleBinding")
	}
	const group = "/apis/rbac.authorization.k8s.io/v1/namespaces/" + namespace
	c.create(group+"/roles", "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n"+role)
	c.create(group+"/rolebindings", binding)
}

// endpointSlice returns an EndpointSlice with one endpoint.
func endpointSlice(name, address, conditions string) string {
	return fmt.Sprintf(`apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %s, labels: {kubernetes.io/service-name: vllm}}
addressType: IPv4
ports: [{name: http, port: 8000}]
endpoints: [{addresses: [%q], conditions: {%s}}]
`, name, address, conditions)
}

// await waits until the pool has these servers, all of them ready, and this problem.
func (c *cluster) await(servers, problem string) {
	c.Helper()
	shown := "nothing"
	defer func() {
		if c.Failed() {
			c.Logf("the status shows %s", shown)
		}
	}()
	want := servers + "; " + problem
	c.eventually(want, func() bool {
		var s server.Status
		response, err := http.Get(statusURL)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		if json.NewDecoder(response.Body).Decode(&s) != nil || len(s.Pools) != 1 {
			return false
		}
		var addresses []string
		for _, one := range s.Pools[0].Servers {
			if one.State == pools.Ready {
				addresses = append(addresses, one.Address)
			} else {
				addresses = append(addresses, one.Address+" is "+string(one.State))
			}
		}
		shown = strings.Join(addresses, " ") + "; " + s.Pools[0].Problem
		return shown == want
	})
}
