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

	serviceConfiguration = `
models: [{name: gpt-oss-120b, pool: h200}]
pools:
  - name: h200
    service: {name: vllm, port: http}
`
	poolConfiguration = `
models: [{name: gpt-oss-120b, pool: h200}]
pools:
  - name: h200
    inference_pool: {name: vllm}
`
)

// TestService follows a Service's endpoints as the control plane of a pod does, with the Role of the docs alone.
func TestService(t *testing.T) {
	c := startCluster(t)
	c.controlPlane(serviceConfiguration)

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

// TestInferencePool follows an InferencePool's pods in the same way. Before the Inference Extension's custom resource
// is there, the API server does not know the kind.
func TestInferencePool(t *testing.T) {
	c := startCluster(t)
	c.controlPlane(poolConfiguration)
	c.await("", "InferencePool models/vllm: the API server answers 403: the control plane may not list inferencepools in "+
		"the namespace models; give its service account the Role of docs/control-plane.md")
	c.grant()
	c.await("", "InferencePool models/vllm: the API server answers 404: it does not know InferencePools of "+
		"inference.networking.k8s.io/v1; install the Inference Extension's custom resources")
	c.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", inferencePoolKind)
	c.await("", "InferencePool models/vllm: there is no such InferencePool; check its name and its namespace")

	c.create(poolPath, inferencePool("a", 8000))
	c.await("", "")
	c.pod("a-1", "a", first, "True")
	c.await(first+":8000", "")
	c.pod("a-2", "a", second, "False")
	c.pod("b-1", "b", second, "True")
	c.await(first+":8000", "")
	c.ready("a-2", second, "True")
	c.await(first+":8000 "+second+":8000", "")
	c.ready("a-1", first, "False")
	c.await(second+":8000", "")
	c.done(http.MethodDelete, podPath+"/a-2", "")
	c.await("", "")
	c.change(poolPath+"/vllm", inferencePool("b", 8000))
	c.await(second+":8000", "")

	c.kill()
	c.await(second+":8000",
		"InferencePool models/vllm: the API server: connection refused; known servers that stay in use: 1")
	c.start()
	c.await(second+":8000", "")
	c.done(http.MethodDelete, poolPath+"/vllm", "")
	c.await("", "InferencePool models/vllm: there is no such InferencePool; check its name and its namespace")
	c.kill()
}

const (
	poolPath = "/apis/inference.networking.k8s.io/v1/namespaces/" + namespace + "/inferencepools"
	podPath  = "/api/v1/namespaces/" + namespace + "/pods"

	// inferencePoolKind is the custom resource, without the Inference Extension's own checks.
	inferencePoolKind = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: inferencepools.inference.networking.k8s.io
  annotations:
    api-approved.kubernetes.io: https://github.com/kubernetes-sigs/gateway-api-inference-extension/pull/1173
spec:
  group: inference.networking.k8s.io
  scope: Namespaced
  names: {kind: InferencePool, listKind: InferencePoolList, plural: inferencepools, singular: inferencepool}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
)

func inferencePool(app string, port int) string {
	return fmt.Sprintf(`apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: vllm}
spec: {selector: {matchLabels: {app: %s}}, targetPorts: [{number: %d}]}
`, app, port)
}

// pod creates a pod that no machine runs, with a status as if one did.
func (c *cluster) pod(name, app, address, ready string) {
	c.Helper()
	c.create(podPath, fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: %s}}
spec:
  serviceAccountName: %s
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 0
  containers: [{name: vllm, image: vllm}]
`, name, app, account))
	c.ready(name, address, ready)
}

// ready sets a pod's address, and whether it is ready.
func (c *cluster) ready(name, address, ready string) {
	c.Helper()
	c.change(podPath+"/"+name+"/status", fmt.Sprintf(`apiVersion: v1
kind: Pod
status: {phase: Running, podIP: %q, podIPs: [{ip: %q}], conditions: [{type: Ready, status: %q}]}
`, address, address, ready))
}

// change merges a change into an object.
func (c *cluster) change(path, object string) {
	c.Helper()
	status, answer := c.sendAs("application/apply-patch+yaml", http.MethodPatch, path+"?fieldManager=test&force=true",
		[]byte(object))
	if status < 200 || status > 299 {
		c.Fatalf("PATCH %s: %d %s", path, status, answer)
	}
}

// controlPlane starts a control plane as a pod of the namespace, with servers on both addresses.
func (c *cluster) controlPlane(configuration string) {
	c.Helper()
	c.create("/api/v1/namespaces", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n")
	c.create("/api/v1/namespaces/"+namespace+"/serviceaccounts",
		"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: "+account+"}\n")
	c.becomePod(namespace, account)
	for _, address := range []string{first, second} {
		lab.Run(c.T, exec.Command(lab.Tool(c.T, "HARMONY_BIN"), "sim", "--listen", address+":8000", "--quiet"))
	}
	c.write("config.yaml", []byte(configuration))
	lab.Run(c.T, exec.Command(lab.Tool(c.T, "HARMONY_BIN"), "controlplane", "--config",
		filepath.Join(c.folder, "config.yaml"), "--listen", "127.0.0.1:18000", "--status", "127.0.0.1:18001",
		"--state", filepath.Join(c.folder, "state"), "--wasm-on-envoys", "/harmony-filter.wasm"))
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
