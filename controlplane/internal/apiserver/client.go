package apiserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"
)

// namespaceFile has the namespace of the pod in which the program runs.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// maxList is the largest answer to a list, in bytes. 10,000 endpoints with all that Kubernetes writes of them are 5 MB,
// and a page of 500 pods is about as much.
const maxList = 32 << 20

// Client asks an API server.
type Client struct {
	config *rest.Config
	http   *http.Client
}

// Connect returns a client for the API server of the file in KUBECONFIG or, without that variable, for the one of the
// cluster in which the program runs as a pod. It sends nothing yet.
func Connect() (*Client, error) {
	c, err := load()
	if err != nil {
		return nil, err
	}
	c.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(50, 100) // so that many objects do not wait for each other
	c.UserAgent = "harmony-controlplane"
	c.WarningHandler = rest.NoWarnings{}
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return limiter{next} })
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		return nil, err
	}
	return &Client{config: c, http: client}, nil
}

// group returns a client for one group of the API. types adds the group's types to a scheme.
func (c *Client) group(version schema.GroupVersion, types func(*runtime.Scheme) error) (*rest.RESTClient, error) {
	scheme := runtime.NewScheme()
	if err := types(scheme); err != nil {
		return nil, err
	}
	metav1.AddToGroupVersion(scheme, version)
	errorVersion := schema.GroupVersion{Version: "v1"}
	if version != errorVersion {
		metav1.AddToGroupVersion(scheme, errorVersion)
	}
	config := rest.CopyConfig(c.config)
	config.GroupVersion, config.APIPath = &version, "/apis"
	if version.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, c.http)
}

func load() (*rest.Config, error) {
	if file := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); file != "" {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.WarnIfAllMissing = false
		c, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("KUBECONFIG=%s cannot be used: %w", file, err)
		}
		return c, nil
	}
	c, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("no API server of Kubernetes is known; run the control plane in a pod, or set KUBECONFIG to " +
			"the path of a kubeconfig")
	}
	return c, err
}

// OwnNamespace returns the namespace of the pod in which the program runs, or "".
func OwnNamespace() string {
	data, err := os.ReadFile(namespaceFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// limiter bounds the answers to all requests but watches, which are read event by event.
type limiter struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (l limiter) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(r)
	if err == nil && !r.URL.Query().Has("watch") {
		response.Body = &limitedBody{response.Body, maxList}
	}
	return response, err
}

// limitedBody fails after a number of bytes.
type limitedBody struct {
	io.ReadCloser
	left int
}

// Read implements [io.Reader].
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMany
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
