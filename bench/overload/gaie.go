package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/harmonyedge/harmonyedge/bench/stand"
	"github.com/harmonyedge/harmonyedge/bench/workload"
)

// The headers in which the Inference Extension's picker gets a request's client and its class.
const (
	fairnessHeader  = "x-gateway-inference-fairness-id"
	objectiveHeader = "x-gateway-inference-objective"
)

// gaieRows returns the rows of the Inference Extension's picker.
func (b *bench) gaieRows() []row {
	if b.options.gaie == "" {
		return nil
	}
	headers := func(c *workload.Conversation) map[string]string {
		return map[string]string{clientHeader: c.Client, fairnessHeader: c.Client}
	}
	one := row{name: "GAIE's flow control", about: "The Inference Extension's picker 1.5.0 with flow control and our " +
		"scorer of cached prompts: clients in turn", note: gaieNote,
		pool: "policy: picker\n    picker: { url: http://{picker}, send: bodies }", peer: (*bench).withGAIE, headers: headers}
	two := one
	two.note = ""
	two.name, two.about = "GAIE's, with priorities", "The same, with a lower priority for the noisy client and the burst"
	two.headers = func(c *workload.Conversation) map[string]string {
		all := headers(c)
		all[objectiveHeader] = classOf(c.Group)
		return all
	}
	return []row{one, two}
}

// gaieNote says how the Inference Extension's picker is configured.
const gaieNote = `The Inference Extension's picker ("GAIE") lets requests wait while a request waits in each server's own
queue on average (queueDepthThreshold: 1). It reads the servers' metrics every 10ms, not every 50ms as by default: in
between it admits up to one request a millisecond. It chooses at random by the scores, or one server would get all of
these while others are idle. Its other detector, which counts what runs, always says 0 in 1.5.0
([an issue of llm-d's](https://github.com/llm-d/llm-d-router/issues/1474)), so nothing would wait.`

// gaieFile is the configuration of the Inference Extension's picker. Its scorers go by the prompts' blocks, by what
// runs and by what waits.
const gaieFile = `apiVersion: inference.networking.x-k8s.io/v1alpha1
kind: EndpointPickerConfig
featureGates: [flowControl]
plugins:
- { type: harmony-blocks-scorer, parameters: { blocksPerPod: %[1]d } }
- { type: queue-scorer }
- { type: running-requests-size-scorer }
- { type: weighted-random-picker }
- { type: passthrough-parser }
- type: utilization-detector
  parameters: { queueDepthThreshold: 1, kvCacheUtilThreshold: 0.95, metricsStalenessThreshold: 2s }
- { type: round-robin-fairness-policy }
schedulingProfiles:
- name: default
  plugins:
  - { pluginRef: utilization-detector }
  - { pluginRef: harmony-blocks-scorer, weight: 3 }
  - { pluginRef: queue-scorer, weight: 4 }
  - { pluginRef: running-requests-size-scorer, weight: 2 }
  - { pluginRef: weighted-random-picker }
parser: { pluginRef: passthrough-parser }
saturationDetector: { pluginRef: utilization-detector }
flowControl:
  maxRequests: "2000"
  defaultRequestTTL: %[2]v
  defaultPriorityBand: { fairnessPolicyRef: round-robin-fairness-policy }
`

// withGAIE lets Envoy ask the Inference Extension's picker.
func (b *bench) withGAIE(o *stand.Options) error {
	program, err := filepath.Abs(b.options.gaie)
	if err != nil {
		return err
	}
	if b.options.servers > maxPorts {
		return fmt.Errorf("an InferencePool has at most %d ports", maxPorts)
	}
	o.Ask = func(ctx context.Context, servers []string) (string, func(), error) {
		return b.startGAIE(ctx, program, servers)
	}
	return nil
}

func (b *bench) startGAIE(ctx context.Context, program string, servers []string) (_ string, _ func(), err error) {
	c := cluster{objectives: map[string]int{"interactive": 1, "batch": 0}}
	for _, s := range servers {
		u, err := url.Parse(s)
		if err != nil {
			return "", nil, err
		}
		port, err := strconv.Atoi(u.Port())
		if err != nil {
			return "", nil, err
		}
		c.ports = append(c.ports, port)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	api, err := c.serve(ctx)
	if err != nil {
		return "", nil, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return "", nil, err
	}
	folder, err := os.MkdirTemp("", "harmony-bench-gaie-")
	if err != nil {
		return "", nil, err
	}
	kubeconfig, file := filepath.Join(folder, "kubeconfig"), filepath.Join(folder, "config.yaml")
	o := &b.options
	err = errors.Join(os.WriteFile(kubeconfig, fmt.Appendf(nil, kubeconfigFile, api), 0o600),
		os.WriteFile(file, fmt.Appendf(nil, gaieFile, o.server.CacheBlocks-1, o.deadline), 0o600))
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(folder))
	}
	p, err := startPeer(ctx, folder, program, []string{"KUBECONFIG=" + kubeconfig}, "--config-file", file,
		"--pool-name", poolName, "--pool-namespace", namespace, "--secure-serving=false", "--tracing=false",
		"--grpc-port", ports[0], "--grpc-health-port", ports[1], "--metrics-port", ports[2],
		"--metrics-endpoint-auth=false", "--refresh-metrics-interval", "10ms",
		"--refresh-prometheus-metrics-interval", "100ms", "--v=0")
	if err != nil {
		return "", nil, err
	}
	known := fmt.Sprintf("inference_pool_ready_pods{name=%q} %d", poolName, len(servers))
	if err := await(ctx, func() bool {
		return strings.Contains(get("http://127.0.0.1:"+ports[2]+"/metrics"), known)
	}); err != nil {
		return "", nil, p.failed(err)
	}
	return "127.0.0.1:" + ports[0], func() { p.stop(); cancel() }, nil
}

const kubeconfigFile = `apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: "%s" } }]
users: [{ name: u, user: {} }]
contexts: [{ name: x, context: { cluster: c, user: u } }]
current-context: x
`
